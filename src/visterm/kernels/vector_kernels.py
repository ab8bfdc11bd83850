"""Kernels between picture vectors, dense or compressed: linear, RBF, χ² and intersection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput
from visterm.kernels.kernel import Kernel, Pictures
from visterm.kernels.pair_sums import (
    Vectors,
    as_vectors,
    mean_square_distance,
    numbers,
    pair_sums,
    row_squares,
    row_sums,
    vector_pair,
)

# χ² distances of all pairs of training pictures would cost as much as the kernel itself.
_SAMPLE = 500


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
        return pair_sums(x, z, "product")

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

        return pair_sums(x, z, "product", finish)

    def diagonal(self, X: Pictures) -> NDArray[np.float32]:
        return np.ones(as_vectors(X).shape[0], dtype=np.float32)


@dataclass
class ChiSquare(Kernel):
    """``k(x, z) = exp(−γ χ²(x, z) / s)``, ``χ² = Σ (x_i − z_i)² / (x_i + z_i)``, for histograms.

    With ``relative``, s is the mean χ² over pairs of (at most 500 evenly spaced) training
    pictures; else s = 1.

    >>> ChiSquare(relative=False).fit([[1.0]])([[3.0, 0.0]], [[1.0, 0.0]]).round(4)
    array([[0.3679]], dtype=float32)
    """

    gamma: float = 1.0
    relative: bool = True

    name = "chi2"
    fitted = ("scale_",)

    def fit(self, X: Pictures) -> Self:
        check_positive("gamma", self.gamma)
        x = _histograms(as_vectors(X))
        self.scale_ = 1.0
        if self.relative:
            chosen = np.linspace(0, x.shape[0] - 1, min(_SAMPLE, x.shape[0])).astype(int)
            mean = float(_chi_squares(x[chosen], x[chosen]).mean(dtype=np.float64))
            self.scale_ = mean if mean > 0 else 1.0
        return self

    def __call__(self, X: Pictures, Z: Pictures | None = None) -> NDArray[np.float32]:
        self._check_fitted()
        x, z = (_histograms(vectors) for vectors in vector_pair(X, Z))
        rate = np.float32(-self.gamma / self.scale_)

        def finish(block: NDArray[np.float32]) -> None:
            block *= rate
            np.exp(block, out=block)

        return _chi_squares(x, z, finish)

    def diagonal(self, X: Pictures) -> NDArray[np.float32]:
        return np.ones(_histograms(as_vectors(X)).shape[0], dtype=np.float32)


@dataclass
class Intersection(Kernel):
    """``k(x, z) = Σ min(x_i, z_i)``, for histograms.

    >>> Intersection()([[3.0, 1.0]], [[1.0, 2.0]])
    array([[2.]], dtype=float32)
    """

    name = "intersection"

    def fit(self, X: Pictures) -> Self:
        _histograms(as_vectors(X))
        return self

    def __call__(self, X: Pictures, Z: Pictures | None = None) -> NDArray[np.float32]:
        x, z = (_histograms(vectors) for vectors in vector_pair(X, Z))
        return pair_sums(x, z, "least")

    def diagonal(self, X: Pictures) -> NDArray[np.float32]:
        return row_sums(_histograms(as_vectors(X))).astype(np.float32)


def _chi_squares(
    x: Vectors, z: Vectors, finish: Callable[[NDArray[np.float32]], None] | None = None
) -> NDArray[np.float32]:
    """``(x − z)²/(x + z) = x + z − 4 xz/(x + z)``: only what both hold needs a loop over pairs."""
    sums, others = row_sums(x), row_sums(z)

    def distances(block: NDArray[np.float32], rows: slice) -> None:
        block *= -4
        block += sums[rows, None].astype(np.float32)
        block += others.astype(np.float32)
        np.maximum(block, 0, out=block)
        if finish is not None:
            finish(block)

    return pair_sums(x, z, "harmonic", distances)


def _histograms(vectors: Vectors) -> Vectors:
    if numbers(vectors).min(initial=0.0) < 0:
        raise BadInput("this kernel compares histograms, which hold no negative numbers")
    return vectors


def check_positive(name: str, value: float) -> None:
    """Refuse parameters that must be positive and are not."""
    if not isinstance(value, int | float | np.number) or not 0 < value < np.inf:
        raise BadInput(f"{name} must be positive, not {value}")
