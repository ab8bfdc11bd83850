"""The CNNs that come with visterm: EfficientNet-Lite0, 1 and 2.

`CNNPyramid` says what a CNN sees and where: its grid of vectors over a spatial pyramid's cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput, MissingExtra
from visterm.features.cnn.network_extractor import NetworkExtractor, OnnxNetwork
from visterm.features.cnn.recipe import Recipe, normalised, seen
from visterm.features.extractor import Extractor, join_rows
from visterm.features.picture_batches import Pictures, Pixels
from visterm.features.spatial_pyramid import check_levels, pool_grid
from visterm.progress import Progress, silent

NETWORKS = {
    name: Path(__file__).with_name(f"efficientnet-{name}.onnx")
    for name in ("lite0", "lite1", "lite2")
}
"""Pixels to a grid of activations and their mean; ``build_assets`` makes them with the wheel."""
# Pixels v enter as (v − mean) / scale, which the network itself computes.
MEAN, SCALE = 127.0, 128.0


@dataclass(repr=False, eq=False)
class CNN(NetworkExtractor):
    """What EfficientNet-Lite, trained on ImageNet, sees in a picture: 1,280 numbers.

    The activations of its last convolution, averaged over a 7 × 7 grid or cell by cell.

    M. Tan and Q. Le, ICML 2019; the weights are of the Lite variant of 2020.

    Parameters
    ----------
    size : int
        Side of the square that the network sees, a multiple of 32; the grid has side size / 32.
    crop : {"half", "squash", "centre", "pad"}
        How a picture becomes a square: cut and stretched half-way, all of it stretched, its
        middle, or all of it with a border. The default was the best on Corel's validation pictures.
    output : {"pooled", "grid"}
        One vector a picture, or one for each cell of the grid, row by row: (n, cells, 1280).
    normalise : {"sqrt-l2", "l2", "none"}
        Square roots and unit length, unit length only, or the activations as they are.
    n_jobs : int
        Processes that decode pictures and extract features.
    provider : {"cpu", "cuda", "coreml", "openvino", "directml"}
        Where onnxruntime computes.
    network : {"lite0", "lite1", "lite2"}
        A larger one sees a little more, and takes longer.

    Examples
    --------
    >>> from visterm.features.cnn import CNN
    >>> picture = np.full((128, 192, 3), 90, dtype=np.uint8)
    >>> CNN().transform([picture]).shape
    (1, 1280)
    >>> CNN(output="grid").transform([picture]).shape
    (1, 49, 1280)
    """

    name = "cnn"
    version = 1
    # Weights read once serve two pictures, whose vectors are bit for bit those of each alone;
    # three or more fill the cache with their own activations, and are slower again.
    together = 2

    size: int = 224
    crop: str = "half"
    output: str = "pooled"
    normalise: str = "sqrt-l2"
    n_jobs: int = 1
    provider: str = "cpu"
    network: str = "lite0"

    def seen(self, pixels: Pixels) -> tuple[float, float, float, float]:
        """The part of a picture that the grid covers: left, top, right and bottom, in pixels."""
        height, width = pixels.shape[:2]
        return seen(width, height, self._recipe())

    def _recipe(self) -> Recipe:
        mean, std = MEAN / 255, SCALE / 255
        recipe = Recipe(
            size=self.size,
            mean=(mean, mean, mean),
            std=(std, std, std),
            layout="NHWC",
            crop=self.crop,
            normalise=self.normalise,
            provider=self.provider,
        )
        if self.size % 32:
            raise BadInput(f"size must be a multiple of 32, not {self.size}")
        if self.output not in ("pooled", "grid"):
            raise BadInput(f"output must be 'pooled' or 'grid', not {self.output!r}")
        if self.network not in NETWORKS:
            raise BadInput(f"network must be one of {', '.join(NETWORKS)}, not {self.network!r}")
        return recipe

    def _opened(self) -> tuple[OnnxNetwork, Recipe, str]:
        recipe = self._recipe()
        return _opened(self.network, recipe.provider), recipe, self.output

    def _shaped(self, output: NDArray[np.float32]) -> NDArray[np.float32]:
        return output.reshape(len(output), -1).T if output.ndim == 3 else output


# Kept here and not on the extractor, which travels to other processes and is saved and cloned.
@cache
def _opened(name: str, provider: str) -> OnnxNetwork:
    path = NETWORKS[name]
    if not path.exists():
        raise MissingExtra(
            f"the CNN's network {path} is built when visterm is installed, and is not there; "
            "install visterm again or, in a checkout, run: python -m build_assets"
        )
    return OnnxNetwork(str(path), "the CNN", provider)


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

    pyramid: Sequence[str] = ("whole", "thirds")
    level_weights: Sequence[float] | None = None
    size: int = 224
    crop: str = "half"
    n_jobs: int = 1

    def fit(self, pictures: Pictures = (), y: Any = None, *, progress: Progress = silent) -> Self:
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
