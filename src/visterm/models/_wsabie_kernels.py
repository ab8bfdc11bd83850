"""The compiled loop of WSABIE."""

from __future__ import annotations

import numpy as np
from numba import njit

from visterm.models._pamir_kernels import _below


@njit(cache=True, nogil=True)
def _held_in(row, longest):  # type: ignore[no-untyped-def]
    """Shorten a row to the longest length allowed."""
    square = 0.0
    for j in range(len(row)):
        square += row[j] * row[j]
    if square > longest * longest:
        scale = longest / np.sqrt(square)
        for j in range(len(row)):
            row[j] *= scale


@njit(cache=True, nogil=True)
def warp_steps(  # type: ignore[no-untyped-def]
    pictures, texts, starts, words, pairs, weights_of_ranks, V, Z, rate, longest, state, count
):
    """So many WARP steps, in place; returns how many found an output that violates the margin.

    ``pairs`` says what is ranked: training texts by their vectors, or the single words that
    ``starts`` and ``words`` list for each picture. V and Z hold a row for each number of a picture
    and of a text.
    """
    n, p = pictures.shape
    q, k = Z.shape
    outputs = n if pairs else q
    e = np.empty(k, np.float32)
    g = np.empty(q, np.float32)
    f = np.empty(k, np.float32)
    violated = 0
    for _ in range(count):
        i = _below(state, n)
        if not pairs and starts[i] == starts[i + 1]:
            continue
        x = pictures[i]
        e[:] = 0
        for j in range(p):
            if x[j] != 0:
                for a in range(k):
                    e[a] += x[j] * V[j, a]
        for j in range(q):
            total = np.float32(0)
            for a in range(k):
                total += Z[j, a] * e[a]
            g[j] = total
        right = i if pairs else words[starts[i] + _below(state, starts[i + 1] - starts[i])]
        score = _dot(texts[right], g) if pairs else g[right]
        tries = 0
        wrong = -1
        while tries < outputs - 1:
            other = _below(state, outputs)
            tries += 1
            if pairs:
                if other != i and _dot(texts[other], g) > score - 1:
                    wrong = other
                    break
            elif not _holds(words, starts[i], starts[i + 1], other) and g[other] > score - 1:
                wrong = other
                break
        if wrong < 0:
            continue
        violated += 1
        step = np.float32(rate * weights_of_ranks[(outputs - 1) // tries])
        f[:] = 0
        if pairs:
            for j in range(q):
                d = texts[right, j] - texts[wrong, j]
                if d != 0:
                    for a in range(k):
                        f[a] += d * Z[j, a]
                        Z[j, a] += step * d * e[a]
                    _held_in(Z[j], longest)
        else:
            for a in range(k):
                f[a] = Z[right, a] - Z[wrong, a]
                Z[right, a] += step * e[a]
                Z[wrong, a] -= step * e[a]
            _held_in(Z[right], longest)
            _held_in(Z[wrong], longest)
        for j in range(p):
            if x[j] != 0:
                for a in range(k):
                    V[j, a] += step * x[j] * f[a]
                _held_in(V[j], longest)
    return violated


@njit(cache=True, nogil=True)
def _dot(a, b):  # type: ignore[no-untyped-def]
    total = np.float32(0)
    for j in range(len(a)):
        total += a[j] * b[j]
    return total


@njit(cache=True, nogil=True)
def _holds(words, first, last, word):  # type: ignore[no-untyped-def]
    found = False
    for at in range(first, last):
        found |= words[at] == word
    return found
