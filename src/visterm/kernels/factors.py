"""Factors of kernel tables: a few pictures that stand for all, and what makes a table negative."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput

# Pictures whose columns of the table are computed at once.
_BATCH = 32
# What is left of a picture, against the largest k(p, p), when the others are taken to explain it;
# less would be the rounding of single precision.
_NOTHING_LEFT = 1e-5


@dataclass(frozen=True, eq=False)
class LowRank:
    """``K ≈ L Lᵀ`` through landmarks: pictures whose kernel explains that of all the others.

    Attributes
    ----------
    landmarks : array of shape (r,), int64
    rows : array of shape (n, r), float32
        L.
    to_rows : array of shape (r, r), float64
        A kernel row over the landmarks times this is a row of L, for any picture.
    """

    landmarks: NDArray[np.int64]
    rows: NDArray[np.float32]
    to_rows: NDArray[np.float64]


def low_rank(
    columns: Callable[[NDArray[np.int64]], NDArray[np.float32]],
    diagonal: NDArray[np.float32],
    rank: int,
) -> LowRank:
    """Pivoted Cholesky: next comes the picture that those before explain least.

    Only ``rank`` columns of the table are ever computed, some at a time. Of such a batch, pictures
    that the rest of the batch explains wait for a later one. A table with negative
    eigenvalues ends up without them, for L Lᵀ has none.

    Parameters
    ----------
    columns
        Gives the columns of the table for some pictures, n × their number.
    diagonal : array of shape (n,)

    Examples
    --------
    >>> table = np.array([[2.0, 1.0], [1.0, 2.0]], dtype=np.float32)
    >>> found = low_rank(lambda chosen: table[:, chosen], np.diagonal(table), 2)
    >>> (found.rows @ found.rows.T).round(4).tolist()
    [[2.0, 1.0], [1.0, 2.0]]
    """
    from scipy.linalg import solve_triangular

    if rank < 1:
        raise BadInput(f"rank must be at least 1, not {rank}")
    left = np.array(diagonal, dtype=np.float64)
    enough = _NOTHING_LEFT * float(left.max())
    if not enough > 0:
        raise BadInput("no picture is like itself: the kernel is zero or negative everywhere")
    rank = min(rank, len(left))
    rows = np.zeros((len(left), rank), dtype=np.float32)
    landmarks: list[int] = []
    while len(landmarks) < rank and left.max() > enough:
        batch = np.argsort(-left, kind="stable")[: min(_BATCH, rank - len(landmarks))]
        known = rows[:, : len(landmarks)]
        rest = columns(batch) - known @ known[batch].T
        _take_pivots(batch, rest.astype(np.float64), left, rows, landmarks, enough)
    chosen = np.array(landmarks, dtype=np.int64)
    rows = np.ascontiguousarray(rows[:, : len(chosen)])
    triangle = rows[chosen].astype(np.float64)
    inverse = solve_triangular(triangle, np.eye(len(chosen)), lower=True)
    return LowRank(chosen, rows, np.ascontiguousarray(inverse.T, dtype=np.float64))


def _take_pivots(
    batch: NDArray[np.int64],
    rest: NDArray[np.float64],
    left: NDArray[np.float64],
    rows: NDArray[np.float32],
    landmarks: list[int],
    enough: float,
) -> None:
    """Make landmarks of a batch; ``rest`` is what is left of its columns, ``left`` of all."""
    first = left[batch[0]]
    for _ in batch:
        place = int(np.argmax(left[batch]))
        pivot = int(batch[place])
        # After the first of a batch, only those as good as new: others in the table may be better.
        if left[pivot] <= max(enough, first / 4 if left[pivot] < first else 0):
            return
        row = rest[:, place] / np.sqrt(left[pivot])
        rows[:, len(landmarks)] = row
        rest -= np.outer(row, row[batch])
        left -= row**2
        left[pivot] = 0.0
        landmarks.append(pivot)


def negative_directions(table: NDArray[np.float32]) -> NDArray[np.float32]:
    """Eigenvectors of a symmetric table with negative eigenvalues, n × their number.

    Without them, ``K₊ = K − N (Nᵀ K)`` is the nearest table that has none.

    >>> negative = negative_directions(np.array([[0.0, 1.0], [1.0, 0.0]], dtype=np.float32))
    >>> abs(negative).round(4)
    array([[0.7071],
           [0.7071]], dtype=float32)
    """
    from scipy.linalg import eigh

    whole = table.astype(np.float64)
    whole += whole.T
    whole /= 2
    # Rounding makes eigenvalues of this size, on either side of nothing.
    noise = np.finfo(np.float32).eps * float(np.abs(whole).sum(axis=1).max())
    _, vectors = eigh(whole, subset_by_value=(-np.inf, -noise), overwrite_a=True)
    return np.ascontiguousarray(vectors, dtype=np.float32)
