"""Kernels between picture vectors, dense or compressed: linear, RBF, and the cosine of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput
from visterm.kernels.kernel import Kernel, Pictures
from visterm.kernels.pair_products import (
    as_vectors,
    mean_square_distance,
    pair_products,
    row_squares,
    vector_pair,
)


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
