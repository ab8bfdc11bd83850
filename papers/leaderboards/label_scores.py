"""Scores of labels for pictures, in three ways: neighbours, balanced neighbours, kernel ridge.

Neighbours are the nearest pictures in the space of CCA where pictures with like labels meet;
balanced (Y. Verma and C. V. Jawahar, ECCV 2012), the few nearest pictures of every label, so that
rare labels are among them as often as frequent ones. Each way also scores the training pictures as
if they were not known: neighbours by five folds, kernel ridge without their own labels, where with
``ŷ(p) = Yᵀ (K + λI)⁻¹ k(p)`` and ``α = (K + λI)⁻¹ Y`` training picture i would be estimated at
``y_i − α_i / (K + λI)⁻¹_ii`` (G. Cawley and N. Talbot, Neural Networks 2004). Scores are
standardised, label by label, by those.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import spotri

from visterm.kernels import RBF
from visterm.models import Cca

Rows = NDArray[np.float32]
WAYS: dict[str, dict[str, tuple[float, ...]]] = {
    "neighbours": {"sharpness": (20.0,), "neighbours": (100,)},
    "balanced neighbours": {"sharpness": (20.0,), "neighbours": (2, 5)},
    "kernel ridge": {"gamma": (2.0,), "ridge": (0.1, 0.3, 1.0)},
}
"""A way's parameters, and the values that validation pictures choose from."""
_FOLDS = 5
_COMPONENTS = 1024
"""Of the vectors, before CCA: it is fitted six times, and takes as long as their width cubed."""
_BATCH = 2048  # pictures whose neighbours are found at a time
_FLOOR = 1e-3  # of a share, before its logarithm
_EXACT, _LANDMARKS = 24_000, 4096
"""So many pictures are compared with each other; more of them with so many landmarks."""


class Estimates(NamedTuple):
    """Pictures × labels: of pictures that are asked about, and of training pictures by the rest."""

    asked: Rows
    left_out: Rows


@dataclass(frozen=True, eq=False)
class Annotators:
    """What pictures with labels (pictures × labels) tell of the labels of others."""

    pictures: Rows
    labels: Rows
    seed: int = 0

    def scores(self, way: str, asked: Rows, settings: dict[str, Any]) -> Estimates:
        """Of mean 0 and standard deviation 1 where training pictures are left out."""
        if way == "kernel ridge":
            found = ridge_estimates(self.pictures, self.labels, asked, seed=self.seed, **settings)
        else:
            found = self._near(asked, settings | {"balanced": way.startswith("balanced")})
        mean, deviation = found.left_out.mean(axis=0), found.left_out.std(axis=0)
        return Estimates(*((rows - mean) / np.maximum(deviation, 1e-6) for rows in found))

    def _near(self, asked: Rows, settings: dict[str, Any]) -> Estimates:
        left_out = np.empty_like(self.labels)
        for fold, others in self._folds:
            left_out[fold] = others.scores(self._rows[fold], **settings)
        return Estimates(self._all.scores(asked @ self._directions, **settings), left_out)

    @cached_property
    def _directions(self) -> Rows:
        """Principal components; all numbers as they are where these or the pictures are few."""
        if min(self.pictures.shape) <= _COMPONENTS:
            return np.eye(self.pictures.shape[1], dtype=np.float32)
        centred = self.pictures - self.pictures.mean(axis=0)
        _, directions = np.linalg.eigh(centred.T @ centred)
        return np.ascontiguousarray(directions[:, -_COMPONENTS:])

    @cached_property
    def _rows(self) -> Rows:
        return self.pictures @ self._directions

    @cached_property
    def _all(self) -> LabelNeighbours:
        return LabelNeighbours.fit(self._rows, self.labels)

    @cached_property
    def _folds(self) -> list[tuple[np.ndarray, LabelNeighbours]]:
        """Some pictures at a time, and what the others know."""
        order = np.random.default_rng(self.seed).permutation(len(self.pictures))
        parts = [(fold, np.setdiff1d(order, fold)) for fold in np.array_split(order, _FOLDS)]
        return [
            (fold, LabelNeighbours.fit(self._rows[rest], self.labels[rest])) for fold, rest in parts
        ]


def fused(parts: list[Estimates], weights: tuple[float, ...]) -> Estimates:
    """Sums of what several ways estimate."""
    asked, left_out = (
        sum(weight * rows for weight, rows in zip(weights, side, strict=True))
        for side in zip(*parts, strict=True)
    )
    return Estimates(asked, left_out)


