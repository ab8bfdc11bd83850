"""The best pictures so far, the worst of them on top, for the kernels."""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs
from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit


class Heap(NamedTuple):
    """Scores and ids as a binary heap; ``size`` holds how many there are so far."""

    scores: np.ndarray
    ids: np.ndarray
    size: np.ndarray


@njit(cache=True, nogil=True)
def new_heap(k):
    return Heap(np.empty(k, np.float32), np.empty(k, np.int64), np.zeros(1, np.int64))


@njit(cache=True, nogil=True)
def full(heap):
    return heap.size[0] == heap.ids.size


@njit(cache=True, nogil=True)
def worse(score, number, other, other_number):
    """Whether a picture comes after another: by lower score, or the same score and higher id."""
    return score < other or (score == other and number > other_number)


@njit(cache=True, nogil=True)
def enter(heap, score, number):
    """Put a picture among the best, if it is; says whether the worst of them may have changed."""
    if full(heap):
        if worse(score, number, heap.scores[0], heap.ids[0]):
            return False
        _sink(heap.scores, heap.ids, score, number)
        return True
    _rise(heap.scores, heap.ids, heap.size[0], score, number)
    heap.size[0] += 1
    return full(heap)


@njit(cache=True, nogil=True)
def _rise(scores, ids, place, score, number):
    """Put a picture into the first free place."""
    while place > 0:
        above = (place - 1) // 2
        if not worse(score, number, scores[above], ids[above]):
            break
        scores[place], ids[place] = scores[above], ids[above]
        place = above
    scores[place], ids[place] = score, number


@njit(cache=True, nogil=True)
def _sink(scores, ids, score, number):
    """Put a picture into the place of the worst."""
    place = 0
    while 2 * place + 1 < ids.size:
        below = 2 * place + 1
        right = below + 1
        if right < ids.size and worse(scores[right], ids[right], scores[below], ids[below]):
            below = right
        if not worse(scores[below], ids[below], score, number):
            break
        scores[place], ids[place] = scores[below], ids[below]
        place = below
    scores[place], ids[place] = score, number
