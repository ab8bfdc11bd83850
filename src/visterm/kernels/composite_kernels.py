"""Kernels made of kernels: weighted sums, and cosines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from visterm.errors import BadInput
from visterm.kernels.kernel import Kernel, Pictures
from visterm.kernels.vector_kernels import check_positive


@dataclass
class Sum(Kernel):
    """``k(x, z) = Σ w_i k_i(x, z)``.

    Parameters
    ----------
    kernels : sequence of Kernel
    weights : sequence of float, optional
        Ones without it.
    columns : sequence of (first, last), optional
        Which numbers of a vector each kernel sees (the last one excluded), where features of
        several kinds stand side by side; all without it.

    Examples
    --------
    >>> from visterm.kernels import Linear
    >>> both = Sum((Linear(), Linear()), weights=(1.0, 10.0), columns=((0, 1), (1, 2)))
    >>> both([[1.0, 2.0]], [[3.0, 4.0]])
    array([[83.]], dtype=float32)
    """

    kernels: Sequence[Kernel]
    weights: Sequence[float] | None = None
    columns: Sequence[tuple[int, int]] | None = None

    name = "sum"

    @property
    def positive(self) -> bool:  # type: ignore[override]
        return all(kernel.positive for kernel in self.kernels)

    def fit(self, X: Pictures) -> Self:
        self._check()
        for kernel, _, part in self._parts(X):
            kernel.fit(part)
        return self

    def __call__(self, X: Pictures, Z: Pictures | None = None) -> NDArray[np.float32]:
        self._check()
        others = (part for _, _, part in self._parts(X if Z is None else Z))
        total: NDArray[np.float32] | None = None
        for (kernel, weight, part), other in zip(self._parts(X), others, strict=True):
            table = kernel(part, None if Z is None or Z is X else other)
            table *= np.float32(weight)
            total = table if total is None else np.add(total, table, out=total)
        if total is None:
            raise BadInput("a sum of kernels needs one at least")
        return total

    def diagonal(self, X: Pictures) -> NDArray[np.float32]:
        self._check()
        parts = (np.float32(w) * kernel.diagonal(part) for kernel, w, part in self._parts(X))
        return np.sum(list(parts), axis=0, dtype=np.float32)

    def _parts(self, X: Any) -> Iterator[tuple[Kernel, float, Any]]:
        weights = [1.0] * len(self.kernels) if self.weights is None else self.weights
        if self.columns is not None and not issparse(X):
            X = np.asarray(X)
        for number, (kernel, weight) in enumerate(zip(self.kernels, weights, strict=True)):
            if self.columns is None:
                yield kernel, weight, X
            else:
                first, last = self.columns[number]
                if X.ndim != 2 or last > X.shape[1]:
                    raise BadInput(
                        f"kernel {number} sees columns {first} to {last} of vectors; these have "
                        f"the shape {X.shape}"
                    )
                yield kernel, weight, X[:, first:last]

    def _check(self) -> None:
        n = len(self.kernels)
        if n == 0:
            raise BadInput("a sum of kernels needs one at least")
        for what, given in (("weights", self.weights), ("columns", self.columns)):
            if given is not None and len(given) != n:
                raise BadInput(f"a sum of {n} kernels needs as many {what}, not {len(given)}")
        for weight in self.weights or ():
            check_positive("weights", weight)
        for first, last in self.columns or ():
            if not 0 <= first < last:
                raise BadInput(f"columns are (first, last) with first < last, not {first, last}")


@dataclass
class Cosine(Kernel):
    """``k(x, z) / √(k(x, x) k(z, z))``; 0 where a picture is like nothing, not even itself.

    >>> from visterm.kernels import Linear
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
