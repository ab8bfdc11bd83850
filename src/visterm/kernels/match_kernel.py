"""The match kernel: every local descriptor looks for its best match in the other picture.

``k(p, p') = ½ (k̂(p, p') + k̂(p', p))``, ``k̂(p, p') = mean_i max_j k_l(d_i, d'_j)``.

C. Wallraven, B. Caputo and A. Graf, Recognition with local features: the kernel recipe, ICCV 2003;
D. Grangier and S. Bengio, IEEE TPAMI 30(8), 2008.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput
from visterm.kernels.kernel import Bags, Kernel, Pictures
from visterm.kernels.vector_kernels import check_positive, mean_square_distance
from visterm.threads import on_all_cores

# Descriptors of a block of pictures: a product of two blocks is then a few megabytes and stays in
# the cache until its maxima are taken.
_BLOCK = 1280


class _Sides(NamedTuple):
    """Descriptors of both sides, whose products grow with the minor kernel, and their bags."""

    x: NDArray[np.float32]
    x_starts: NDArray[np.int64]
    z: NDArray[np.float32]
    z_starts: NDArray[np.int64]


@dataclass
class Match(Kernel):
    """Mean of the best matches, both ways. Not positive definite.

    Parameters
    ----------
    minor : {"rbf", "linear"}
        How two descriptors are compared: exp(−γ‖d − d'‖²/s) or d·d'.
    gamma : float
    relative : bool
        s is the mean of ‖d − d'‖² over all pairs of training descriptors; else s = 1. The paper's
        standard deviation σ is ``gamma=1/(2σ²), relative=False``.
    width : int, optional
        Numbers of a descriptor, where bags come as vectors (see `Bags.of`).

    Notes
    -----
    Each minor kernel grows with one number, d·d' or −‖d − d'‖², which a matrix product gives for
    all descriptors of some pictures with all of some others. The maxima are taken of that number,
    and only they go through the exponential.

    Examples
    --------
    >>> bags = np.array([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 0.0]]])
    >>> Match("linear").fit(bags)(bags)
    array([[1.  , 0.75],
           [0.75, 1.  ]], dtype=float32)
    """

    minor: str = "rbf"
    gamma: float = 1.0
    relative: bool = True
    width: int | None = None

    name = "match"
    fitted = ("scale_",)
    positive = False

    def fit(self, X: Pictures) -> Self:
        self._check()
        descriptors = Bags.of(X, self.width).descriptors
        self.scale_ = 1.0
        if self.relative and self.minor == "rbf":
            self.scale_ = mean_square_distance(descriptors)
        return self

    def __call__(self, X: Pictures, Z: Pictures | None = None) -> NDArray[np.float32]:
        self._check()
        self._check_fitted()
        x = Bags.of(X, self.width)
        z = x if Z is None or Z is X else Bags.of(Z, self.width)
        if x.descriptors.shape[1] != z.descriptors.shape[1]:
            raise BadInput(
                f"descriptors of {x.descriptors.shape[1]} and of {z.descriptors.shape[1]} numbers "
                "cannot be compared"
            )
        sides = self._sides(x, z)
        table = np.empty((len(x), len(z)), dtype=np.float32)
        both = x is z
        others = list(_blocks(z.starts))

        def work(rows: slice) -> None:
            tile: NDArray[np.float32] = np.empty(0, dtype=np.float32)
            for columns in others:
                # The kernel is symmetric: of a table with itself, the lower half is the upper one.
                if both and columns.start < rows.start:
                    continue
                tile = _at_least(tile, x.starts, rows, z.starts, columns)
                part = self._matches(sides, rows, columns, tile)
                table[rows, columns] = part
                if both and columns.start > rows.start:
                    table[columns, rows] = part.T

        on_all_cores(work, _blocks(x.starts))
        return table

    def diagonal(self, X: Pictures) -> NDArray[np.float32]:
        bags = Bags.of(X, self.width)
        if self.minor == "rbf":  # everything matches itself best
            return np.ones(len(bags), dtype=np.float32)
        one = (Bags(bag, np.array([0, len(bag)])) for bag in (bags[i] for i in range(len(bags))))
        return np.concatenate([self(alone).ravel() for alone in one])

    def _sides(self, x: Bags, z: Bags) -> _Sides:
        """Descriptors made longer, for "rbf", such that d·d' of the long ones is −½‖d − d'‖²."""
        if self.minor != "rbf":
            return _Sides(x.descriptors, x.starts, z.descriptors, z.starts)
        # Distances do not change with the origin, and their rounding is least near it.
        centre = z.descriptors.mean(axis=0, dtype=np.float64).astype(np.float32)
        return _Sides(
            _lengthened(x.descriptors - centre, own_first=True),
            x.starts,
            _lengthened(z.descriptors - centre, own_first=False),
            z.starts,
        )

    def _matches(
        self, sides: _Sides, rows: slice, columns: slice, tile: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """The kernel between two blocks of pictures."""
        x_starts = sides.x_starts[rows.start : rows.stop + 1]
        z_starts = sides.z_starts[columns.start : columns.stop + 1]
        left = sides.x[x_starts[0] : x_starts[-1]]
        right = sides.z[z_starts[0] : z_starts[-1]]
        products = tile[: len(left) * len(right)].reshape(len(left), len(right))
        np.matmul(left, right.T, out=products)
        x_starts, z_starts = x_starts - x_starts[0], z_starts - z_starts[0]
        by_row, by_column = _maxima(products, x_starts, z_starts)
        values = self._grown(by_row), self._grown(by_column)
        there = np.add.reduceat(values[0], x_starts[:-1], axis=0) / np.diff(x_starts)[:, None]
        back = np.add.reduceat(values[1], z_starts[:-1], axis=1) / np.diff(z_starts)
        return np.asarray((there + back) / 2, dtype=np.float32)

    def _grown(self, best: NDArray[np.float32]) -> NDArray[np.float32]:
        """The minor kernel from the number that it grows with."""
        if self.minor == "linear":
            return best
        return np.exp(np.float32(2 * self.gamma / self.scale_) * np.minimum(best, 0))

    def _check(self) -> None:
        if self.minor not in ("rbf", "linear"):
            raise BadInput(f"the minor kernel is 'rbf' or 'linear', not {self.minor!r}")
        check_positive("gamma", self.gamma)


def _maxima(
    products: NDArray[np.float32], x_starts: NDArray[np.int64], z_starts: NDArray[np.int64]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    from visterm.kernels import _kernels

    by_row = np.empty((products.shape[0], len(z_starts) - 1), dtype=np.float32)
    by_column = np.empty((len(x_starts) - 1, products.shape[1]), dtype=np.float32)
    _kernels.segment_maxima(products, x_starts, z_starts, by_row, by_column)
    return by_row, by_column


def _lengthened(descriptors: NDArray[np.float32], *, own_first: bool) -> NDArray[np.float32]:
    """``[d, −½‖d‖², 1]``, or the last two swapped: the product of both is ``−½‖d − d'‖²``."""
    half = -0.5 * np.einsum("ij,ij->i", descriptors, descriptors, dtype=np.float64)
    extra = [half, np.ones(len(half))] if own_first else [np.ones(len(half)), half]
    return np.column_stack([descriptors, *extra]).astype(np.float32)


def _at_least(
    tile: NDArray[np.float32],
    x_starts: NDArray[np.int64],
    rows: slice,
    z_starts: NDArray[np.int64],
    columns: slice,
) -> NDArray[np.float32]:
    """Room for the products of two blocks; the same room for most of them."""
    size = int(x_starts[rows.stop] - x_starts[rows.start])
    size *= int(z_starts[columns.stop] - z_starts[columns.start])
    return tile if len(tile) >= size else np.empty(size, dtype=np.float32)


def _blocks(starts: NDArray[np.int64]) -> Iterator[slice]:
    """Pictures next to each other with about `_BLOCK` descriptors together, one at least."""
    first, n = 0, len(starts) - 1
    while first < n:
        last = int(np.searchsorted(starts, starts[first] + _BLOCK, side="right")) - 1
        last = min(n, max(first + 1, last))
        yield slice(first, last)
        first = last