def choices(way: str) -> Iterator[dict[str, Any]]:
    """All settings of a way.

    >>> len(list(choices("kernel ridge")))
    3
    """
    grid = WAYS[way]
    return (dict(zip(grid, values, strict=True)) for values in product(*grid.values()))


class LabelNeighbours(NamedTuple):
    """Pictures in their space, and the labels (pictures × labels) that they have."""

    space: Cca
    rows: Rows
    labels: Rows

    @classmethod
    def fit(cls, pictures: Rows, labels: Rows) -> LabelNeighbours:
        space = Cca(ridge=0.03, text_ridge=0.3, scaling=0.5).fit(pictures, labels)
        return cls(space, space.picture_rows(pictures), labels)

    def scores(self, asked: Rows, sharpness: float, neighbours: int, *, balanced: bool) -> Rows:
        """Logarithms of weighted shares of the neighbours that have a label."""
        wanted = self.space.picture_rows(asked)
        starts = range(0, len(wanted), _BATCH)
        parts = (wanted[a : a + _BATCH] @ self.rows.T for a in starts)
        return np.concatenate(
            [self._shares(part, sharpness, neighbours, balanced) for part in parts]
        )

    def _shares(self, cosines: Rows, sharpness: float, neighbours: int, balanced: bool) -> Rows:
        kept = np.zeros(cosines.shape, dtype=bool)
        for having in self._groups(balanced):
            most = min(neighbours, len(having))
            if most:
                best = np.argpartition(-cosines[:, having], most - 1, axis=1)[:, :most]
                np.put_along_axis(kept, having[best], True, axis=1)
        weights = np.exp(sharpness * (cosines - 1)) * kept
        shares = weights @ self.labels / np.maximum(weights.sum(axis=1, keepdims=True), 1e-30)
        return np.asarray(np.log(shares + _FLOOR), np.float32)

    def _groups(self, balanced: bool) -> Iterator[NDArray[np.int64]]:
        if not balanced:
            return iter([np.arange(len(self.labels))])
        return (np.flatnonzero(column) for column in self.labels.T)


def ridge_estimates(
    pictures: Rows, labels: Rows, asked: Rows, *, gamma: float, ridge: float, seed: int = 0
) -> Estimates:
    """Estimates by an RBF kernel.

    >>> pictures, labels = np.float32([[0], [0.1], [5]]), np.float32([[1], [1], [0]])
    >>> found = ridge_estimates(pictures, labels, pictures[:1], gamma=1.0, ridge=0.1)
    >>> bool(found.asked[0, 0] > found.left_out[0, 0] > 0.8)
    True
    """
    kernel = RBF(gamma).fit(pictures)
    if len(pictures) <= _EXACT:
        weights, left_out = _exact(kernel(pictures), labels, ridge)
        return Estimates(kernel(asked, pictures) @ weights, left_out)
    order = np.random.default_rng(seed).permutation(len(pictures))
    landmarks = pictures[np.sort(order[:_LANDMARKS])]
    weights, left_out = _on_landmarks(
        kernel(pictures, landmarks), ridge * kernel(landmarks), labels
    )
    return Estimates(kernel(asked, landmarks) @ weights, left_out)


def _exact(table: Rows, labels: Rows, ridge: float) -> tuple[Rows, Rows]:
    """Weights of the pictures, and left-out estimates; the table is spent."""
    table[np.diag_indices_from(table)] += np.float32(ridge)
    # A symmetric table is its own transpose, which is how LAPACK wants it: nothing is copied.
    factor, lower = cho_factor(table.T, lower=True, overwrite_a=True, check_finite=False)
    weights = np.asarray(cho_solve((factor, lower), labels, check_finite=False), np.float32)
    inverse, _ = spotri(factor, lower=1, overwrite_c=1)
    return weights, np.asarray(labels - weights / np.diag(inverse)[:, None], np.float32)


def _on_landmarks(known: Rows, penalty: Rows, labels: Rows) -> tuple[Rows, Rows]:
    system = known.T @ known + penalty
    system[np.diag_indices_from(system)] += 1e-5 * np.trace(system) / len(system)
    factor = cho_factor(system, check_finite=False)
    weights = np.asarray(cho_solve(factor, known.T @ labels), np.float32)
    own = np.einsum("ij,ji->i", known, cho_solve(factor, known.T))
    left_out = labels - (labels - known @ weights) / (1 - own)[:, None]
    return weights, np.asarray(left_out, np.float32)
