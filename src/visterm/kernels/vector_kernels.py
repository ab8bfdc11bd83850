"""Kernels between picture vectors, dense or compressed: linear, RBF, and the cosine of a kernel.

They stand on inner products of all pairs, in blocks and on every core (`pair_products`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from visterm.errors import BadInput
from visterm.kernels.kernel import Kernel, Pictures
from visterm.threads import on_all_cores, slices

Vectors: TypeAlias = "csr_array | NDArray[np.float32]"
"""Picture vectors, one a row: compressed rows or a dense array."""
Finish: TypeAlias = "Callable[[NDArray[np.float32], slice], object]"
"""Fills or changes in place a block of the table, the rows of a slice."""

# Rows whose part of the table is computed at once: some megabytes for thousands of pictures.
_ROWS = 256
# Compressed rows this full are quicker as plain ones.
_FULL = 0.25


def is_sparse(vectors: object) -> TypeGuard[csr_array]:
    """Whether vectors come as compressed rows; a type checker then knows it too."""
    return bool(issparse(vectors))


def pair_products(x: Vectors, z: Vectors, finish: Finish | None = None) -> NDArray[np.float32]:
    """x·z of every x and every z: n × m, in blocks of rows.

    Compressed rows with themselves are multiplied once a pair, unless what finishes them might not
    treat both alike.
    """
    table = np.empty((x.shape[0], z.shape[0]), dtype=np.float32)
    halved = x is z and is_sparse(x) and finish is None
    fill = _fill_sparse(x, z, halved=halved) if is_sparse(x) and is_sparse(z) else None
    left, right = (x, z) if fill else (_plain(x), _plain(z))

    def work(rows: slice) -> None:
        if fill is None:
            np.matmul(left[rows], right.T, out=table[rows])
        else:
            fill(table[rows], rows)
        if finish is not None:
            finish(table[rows], rows)

    on_all_cores(work, slices(len(table), _ROWS))
    if halved:
        from visterm.kernels._kernels import mirror

        # Above the diagonal nothing is written now, so no thread reads what another one changes.
        parts = slices(len(table), 64)
        on_all_cores(lambda rows: mirror(table, rows.start, rows.stop), parts)
    return table


def _fill_sparse(x: csr_array, z: csr_array, *, halved: bool) -> Finish:
    from visterm.kernels import _kernels

    starts, columns, values = _compressed(x)
    holders = _compressed(z.tocsc())
    firsts = _kernels.own_places(columns, holders[0]) if halved else holders[0][columns]

    def fill(block: NDArray[np.float32], rows: slice) -> None:
        block[:] = 0
        own = starts[rows.start : rows.stop + 1]
        _kernels.sparse_products(own, columns, values, firsts, *holders, block)

    return fill


def _compressed(
    vectors: Any,
) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float32]]:
    # uint32: numba then knows that no index counts from the end, and spares the check.
    return vectors.indptr.astype(np.int64), vectors.indices.astype(np.uint32), vectors.data


def as_vectors(X: Pictures) -> Vectors:
    """Checked vectors, one a row; compressed rows that are nearly full become plain ones.

    >>> as_vectors(csr_array([[1, 2], [3, 4]])).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    vectors: Vectors = _compressed_rows(X) if is_sparse(X) else _plain_rows(X)
    if vectors.ndim != 2 or 0 in vectors.shape:
        raise BadInput(f"this kernel compares vectors, one row a picture, not {vectors.shape}")
    if is_sparse(vectors) and vectors.nnz > _FULL * vectors.shape[0] * vectors.shape[1]:
        vectors = vectors.toarray()
    if not np.isfinite(vectors.data if is_sparse(vectors) else vectors).all():
        raise BadInput("picture vectors hold NaN or infinite numbers; find and remove them first")
    return vectors


def _compressed_rows(X: csr_array) -> csr_array:
    vectors = csr_array(X, dtype=np.float32)
    if not vectors.has_canonical_format:
        vectors = vectors.copy()
        vectors.sum_duplicates()
    return vectors


def _plain_rows(X: Pictures) -> NDArray[np.float32]:
    try:
        return np.ascontiguousarray(X, dtype=np.float32)
    except (TypeError, ValueError):
        raise BadInput("this kernel compares vectors of numbers, one row a picture") from None


def vector_pair(X: Pictures, Z: Pictures | None) -> tuple[Vectors, Vectors]:
    """Checked vectors of both sides; without Z, X twice."""
    x = as_vectors(X)
    z = x if Z is None or Z is X else as_vectors(Z)
    if x.shape[1] != z.shape[1]:
        raise BadInput(f"vectors of {x.shape[1]} and of {z.shape[1]} numbers cannot be compared")
    return x, z


