"""Scores of labels for pictures, in three ways: neighbours, balanced neighbours, kernel ridge.

Each way also scores the training pictures as if they were not known: kernel ridge without their own
labels, neighbours by five folds. Scores are standardised, label by label, by those.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from visterm.experiments.papers.labelling.label_neighbours import LabelNeighbours
from visterm.experiments.papers.labelling.left_out_ridge import (
    Estimates,
    Rows,
    ridge_estimates,
)

WAYS: dict[str, dict[str, tuple[float, ...]]] = {
    "neighbours": {"sharpness": (20.0,), "neighbours": (100,)},
    "balanced neighbours": {"sharpness": (20.0,), "neighbours": (2, 5)},
    "kernel ridge": {"gamma": (2.0,), "ridge": (0.1, 0.3, 1.0)},
}
"""A way's parameters, and the values that validation pictures choose from."""
_FOLDS = 5
_COMPONENTS = 1024
"""Of the vectors, before CCA: it is fitted six times, and takes as long as their width cubed."""


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
