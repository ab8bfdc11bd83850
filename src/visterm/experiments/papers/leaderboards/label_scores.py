"""Scores of labels for pictures, in three ways: neighbours, balanced neighbours, kernel ridge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from visterm.kernels import RBF
from visterm.models import Cca

Rows = NDArray[np.float32]
WAYS: dict[str, dict[str, tuple[float, ...]]] = {
    "neighbours": {"sharpness": (10.0, 20.0, 40.0), "neighbours": (100,)},
    "balanced neighbours": {"sharpness": (10.0, 20.0), "neighbours": (2, 5)},
    "kernel ridge": {"gamma": (1.0, 2.0), "ridge": (0.1, 0.3, 1.0)},
}
"""A way's parameters, and the values that validation pictures choose from."""
_EXACT, _LANDMARKS = 8192, 4096
"""So many pictures are compared with each other; more of them with so many landmarks."""
_FLOOR = 1e-3  # of a probability, before its logarithm


@dataclass(frozen=True, eq=False)
class Annotators:
    """What pictures with labels (pictures × labels) tell of the labels of others."""

    pictures: Rows
    labels: Rows
    seed: int = 0

    def scores(self, way: str, asked: Rows, settings: dict[str, Any]) -> Rows:
        """Pictures × labels, comparable between ways: of mean 0 and standard deviation 1."""
        if way == "kernel ridge":
            found = self._ridge(asked, **settings)
        else:
            found = self._near(asked, balanced=way.startswith("balanced"), **settings)
        return (found - found.mean()) / max(float(found.std()), 1e-12)

    @cached_property
    def _space(self) -> Cca:
        """Where pictures with like labels are near."""
        model = Cca(ridge=0.1, text_ridge=0.3, scaling=0.5)
        return model.fit(self.pictures, self.labels)

    @cached_property
    def _rows(self) -> Rows:
        return self._space.picture_rows(self.pictures)

    def _near(self, asked: Rows, sharpness: float, neighbours: float, *, balanced: bool) -> Rows:
        """Logarithms of weighted shares of the neighbours that have a label.

        Balanced (Verma and Jawahar, ECCV 2012): neighbours are the few nearest pictures of every
        label, so that rare labels are among them as often as frequent ones.
        """
        cosines = self._space.picture_rows(asked) @ self._rows.T
        weights = np.exp(sharpness * (cosines - 1))
        kept = np.zeros(cosines.shape, dtype=bool)
        groups: Iterator[NDArray[np.int64]] = (
            (np.flatnonzero(column) for column in self.labels.T)
            if balanced
            else iter([np.arange(len(self.labels))])
        )
        for having in groups:
            most = min(int(neighbours), len(having))
            if most:
                best = np.argpartition(-cosines[:, having], most - 1, axis=1)[:, :most]
                np.put_along_axis(kept, having[best], True, axis=1)
        weights *= kept
        shares = weights @ self.labels / np.maximum(weights.sum(axis=1, keepdims=True), 1e-30)
        return np.asarray(np.log(shares + _FLOOR), np.float32)

    def _ridge(self, asked: Rows, gamma: float, ridge: float) -> Rows:
        """Kernel ridge regression, of many pictures on some landmarks among them.

        A label's estimates are standardised by those of the training pictures without their own
        labels (leave one out): rare and frequent labels are compared fairly.
        """
        kernel = RBF(gamma).fit(self.pictures)
        count, landmarks = len(self.pictures), self.pictures
        if count > _EXACT:
            order = np.random.default_rng(self.seed).permutation(count)
            landmarks = self.pictures[np.sort(order[:_LANDMARKS])]
        known = kernel(self.pictures, landmarks)
        if count > _EXACT:
            system, given = known.T @ known + ridge * kernel(landmarks), known.T @ self.labels
            system[np.diag_indices_from(system)] += 1e-5 * np.trace(system) / len(system)
            turned = known.T
        else:
            system, given = known + ridge * np.eye(count, dtype=np.float32), self.labels
            turned = np.eye(count, dtype=np.float32)
        factor = cho_factor(system, check_finite=False)
        weights = cho_solve(factor, given)
        hat = np.einsum("ij,ji->i", known, cho_solve(factor, turned))
        left_out = self.labels - (self.labels - known @ weights) / (1 - hat)[:, None]
        deviation = np.maximum(left_out.std(axis=0), 1e-6)
        return np.asarray((kernel(asked, landmarks) @ weights - left_out.mean(axis=0)) / deviation)


def choices(way: str) -> list[dict[str, Any]]:
    """All settings of a way.

    >>> len(choices("kernel ridge"))
    6
    """
    grid = WAYS[way]
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
