"""The loops behind the measures: ranks of the relevant pictures, without sorting the rest."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

# Counting costs pictures × relevant comparisons of a vectorised loop; searching costs pictures ×
# log(relevant) steps of a branching one. They cross near this number of relevant pictures.
FEW = 128


@njit(cache=True, nogil=True)
def _count(
    row: NDArray[np.floating],
    relevant: NDArray[np.int64],
    ranks: NDArray[np.int64],
    order: NDArray[np.int64],
) -> None:
    """Rank a few relevant pictures by one count each, kept sorted by insertion."""
    for entry in range(relevant.size):
        picture = relevant[entry]
        score = row[picture]
        rank = 1
        for other in range(picture):
            rank += row[other] >= score
        for other in range(picture + 1, row.size):
            rank += row[other] > score
        place = entry
        while place > 0 and ranks[place - 1] > rank:
            ranks[place] = ranks[place - 1]
            order[place] = order[place - 1]
            place -= 1
        ranks[place] = rank
        order[place] = entry


@njit(cache=True, nogil=True)
def _search(
    row: NDArray[np.floating],
    relevant: NDArray[np.int64],
    ranks: NDArray[np.int64],
    order: NDArray[np.int64],
) -> None:
    """Rank many relevant pictures: sort them alone, then place every picture among them."""
    order[:] = np.argsort(-row[relevant], kind="mergesort")
    best = relevant[order]
    scores = row[best]
    beaten_first = np.zeros(relevant.size + 1, dtype=np.int64)
    for picture in range(row.size):
        score = row[picture]
        low, high = 0, relevant.size
        while low < high:
            middle = (low + high) // 2
            if score > scores[middle] or (score == scores[middle] and picture < best[middle]):
                high = middle
            else:
                low = middle + 1
        beaten_first[low] += 1
    before = 0
    for place in range(relevant.size):
        before += beaten_first[place]
        ranks[place] = before + 1


@njit(cache=True, nogil=True)
def rank_relevant(
    scores: NDArray[np.floating],
    starts: NDArray[np.int64],
    relevant: NDArray[np.int64],
    ranks: NDArray[np.int64],
    order: NDArray[np.int64],
) -> int:
    """Fill ``ranks`` (ascending per query) and ``order`` (which entry stands there).

    Returns the first query with a NaN among its scores, or -1.
    """
    for query in range(starts.size - 1):
        row = scores[query]
        holes = 0
        for picture in range(row.size):
            holes += row[picture] != row[picture]
        if holes > 0:
            return query
        start, end = starts[query], starts[query + 1]
        if end - start <= FEW:
            _count(row, relevant[start:end], ranks[start:end], order[start:end])
        else:
            _search(row, relevant[start:end], ranks[start:end], order[start:end])
        for entry in range(start, end):
            order[entry] += start
    return -1


@njit(cache=True, nogil=True)
def average_precisions(
    starts: NDArray[np.int64], ranks: NDArray[np.int64], averages: NDArray[np.float64]
) -> None:
    """AvgP of every query that has a relevant picture; the others keep what they had."""
    for query in range(starts.size - 1):
        start, end = starts[query], starts[query + 1]
        if end > start:
            total = 0.0
            for entry in range(start, end):
                total += (entry - start + 1) / ranks[entry]
            averages[query] = total / (end - start)
