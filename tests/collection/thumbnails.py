"""An extractor for tests: a picture is its colours on a small grid, and nothing is learnt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from visterm.features import Extractor
from visterm.features.picture_batches import Picture, Pixels
from visterm.progress import Progress, silent

GRID = 4


class Thumbnails(Extractor):
    """Means over a 4 × 4 grid, 48 numbers of unit length."""

    name = "thumbnails"
    arrays = ("unit_",)

    def __init__(self, max_side: int = 64, n_jobs: int = 1) -> None:
        self.max_side = max_side
        self.n_jobs = n_jobs

    def fit(
        self, pictures: Sequence[Picture] = (), y: Any = None, *, progress: Progress = silent
    ) -> Self:
        self.unit_ = np.ones(1, np.float32)
        return self

    def rows(self, pictures: list[Pixels]) -> NDArray[np.float32]:
        return np.stack([_thumbnail(pixels) for pixels in pictures])


def _thumbnail(pixels: Pixels) -> NDArray[np.float32]:
    rows = np.array_split(pixels.astype(np.float32) / 255, GRID)
    cells = [cell.mean(axis=(0, 1)) for row in rows for cell in np.array_split(row, GRID, axis=1)]
    flat = np.concatenate(cells)
    return (flat / (np.linalg.norm(flat) or 1)).astype(np.float32)
