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
        colours = np.ascontiguousarray(colours, dtype=np.float32)
        if colours.ndim != 2 or colours.shape[1] != 3 or not 1 <= len(colours) <= 256:
            raise BadInput(f"a colour codebook is k × 3 with 1 to 256 colours, not {colours.shape}")
        if not ((colours >= 0) & (colours <= 255)).all():
            raise BadInput("the red, green and blue of a colour lie between 0 and 255")
        from visterm.features.blocks import _kernels

        self.sides = tuple(sides)
        self.colours = colours
        # Of equal colours the first is the nearest.
        distinct = np.sort(np.unique(colours, axis=0, return_index=True)[1]).astype(np.uint8)
        self._starts, self._candidates = _kernels.colour_cells(colours, distinct)
        several = np.diff(self._starts) > 1
        self._first = self._candidates[self._starts[:-1]] + several * np.uint16(256)

    def __call__(self, pixels: NDArray[np.uint8]) -> list[NDArray[np.unsignedinteger]]:
        """Blocks × bins counts of a picture, one array per side."""
        labels: dict[tuple[int, ...], tuple[NDArray[np.uint8], NDArray[np.uint8]]] = {}
        histograms = []
        for side in self.sides:
            seen = _at_least(pixels, side)  # the picture itself, unless it is tiny
            if seen.shape not in labels:
                labels[seen.shape] = self._labels(seen)
            histograms.append(_histograms(*labels[seen.shape], side, len(self.colours)))
        return histograms

    def _labels(self, pixels: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Texture bin and nearest colour of every pixel."""
        from visterm.features.blocks import _kernels

        pixels = np.ascontiguousarray(pixels)
        texture = _kernels.texture_labels(_kernels.grey_of(pixels), _uniform_bins())
        colour = _kernels.colour_labels(
            pixels, self.colours, self._first, self._starts, self._candidates
        )
        return texture, colour


def _histograms(
    texture: NDArray[np.uint8], colour: NDArray[np.uint8], side: int, n_colours: int
) -> NDArray[np.unsignedinteger]:
    from visterm.features.blocks import _kernels

    half = side // 2
    blocks = (texture.shape[0] // half - 1) * (texture.shape[1] // half - 1)
    # Two bytes hold the pixels of any block but the largest.
    counts = np.empty((blocks, TEXTURE_BINS + n_colours), np.uint16 if side < 256 else np.uint32)
    _kernels.block_histograms(texture, colour, half, counts)
    return counts


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
