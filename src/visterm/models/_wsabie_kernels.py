"""The compiled loop of WSABIE."""

from __future__ import annotations

import numpy as np
from numba import njit

from visterm.text.query_sampler import below

# Sums may be taken in any order, so that they can be taken eight or sixteen at a time.
_FAST = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True, fastmath=_FAST)
def warp_steps(  # type: ignore[no-untyped-def]
    pictures,
    texts,
    starts,
    words,
    pairs,
    weights_of_ranks,
    V,
    Z,
    rate,
    longest,
    state,
    count,
):
    """So many WARP steps, in place; returns how many found an output that violates the margin.

    ``pairs`` says what is ranked: training texts by their vectors, or the single words that
    ``starts`` and ``words`` list for each picture. V and Z hold a row for each number of a picture
    and of a text.
    """
    n = len(pictures)
    q, k = Z.shape
    outputs = n if pairs else q
    e, f, g = np.empty(k, np.float32), np.empty(k, np.float32), np.empty(q, np.float32)
    violated = 0
    for _ in range(count):
        i = below(state, n)
        own = words[starts[i] : starts[i + 1]] if not pairs else words
        if not pairs and len(own) == 0:
            continue
        _embed(pictures[i], V, e)
        for j in range(q):
            g[j] = _dot(Z[j], e)
        right = i if pairs else own[below(state, len(own))]
        wrong, tries, others = _violating(texts, own, pairs, right, g, state, outputs)
        if wrong < 0:
            continue
        violated += 1
        step = np.float32(rate * weights_of_ranks[others // tries])
        if pairs:
            _move_texts(texts[right], texts[wrong], Z, e, f, step, longest)
        else:
            _move_words(Z[right], Z[wrong], e, f, step, longest)
        _move_pictures(pictures[i], V, f, step, longest)
    return violated


@njit(cache=True, nogil=True, fastmath=_FAST)
def _violating(texts, own, pairs, right, g, state, outputs):  # type: ignore[no-untyped-def]
    """A wrong output within the margin of the right one, −1 if none came; tries; wrong outputs.

    Only wrong outputs are drawn and counted as tries, so that wrong // tries estimates how many
    of them stand too high.
    """
    score = _dot(texts[right], g) if pairs else g[right]
    wrong = outputs - 1 if pairs else outputs - len(own)
    for tries in range(1, wrong + 1):
        other = below(state, outputs)
        while other == right if pairs else _holds(own, other):
            other = below(state, outputs)
        if (_dot(texts[other], g) if pairs else g[other]) > score - 1:
            return other, tries, wrong
    return -1, wrong, wrong


@njit(cache=True, nogil=True, fastmath=_FAST)
def _embed(x, V, e):  # type: ignore[no-untyped-def]
    e[:] = 0
    for j in range(len(x)):
        if x[j] != 0:
            for a in range(len(e)):
                e[a] += x[j] * V[j, a]


@njit(cache=True, nogil=True, fastmath=_FAST)
def _move_texts(right, wrong, Z, e, f, step, longest):  # type: ignore[no-untyped-def]
    """Bring the right text nearer to e than the wrong one; f is what pulls the picture."""
    f[:] = 0
    for j in range(len(right)):
        d = right[j] - wrong[j]
        if d != 0:
            for a in range(len(e)):
                f[a] += d * Z[j, a]
                Z[j, a] += step * d * e[a]
            _held_in(Z[j], longest)


@njit(cache=True, nogil=True, fastmath=_FAST)
def _move_words(right, wrong, e, f, step, longest):  # type: ignore[no-untyped-def]
    for a in range(len(e)):
        f[a] = right[a] - wrong[a]
        right[a] += step * e[a]
        wrong[a] -= step * e[a]
    _held_in(right, longest)
    _held_in(wrong, longest)


@njit(cache=True, nogil=True, fastmath=_FAST)
def _move_pictures(x, V, f, step, longest):  # type: ignore[no-untyped-def]
    for j in range(len(x)):
        if x[j] != 0:
            for a in range(len(f)):
                V[j, a] += step * x[j] * f[a]
            _held_in(V[j], longest)


@njit(cache=True, nogil=True, fastmath=_FAST)
def _held_in(row, longest):  # type: ignore[no-untyped-def]
    """Shorten a row to the longest length allowed."""
    square = _dot(row, row)
    if square > longest * longest:
        scale = np.float32(longest / np.sqrt(square))
        for j in range(len(row)):
            row[j] *= scale


@njit(cache=True, nogil=True, fastmath=_FAST)
def _dot(a, b):  # type: ignore[no-untyped-def]
    total = np.float32(0)
    for j in range(len(a)):
        total += a[j] * b[j]
    return total


@njit(cache=True, nogil=True)
def _holds(words, word):  # type: ignore[no-untyped-def]
    holds = False
    for i in range(len(words)):
        holds |= words[i] == word
    return holds