def _plain(vectors: Vectors) -> NDArray[np.float32]:
    return np.asarray(vectors.toarray() if is_sparse(vectors) else vectors)


def row_squares(vectors: Vectors) -> NDArray[np.float64]:
    """‖x‖² of every row."""
    if is_sparse(vectors):
        return np.asarray(vectors.multiply(vectors).sum(axis=1, dtype=np.float64)).ravel()
    return np.asarray(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))


def mean_square_distance(vectors: Vectors) -> float:
    """Mean of ‖x − x'‖² over all pairs, ``2 (mean ‖x‖² − ‖mean x‖²)``; 1 if all are the same.

    >>> mean_square_distance(np.array([[0.0], [1.0]]))
    0.5
    """
    squares = row_squares(vectors)
    centre = np.asarray(vectors.mean(axis=0, dtype=np.float64)).ravel()
    spread = 2 * (float(squares.mean()) - float(centre @ centre))
    return spread if spread > 1e-7 * float(squares.mean()) else 1.0


@dataclass
class Linear(Kernel):
    """``k(x, z) = x·z``, which is the visterm kernel on tf·idf vectors.

    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]], dtype=float32)
    """

    name = "linear"

    def fit(self, X: Pictures) -> Self:
        as_vectors(X)
        return self

    def __call__(self, X: Pictures, Z: Pictures | None = None) -> NDArray[np.float32]:
        x, z = vector_pair(X, Z)
        return pair_products(x, z)

    def diagonal(self, X: Pictures) -> NDArray[np.float32]:
        return row_squares(as_vectors(X)).astype(np.float32)


@dataclass
class RBF(Kernel):
    """``k(x, z) = exp(−γ ‖x − z‖² / s)``.

    Parameters
    ----------
    gamma : float
    relative : bool
        s is the mean of ‖x − x'‖² over all pairs of training pictures, so that γ means the same for
        any features; else s = 1.

    Examples
    --------
    >>> RBF(2.0).fit([[0.0], [1.0]])([[0.0]], [[0.0], [1.0]]).round(4)
    array([[1.    , 0.0183]], dtype=float32)
    """

    gamma: float = 1.0
    relative: bool = True

    name = "rbf"
    fitted = ("scale_",)

    def fit(self, X: Pictures) -> Self:
        check_positive("gamma", self.gamma)
        self.scale_ = mean_square_distance(as_vectors(X)) if self.relative else 1.0
        return self

    def __call__(self, X: Pictures, Z: Pictures | None = None) -> NDArray[np.float32]:
        self._check_fitted()
        x, z = vector_pair(X, Z)
        squares, others = row_squares(x), row_squares(z)
        rate = np.float32(-self.gamma / self.scale_)

        def finish(block: NDArray[np.float32], rows: slice) -> None:
            block *= -2
            block += squares[rows, None].astype(np.float32)
            block += others.astype(np.float32)
            np.maximum(block, 0, out=block)  # rounding may leave a little less than nothing
            block *= rate
            np.exp(block, out=block)

        return pair_products(x, z, finish)

    def diagonal(self, X: Pictures) -> NDArray[np.float32]:
        return np.ones(as_vectors(X).shape[0], dtype=np.float32)


@dataclass
class Cosine(Kernel):
    """``k(x, z) / √(k(x, x) k(z, z))``; 0 where a picture is like nothing, not even itself.

    >>> Cosine(Linear())([[3.0, 4.0], [0.0, 0.0]], [[3.0, 0.0]]).round(4).tolist()
    [[0.6000000238418579], [0.0]]
    """

    kernel: Kernel

    name = "cosine"

    @property
    def positive(self) -> bool:  # type: ignore[override]
        return self.kernel.positive

    def fit(self, X: Pictures) -> Self:
        self.kernel.fit(X)
        return self

    def __call__(self, X: Pictures, Z: Pictures | None = None) -> NDArray[np.float32]:
        table = self.kernel(X, Z)
        own = _inverse_root(self.kernel.diagonal(X))
        table *= own[:, None]
        table *= own if Z is None or Z is X else _inverse_root(self.kernel.diagonal(Z))
        return table

    def diagonal(self, X: Pictures) -> NDArray[np.float32]:
        return (self.kernel.diagonal(X) > 0).astype(np.float32)


def _inverse_root(squares: NDArray[np.float32]) -> NDArray[np.float32]:
    root = np.sqrt(np.maximum(squares, 0))
    return np.divide(1, root, out=np.zeros_like(root), where=root > 0)


def check_positive(name: str, value: float) -> None:
    """Refuse parameters that must be positive and are not."""
    if not isinstance(value, int | float | np.number) or not 0 < value < np.inf:
        raise BadInput(f"{name} must be positive, not {value}")
