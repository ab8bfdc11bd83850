"""The kernels as their formulas say, one pair of pictures at a time, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Pair = Callable[[Floats, Floats], float]


def table(k: Pair, X: Sequence[Floats], Z: Sequence[Floats]) -> Floats:
    return np.array([[k(np.asarray(x, float), np.asarray(z, float)) for z in Z] for x in X])


def linear(x: Floats, z: Floats) -> float:
    return sum(a * b for a, b in zip(x, z, strict=True))


def square_distance(x: Floats, z: Floats) -> float:
    return sum((a - b) ** 2 for a, b in zip(x, z, strict=True))


def mean_over_pairs(k: Pair, X: Sequence[Floats]) -> float:
    return float(table(k, X, X).mean())


def match(minor: Pair) -> Pair:
    def one_way(p: Floats, other: Floats) -> float:
        return sum(max(minor(d, e) for e in other) for d in p) / len(p)

    return lambda p, other: (one_way(p, other) + one_way(other, p)) / 2


Gaussian = tuple[float, Floats, Floats]
"""Weight, mean and variances."""


def density(at: Floats, mean: Floats, variances: Floats) -> float:
    return math.prod(
        math.exp(-((v - m) ** 2) / (2 * s)) / math.sqrt(2 * math.pi * s)
        for v, m, s in zip(at, mean, variances, strict=True)
    )


def overlap(p: Sequence[Gaussian], other: Sequence[Gaussian]) -> float:
    """Σ_ab w_a w'_b N(μ_a; μ'_b, Σ_a + Σ'_b)."""
    return sum(w * v * density(m, n, s + t) for w, m, s in p for v, n, t in other)


def expected_likelihood(p: Sequence[Gaussian], other: Sequence[Gaussian]) -> float:
    return overlap(p, other) / math.sqrt(overlap(p, p) * overlap(other, other))
