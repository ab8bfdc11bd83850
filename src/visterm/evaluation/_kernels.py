"""The loops behind the measures: ranks of the relevant pictures, without sorting the rest."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

FEW = 128
"""Relevant pictures of a query up to which counting, a vectorised loop over all pictures for each,
is sooner done than sorting all pictures."""


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
def rank_relevant(
    scores: NDArray[np.floating],
    starts: NDArray[np.int64],
    relevant: NDArray[np.int64],
    ranks: NDArray[np.int64],
    order: NDArray[np.int64],
) -> int:
    """Fill ``ranks`` (ascending per query) and ``order`` (which entry stands there) of queries with
    few relevant pictures.

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


@njit(cache=True, nogil=True)
def resampled_precision(
    order: NDArray[np.int64],
    is_relevant: NDArray[np.bool_],
    weights: NDArray[np.float32],
    sums: NDArray[np.float64],
    counts: NDArray[np.int64],
) -> None:
    """Add the average precision of one query, its pictures in ``order`` and each there as often as
    a row of ``weights`` says, to the sum of that row."""
    for sample in range(weights.shape[0]):
        row, before, relevant, total = weights[sample], 0.0, 0.0, 0.0
        for place in range(order.size):
            weight = row[order[place]]
            before += weight
            if weight > 0 and is_relevant[order[place]]:
                relevant += weight
                total += weight * relevant / before
        if relevant > 0:
            sums[sample] += total / relevant
            counts[sample] += 1
