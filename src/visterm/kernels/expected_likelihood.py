"""The expected likelihood kernel: how much the distributions of two pictures overlap.

``k(p, p') = ∫ P(v|p) P(v|p') dv = Σ_ab w_a w'_b N(μ_a; μ'_b, Σ_a + Σ'_b)`` for mixtures of
Gaussians, then ``k / √(k(p, p) k(p', p'))``.

T. Jebara, R. Kondor and A. Howard, Probability product kernels, JMLR 5, 2004; D. Grangier and
S. Bengio, IEEE TPAMI 30(8), 2008.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput
from visterm.kernels.kernel import Bags, Kernel, Pictures
from visterm.kernels.vector_kernels import check_positive
from visterm.threads import on_all_cores, slices

# Gaussians of a block of pictures, compared with all others at once.
_BLOCK = 64


class _Mixtures(NamedTuple):
    """Gaussians of all pictures: pictures × n_components (× d)."""

    log_weights: NDArray[np.float64]
    means: NDArray[np.float32]
    variances: NDArray[np.float32]

    def take(self, pictures: slice) -> _Mixtures:
        return _Mixtures(self.log_weights[pictures], self.means[pictures], self.variances[pictures])

    def by_column(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Means and variances as d × Gaussians."""
        d = self.means.shape[2]
        return (
            np.ascontiguousarray(self.means.reshape(-1, d).T),
            np.ascontiguousarray(self.variances.reshape(-1, d).T),
        )


