"""Labels that the nearest pictures have, in the space of CCA where pictures with like labels meet.

Balanced (Y. Verma and C. V. Jawahar, ECCV 2012): neighbours are the few nearest pictures of every
label, so that rare labels are among them as often as frequent ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from visterm.models import Cca

Rows = NDArray[np.float32]
_BATCH = 2048  # pictures whose neighbours are found at a time
_FLOOR = 1e-3  # of a share, before its logarithm


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
