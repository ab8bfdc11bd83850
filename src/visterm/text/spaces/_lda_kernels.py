"""The compiled loop of LDA: what each document says about its topics."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def digamma(x):  # type: ignore[no-untyped-def]
    """ψ(x) of a positive number: the recurrence up to 6, then the asymptotic series."""
    result = 0.0
    while x < 6.0:
        result -= 1.0 / x
        x += 1.0
    inverse = 1.0 / (x * x)
    series = inverse * (1 / 12 - inverse * (1 / 120 - inverse * (1 / 252 - inverse / 240)))
    return result + np.log(x) - 0.5 / x - series


# Sums of a hundred positive numbers may be added up in any order.
@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def topics_of_documents(  # type: ignore[no-untyped-def]
    starts, words, counts, topics, prior, most, least_change, gamma, gathered
):
    """The variational posterior of each document's topics, ``gamma`` (documents × K), in place.

    ``topics`` is ``exp E log β``, words × K. Where ``gathered`` (words × K) is not empty, what the
    documents say about the topics' words is added to it, but for the factor ``exp E log β``.
    """
    k = topics.shape[1]
    shares = np.empty(k)
    said = np.empty(k)
    for d in range(len(starts) - 1):
        row = gamma[d]
        row[:] = 1.0
        for _ in range(most):
            _expectation(row, shares)
            said[:] = 0.0
            for at in range(starts[d], starts[d + 1]):
                word = topics[words[at]]
                total = 1e-100
                for z in range(k):
                    total += shares[z] * word[z]
                part = counts[at] / total
                for z in range(k):
                    said[z] += part * word[z]
            change = 0.0
            for z in range(k):
                new = prior + shares[z] * said[z]
                change += abs(new - row[z])
                row[z] = new
            if change < least_change * k:
                break
        if gathered.size:
            _expectation(row, shares)
            for at in range(starts[d], starts[d + 1]):
                word = topics[words[at]]
                total = 1e-100
                for z in range(k):
                    total += shares[z] * word[z]
                for z in range(k):
                    gathered[words[at], z] += counts[at] * shares[z] / total


@njit(cache=True, nogil=True)
def _expectation(row, shares):  # type: ignore[no-untyped-def]
    """``exp E log θ`` of a Dirichlet with these parameters."""
    total = 0.0
    for z in range(len(row)):
        total += row[z]
    total = digamma(total)
    for z in range(len(row)):
        shares[z] = np.exp(digamma(row[z]) - total)
