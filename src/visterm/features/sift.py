"""SIFT visterms: edges around key-points, or on a grid at several scales.

D. Lowe, ICCV 1999; D. Grangier, F. Monay and S. Bengio, ECML 2006 (key-points);
Y. Verma and C. V. Jawahar, CVIU 2017 (grid); R. Arandjelović and A. Zisserman, CVPR 2012
(RootSIFT).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput
from visterm.features.bag_of_visterms import Bag, BagChannel, Local
from visterm.features.extractor import check_whole, is_whole, opencv
from visterm.features.picture_batches import Pixels

_NUMBERS = 128
_PATCH = 6.0  # a descriptor looks at a square of so many times the size of its key-point
_SIGMA = 1.6  # blur of the first layer of the scale space
_LAYERS = 3  # layers in an octave


class _SiftBag(Bag):
    """What SIFT at key-points and on a grid share."""

    visterms: int
    rootsift: bool

    def _channels(self) -> list[BagChannel]:
        return [BagChannel(0, slice(None), self.visterms)]

    def _points(self, descriptors: NDArray[Any], channel: BagChannel) -> NDArray[np.float32]:
        points = super()._points(descriptors, channel)
        return root_sift(points) if self.rootsift else points

    def _check_parameters(self) -> None:
        super()._check_parameters()
        opencv()
        check_whole(self, visterms=1)


@dataclass(repr=False, eq=False)
class Sift(_SiftBag):
    """Bags of visterms over SIFT descriptors at difference-of-Gaussian key-points.

    Parameters
    ----------
    visterms : int
        Size of the codebook.
    rootsift : bool
        Compare descriptors by the square roots of their shares.
    root : bool
        Square-root the visterm counts; False is the paper's way.
    upscale : int
        Enlarge pictures so many times first, which finds smaller things.
    contrast : float
        Key-points fainter than this are not used …
    min_keypoints : int
        … except where fewer than so many would be left: then the strongest of an eighth of that
        contrast, so that hazy pictures say something too.
    max_side : int
        Pictures are shrunk to this long side. OpenCV doubles them again: 192 gives about as many
        key-points as the papers had.
    weighting, n_jobs, random_state, pyramid, level_weights
        As for `Bag`.

    Examples
    --------
    >>> from visterm.datasets.scenes import draw_scene
    >>> pictures = [draw_scene(0, i).pixels for i in range(8)]
    >>> Sift(visterms=50).fit(pictures).transform(pictures).shape
    (8, 50)
    """

    name = "sift"

    visterms: int = 4000
    rootsift: bool = True
    upscale: int = 1
    contrast: float = 0.04
    min_keypoints: int = 50

    def _descriptors(self, pixels: Pixels) -> list[Local]:
        grey = _grey(pixels, self.upscale)
        points, found = _detector(0, self.contrast).detectAndCompute(grey, None)
        if len(points) < self.min_keypoints:
            points, found = _detector(self.min_keypoints, self.contrast / 8).detectAndCompute(
                grey, None
            )
        if found is None:
            return [_nothing()]
        middles = np.array([point.pt for point in points], dtype=np.float32)
        return [Local(_stored(found), _places(middles, grey))]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole(self, upscale=1, min_keypoints=0)
        if not 0 <= self.contrast < 1:
            raise BadInput(f"contrast lies between 0 and 1, not {self.contrast!r}")


@dataclass(repr=False, eq=False)
class DenseSift(_SiftBag):
    """Bags of visterms over SIFT descriptors on a grid, at several scales.

    Parameters
    ----------
    step : int
        Pixels between neighbours on the grid.
    sides : sequence of int
        Sides of the squares, in pixels, that are described around each place of the grid.
    contrast : float
        Squares whose grey levels, from 0 to 255, deviate by less from their mean count as flat:
        SIFT would make as much of their noise as of any edge.
    visterms, rootsift, root, weighting, pyramid, level_weights, max_side, n_jobs, random_state
        As for `Sift`.

    Examples
    --------
    >>> from visterm.datasets.scenes import draw_scene
    >>> pictures = [draw_scene(0, i).pixels for i in range(8)]
    >>> DenseSift(visterms=50, step=16).fit(pictures).transform(pictures).shape
    (8, 50)
    """

    name = "dense-sift"

    visterms: int = 4000
    step: int = 8
    sides: Sequence[int] = (16, 24, 32)
    contrast: float = 3.0
    rootsift: bool = True

    def _descriptors(self, pixels: Pixels) -> list[Local]:
        grey = _grey(pixels, 1)
        h, w = grey.shape
        rows, columns = _steps(h, self.step), _steps(w, self.step)
        grid = [(x, y) for y in rows for x in columns]
        points = [_key_point(x, y, side) for side in self.sides for x, y in grid]
        _, found = _detector(0, 0.04).compute(grey, points)
        middles = np.array(grid, dtype=np.float32)
        flat = [_deviations(grey, middles, side) < self.contrast for side in self.sides]
        found[np.concatenate(flat)] = 0
        return [Local(_stored(found), _places(np.tile(middles, (len(self.sides), 1)), grey))]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole(self, step=1)
        if not self.sides or not all(is_whole(side, 4) for side in self.sides):
            raise BadInput(f"sides are whole numbers of pixels from 4 on, not {self.sides!r}")
        if not self.contrast >= 0:
            raise BadInput(f"contrast is a number of grey levels from 0 on, not {self.contrast!r}")


def root_sift(points: NDArray[np.float32]) -> NDArray[np.float32]:
    """Square roots of each number's share; a flat patch, all zeros, stays so.

    >>> root_sift(np.array([[4.0, 12.0], [0.0, 0.0]])).round(3).tolist()
    [[0.5, 0.866], [0.0, 0.0]]
    """
    total = points.sum(axis=1, keepdims=True)
    return np.sqrt(points / np.where(total > 0, total, 1))


def _grey(pixels: Pixels, upscale: int) -> NDArray[np.uint8]:
    cv = opencv()
    grey = cv.cvtColor(np.ascontiguousarray(pixels), cv.COLOR_RGB2GRAY)
    if upscale > 1:
        grey = cv.resize(grey, None, fx=upscale, fy=upscale, interpolation=cv.INTER_CUBIC)
    return np.asarray(grey, dtype=np.uint8)


@cache
def _detector(most: int, contrast: float) -> Any:
    return opencv().SIFT_create(
        nfeatures=most, nOctaveLayers=_LAYERS, contrastThreshold=contrast, sigma=_SIGMA
    )


def _key_point(x: float, y: float, side: int) -> Any:
    """A key-point whose descriptor sees a square of this side, blurred as its size asks for."""
    size = side / _PATCH
    layer = max(0, round(_LAYERS * np.log2(size / 2 / _SIGMA)))
    octave, layer = divmod(layer, _LAYERS)
    # OpenCV keeps the octave in the low byte, and the layer in the next one.
    return opencv().KeyPoint(x, y, size, 0.0, 1.0, octave | layer << 8)


def _steps(length: int, step: int) -> list[float]:
    """Places every ``step`` pixels, with the same margin on both sides; at least one."""
    count = max(1, length // step)
    margin = (length - 1 - (count - 1) * step) / 2
    return [margin + i * step for i in range(count)]


def _deviations(
    grey: NDArray[np.uint8], middles: NDArray[np.float32], side: int
) -> NDArray[np.float64]:
    """Standard deviation of the grey levels in the square around each place."""
    cv = opencv()
    levels = grey.astype(np.float64)
    mean, square = (
        cv.blur(x, (side, side), borderType=cv.BORDER_REFLECT) for x in (levels, levels**2)
    )
    columns, rows = middles.astype(np.int64).T
    return np.sqrt(np.maximum(square - mean**2, 0))[rows, columns]


def _places(middles: NDArray[np.float32], grey: NDArray[np.uint8]) -> NDArray[np.float32]:
    h, w = grey.shape
    return np.asarray((middles + 0.5) / [w, h], dtype=np.float32)


def _stored(found: NDArray[np.float32]) -> NDArray[np.uint8]:
    """OpenCV's numbers are whole, from 0 to 255."""
    return found.astype(np.uint8)


def _nothing() -> Local:
    return Local(np.empty((0, _NUMBERS), np.uint8), np.empty((0, 2), np.float32))
