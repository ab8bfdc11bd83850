"""Block descriptors of the TPAMI 2008 paper: what squares of a picture look like.

Each square of side s, every s/2 pixels, is a histogram of 59 uniform LBP(8, 2) texture bins and of
colours from a codebook of RGB pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput

TEXTURE_BINS = 59


class BlockDescriptor:
    """Histograms of texture and colour over overlapping squares, several sides in one pass.

    Parameters
    ----------
    colours : array of shape (k, 3)
        RGB codebook, k ≤ 256.
    sides : sequence of int
        Even sides of the squares, in pixels.

    Examples
    --------
    >>> descriptor = BlockDescriptor(np.array([[0, 0, 0], [255, 255, 255]]), sides=[32, 64])
    >>> small, large = descriptor(np.zeros((128, 192, 3), dtype=np.uint8))
    >>> small.shape, large.shape, int(small[0].sum())
    ((77, 61), (15, 61), 2048)
    """

    def __init__(self, colours: NDArray[np.floating], sides: Sequence[int]) -> None:
        if any(side < 4 or side % 2 for side in sides) or not sides:
            raise BadInput(f"block sides must be even and at least 4 pixels, not {list(sides)}")
        self.sides = tuple(sides)
        self.colours = np.ascontiguousarray(colours, dtype=np.float32)
        self._starts, self._candidates = _nearest_by_cell(self.colours)

    def __call__(self, pixels: NDArray[np.uint8]) -> list[NDArray[np.uint16]]:
        """Blocks × bins counts of a picture, one array per side."""
        from visterm.features import _kernels

        pixels = _at_least(np.ascontiguousarray(pixels), max(self.sides))
        texture = _kernels.texture_labels(_kernels.grey_of(pixels), _uniform_bins())
        colour = _kernels.colour_labels(pixels, self.colours, self._starts, self._candidates)
        k = len(self.colours)
        return [_kernels.block_histograms(texture, colour, side // 2, k) for side in self.sides]


def _at_least(pixels: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """Repeat the pixels of a picture too small for one block, so that every picture has one."""
    h, w = pixels.shape[:2]
    if h >= side and w >= side:
        return pixels
    rows = np.arange(max(h, side)) * h // max(h, side)
    columns = np.arange(max(w, side)) * w // max(w, side)
    return np.ascontiguousarray(pixels[rows][:, columns])


@cache
def _uniform_bins() -> NDArray[np.uint8]:
    """LBP code to bin: 58 patterns with at most two changes around the circle, one for the rest.

    Patterns are numbered by how many neighbours are brighter, then by where the run of brighter
    ones begins, which is the order scikit-image uses.
    """
    bins = np.full(256, TEXTURE_BINS - 1, dtype=np.uint8)
    bins[0], bins[255] = 0, TEXTURE_BINS - 2
    for ones in range(1, 8):
        for start in range(8):
            code = sum(1 << ((start + i) % 8) for i in range(ones))
            bins[code] = 1 + (ones - 1) * 8 + (ones - 1 + 8 - (start + ones - 1)) % 8
    return bins


def _nearest_by_cell(
    colours: NDArray[np.float32],
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """For each 8×8×8 cell of RGB, the colours that are nearest to some point of it.

    A colour can be nearest somewhere in a cell only if its smallest distance to the cell is at
    most the smallest of all largest distances.
    """
    if colours.ndim != 2 or colours.shape[1] != 3 or not 1 <= len(colours) <= 256:
        raise BadInput(f"a colour codebook is k × 3 with 1 to 256 colours, not {colours.shape}")
    low = np.arange(0, 256, 8, dtype=np.float32)
    below = low[:, None, None] - colours  # per axis: cells × colours × axes
    above = colours - (low + 7)[:, None, None]
    nearest = np.maximum(np.maximum(below, above), 0) ** 2
    farthest = np.maximum(np.abs(below), np.abs(above)) ** 2

    def over_cells(axis: NDArray[np.float32]) -> NDArray[np.float32]:
        red, green, blue = (
            axis[:, None, None, :, 0],
            axis[None, :, None, :, 1],
            axis[None, None, :, :, 2],
        )
        return (red + green + blue).reshape(32**3, -1)

    # A little slack keeps rounding from dropping a colour that is exactly as near.
    possible = over_cells(nearest) <= over_cells(farthest).min(axis=1, keepdims=True) + 0.5
    starts = np.concatenate([[0], np.cumsum(possible.sum(axis=1))]).astype(np.int32)
    return starts, np.nonzero(possible)[1].astype(np.uint8)
