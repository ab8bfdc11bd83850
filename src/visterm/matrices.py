"""Rows of matrices, sparse or dense: their lengths, unit length, counts, and other values."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Matrix = TypeVar("Matrix", "csr_array", "NDArray[np.floating]", "NDArray[np.float32]")


def unit_rows(rows: Matrix, *, noise: float = 0.0) -> Matrix:
    """Rows scaled to Euclidean length one, in their own precision; empty ones stay empty.

    Rows not longer than ``noise`` are no direction and become zero.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    length = row_lengths(rows)
    length = np.where(length > noise, length, np.inf)
    if isinstance(rows, np.ndarray):
        return rows / length
    each = np.repeat(length, np.diff(rows.indptr))
    return with_values(rows, (rows.data / each).astype(rows.dtype))


def row_lengths(rows: Matrix) -> NDArray[np.floating]:
    """Euclidean length of every row; of a dense matrix as a column, or along the last axis."""
    if isinstance(rows, np.ndarray):
        return np.asarray(np.linalg.norm(rows, axis=-1, keepdims=True))
    owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    return np.sqrt(np.bincount(owner, rows.data**2, minlength=rows.shape[0]))


def with_values(matrix: csr_array, values: NDArray) -> csr_array:
    """A sparse matrix with other values in the same places, which both share.

    >>> from scipy.sparse import csr_array
    >>> with_values(csr_array([[0, 4]]), np.array([2.0])).toarray().tolist()
    [[0.0, 2.0]]
    """
    from scipy.sparse import csr_array

    return csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)


def count_rows(numbers: NDArray[np.int64], sizes: NDArray[np.int64], width: int) -> csr_array:
    """How often each row holds each number below ``width``; row i owns the next ``sizes[i]``.

    >>> count_rows(np.array([2, 0, 2, 1]), np.array([3, 1]), 3).toarray().tolist()
    [[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]]
    """
    from scipy.sparse import csr_array

    starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    ones = np.ones(len(numbers), dtype=np.float32)
    # A copy, because summing duplicates sorts in place.
    counts = csr_array((ones, numbers.copy(), starts), shape=(len(sizes), width))
    counts.sum_duplicates()
    return counts