@dataclass
class ExpectedLikelihood(Kernel):
    """Overlap of Gaussian mixtures over the local descriptors, cosine-normalised.

    Parameters
    ----------
    n_components : int
        Gaussians of a picture, with diagonal covariances; the paper's best is 1, which is the mean
        and the variance of its descriptors. More are fitted by EM.
    floor : float
        No variance is less than this part of the variance of all training descriptors.
    power : float
        The kernel to this power. In many dimensions hardly anything overlaps, and below 1 far
        pictures come nearer; the result need not be positive definite then.
    max_iter : int
        Iterations of EM.
    random_state : int
    width : int, optional
        Numbers of a descriptor, where bags come as vectors (see `Bags.of`).

    Examples
    --------
    >>> bags = [np.array([[-1.0], [1.0]]), np.array([[0.0], [2.0]])]
    >>> ExpectedLikelihood().fit(bags)(bags).round(4)
    array([[1.    , 0.7788],
           [0.7788, 1.    ]], dtype=float32)
    """

    n_components: int = 1
    floor: float = 0.01
    power: float = 1.0
    max_iter: int = 20
    random_state: int = 0
    width: int | None = None

    name = "likelihood"
    fitted = ("floor_",)

    @property
    def positive(self) -> bool:  # type: ignore[override]
        return self.power == 1

    def fit(self, X: Pictures) -> Self:
        self._check()
        variance = Bags.of(X, self.width).descriptors.var(axis=0, dtype=np.float64)
        # A number that never changes still needs a width, or its density has no bound.
        least = 1e-6 * (variance.mean() or 1.0)
        self.floor_ = tuple(float(v) for v in np.maximum(self.floor * variance, least))
        return self

    def __call__(self, X: Pictures, Z: Pictures | None = None) -> NDArray[np.float32]:
        self._check_fitted()
        x = self._mixtures(X)
        z = x if Z is None or Z is X else self._mixtures(Z)
        own = _own_overlaps(x)
        others = own if z is x else _own_overlaps(z)
        n, m = len(x.means), len(z.means)
        columns = z.by_column()
        table = np.empty((n, m), dtype=np.float32)

        def work(rows: slice) -> None:
            logs = _log_overlaps(x.take(rows), z.log_weights, *columns)
            logs -= (own[rows, None] + others) / 2
            table[rows] = np.exp(self.power * logs)

        on_all_cores(work, slices(n, max(1, _BLOCK // self.n_components)))
        return table

    def diagonal(self, X: Pictures) -> NDArray[np.float32]:
        return np.ones(len(Bags.of(X, self.width)), dtype=np.float32)

    def _mixtures(self, X: Pictures) -> _Mixtures:
        bags, floor = Bags.of(X, self.width), np.array(self.floor_)
        if bags.descriptors.shape[1] != len(floor):
            raise BadInput(
                f"the kernel learnt from descriptors of {len(floor)} numbers, these have "
                f"{bags.descriptors.shape[1]}"
            )
        k, n = self.n_components, len(bags)
        found = _Mixtures(
            np.empty((n, k)),
            np.empty((n, k, len(floor)), dtype=np.float32),
            np.empty((n, k, len(floor)), dtype=np.float32),
        )

        def work(rows: slice) -> None:
            for picture in range(rows.start, rows.stop):
                found.log_weights[picture], found.means[picture], found.variances[picture] = (
                    fit_mixture(bags[picture], k, floor, self.max_iter, self.random_state)
                )

        on_all_cores(work, slices(n, 64))
        return found

    def _check(self) -> None:
        if not isinstance(self.n_components, int | np.integer) or self.n_components < 1:
            raise BadInput(
                f"n_components must be a whole number from 1 on, not {self.n_components}"
            )
        check_positive("floor", self.floor)
        check_positive("power", self.power)


def fit_mixture(
    bag: NDArray[np.float32],
    n_components: int,
    floor: NDArray[np.float64],
    max_iter: int,
    seed: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Logarithms of the weights, means and variances of a diagonal mixture, by EM.

    It starts at descriptors drawn by the seed, each far from those before it, with the variances of
    the whole bag. The same bag gives the same mixture, whatever stands beside it.
    """
    points = bag.astype(np.float64)
    means, variances = points.mean(axis=0)[None], np.maximum(points.var(axis=0), floor)[None]
    if n_components == 1:
        return np.zeros(1), means, variances
    means = points[_far_apart(points / np.sqrt(variances), n_components, seed)]
    variances = np.repeat(variances, n_components, axis=0)
    log_weights = np.full(n_components, -np.log(n_components))
    for _ in range(max_iter):
        logs = log_weights + _log_densities(points, means, variances)
        logs -= logs.max(axis=1, keepdims=True)
        share = np.exp(logs)
        share /= share.sum(axis=1, keepdims=True)
        # A component that nothing belongs to stays where it is, and weighs next to nothing.
        count = share.sum(axis=0) + 1e-12
        log_weights = np.log(count / count.sum())
        means = (share.T @ points + 1e-12 * means) / count[:, None]
        spread = (share.T @ points**2) / count[:, None] - means**2
        variances = np.maximum(spread, floor)
    return log_weights, means, variances


def _far_apart(points: NDArray[np.float64], count: int, seed: int) -> list[int]:
    """k-means++: each next point is drawn with its squared distance to the nearest one so far."""
    rng = np.random.default_rng(seed)
    chosen = [int(rng.integers(len(points)))]
    nearest = np.full(len(points), np.inf)
    while len(chosen) < count:
        nearest = np.minimum(nearest, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
        total = nearest.sum()
        share = nearest / total if total > 0 else np.full(len(points), 1 / len(points))
        chosen.append(int(rng.choice(len(points), p=share)))
    return chosen


def _log_densities(
    points: NDArray[np.float64], means: NDArray[np.float64], variances: NDArray[np.float64]
) -> NDArray[np.float64]:
    """log N(point; μ, σ²) up to the same constant for all: points × n_components."""
    squares = (points[:, None] - means) ** 2 / variances
    return np.asarray(-0.5 * (squares.sum(axis=2) + np.log(variances).sum(axis=1)))


def _log_overlaps(
    x: _Mixtures,
    z_log_weights: NDArray[np.float64],
    z_means: NDArray[np.float32],
    z_variances: NDArray[np.float32],
) -> NDArray[np.float64]:
    """log Σ_ab w_a w'_b N(μ_a; μ'_b, Σ_a + Σ'_b), less (2π)^−d/2, for each pair of pictures."""
    from visterm.kernels import _kernels

    n, k, d = x.means.shape
    m = len(z_log_weights)
    logs = np.empty((n * k, m * k))
    means, variances = x.means.reshape(-1, d), x.variances.reshape(-1, d)
    _kernels.log_overlaps(means, variances, z_means, z_variances, logs)
    logs += x.log_weights.reshape(-1, 1)
    logs += z_log_weights.reshape(1, -1)
    pairs = logs.reshape(n, k, m, k)
    most = pairs.max(axis=(1, 3))
    if k == 1:
        return most
    sums = np.exp(pairs - most[:, None, :, None]).sum(axis=(1, 3))
    return np.asarray(most + np.log(sums))


def _own_overlaps(x: _Mixtures) -> NDArray[np.float64]:
    """The overlap of each picture with itself."""
    each = (x.take(slice(picture, picture + 1)) for picture in range(len(x.means)))
    found = [_log_overlaps(one, one.log_weights, *one.by_column()) for one in each]
    return np.concatenate(found).ravel()
