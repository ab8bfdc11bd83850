"""What a CNN sees, and where: its grid of vectors over the cells of a spatial pyramid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from visterm.features.cnn.efficientnet import CNN
from visterm.features.cnn.recipe import normalised
from visterm.features.concatenation import join_rows
from visterm.features.extractor import Extractor
from visterm.features.picture_batches import Picture, Pixels
from visterm.features.spatial_pyramid import check_levels, pool_grid
from visterm.progress import Progress, silent


@dataclass(repr=False, eq=False)
class CNNPyramid(Extractor):
    """EfficientNet-Lite0's activations averaged over cells: 1,280 numbers for each cell.

    Square roots and unit length cell by cell and level by level, then levels side by side. The
    whole, thirds and quarters are 10,240 numbers.

    Parameters
    ----------
    pyramid : sequence of {"whole", "thirds", "quarters"}
    level_weights : sequence of float, optional
        How much each level counts; equally by default.
    size, crop, n_jobs
        As for `CNN`.

    Examples
    --------
    >>> picture = np.full((128, 192, 3), 90, dtype=np.uint8)
    >>> CNNPyramid(pyramid=("whole", "thirds")).fit([]).transform([picture]).shape
    (1, 5120)
    """

    name = "cnn-pyramid"
    arrays: ClassVar[tuple[str, ...]] = ()

    pyramid: Sequence[str] = ("whole", "thirds")
    level_weights: Sequence[float] | None = None
    size: int = 224
    crop: str = "half"
    n_jobs: int = 1

    def fit(
        self, pictures: Sequence[Picture] = (), y: Any = None, *, progress: Progress = silent
    ) -> Self:
        """Open the network, so that whatever is wrong with it is said now; nothing is learnt."""
        check_levels(self.pyramid, self.level_weights)
        self._cnn().fit()
        return self

    def rows(self, pictures: list[Pixels]) -> NDArray[np.float32]:
        return self.pool(self._cnn().rows(pictures))

    def pool(self, grids: NDArray[np.float32]) -> NDArray[np.float32]:
        """Vectors from grids of plain activations, (n, cells, 1280), that are already there."""
        n, cells, depth = grids.shape
        side = round(cells**0.5)
        grid = grids.reshape(n, side, side, depth)
        levels = []
        for level in self.pyramid:
            pooled = pool_grid(grid, level)
            levels.append(normalised(pooled, "sqrt-l2").reshape(n, -1))
        return np.asarray(join_rows(levels, self.level_weights), dtype=np.float32)

    @property
    def max_side(self) -> int:  # type: ignore[override]
        """As for the network itself."""
        return self._cnn().max_side

    def _cnn(self) -> CNN:
        return CNN(self.size, self.crop, "grid", "none", self.n_jobs)

    def _check_fitted(self) -> None:
        """Nothing is learnt, so it is always ready."""
