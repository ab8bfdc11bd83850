"""Compiled loops of the block descriptors: texture labels, colour labels, block histograms."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

# A diagonal neighbour on the circle of radius 2 lies √2 ≈ 1.41421 pixels away along each axis:
# 600/1024 of the pixel at 1 and 424/1024 of the one at 2. Whole numbers keep ties exact, so that a
# flat patch is flat whatever its brightness.
_NEAR = 600
_FAR = 424
_ONE = 1024 * 1024


@njit(cache=True, nogil=True)
def grey_of(rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Luma of ITU-R 601 in whole numbers, rounded."""
    h, w, _ = rgb.shape
    grey = np.empty((h, w), dtype=np.uint8)
    for r in range(h):
        for c in range(w):
            red, green, blue = (
                np.int32(rgb[r, c, 0]),
                np.int32(rgb[r, c, 1]),
                np.int32(rgb[r, c, 2]),
            )
            grey[r, c] = (red * 19595 + green * 38470 + blue * 7471 + 32768) >> 16
    return grey


@njit(cache=True, nogil=True)
def texture_labels(grey: NDArray[np.uint8], bins: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Uniform LBP(8, 2) bin of every pixel; outside the picture is black.

    The picture is padded once and each row is interpolated sideways once, so that the loops over
    a row have no branches and vectorise.
    """
    h, w = grey.shape
    padded = np.zeros((h + 4, w + 4), dtype=np.int32)
    padded[2 : h + 2, 2 : w + 2] = grey
    left = np.empty((h + 4, w), dtype=np.int32)
    right = np.empty((h + 4, w), dtype=np.int32)
    for r in range(h + 4):
        for c in range(w):
            left[r, c] = _NEAR * padded[r, c + 1] + _FAR * padded[r, c]
            right[r, c] = _NEAR * padded[r, c + 3] + _FAR * padded[r, c + 4]
    code = np.empty(w, dtype=np.uint8)
    labels = np.empty((h, w), dtype=np.uint8)
    for r in range(h):
        row = padded[r + 2]
        above, below = padded[r], padded[r + 4]
        left1, left2, left3, left4 = left[r], left[r + 1], left[r + 3], left[r + 4]
        right1, right2, right3, right4 = right[r], right[r + 1], right[r + 3], right[r + 4]
        for c in range(w):
            centre = row[c + 2]
            scaled = centre * _ONE
            bits = np.int32(row[c + 4] >= centre)
            bits |= np.int32(_NEAR * right2[c] + _FAR * right1[c] >= scaled) << 1
            bits |= np.int32(above[c + 2] >= centre) << 2
            bits |= np.int32(_NEAR * left2[c] + _FAR * left1[c] >= scaled) << 3
            bits |= np.int32(row[c] >= centre) << 4
            bits |= np.int32(_NEAR * left3[c] + _FAR * left4[c] >= scaled) << 5
            bits |= np.int32(below[c + 2] >= centre) << 6
            bits |= np.int32(_NEAR * right3[c] + _FAR * right4[c] >= scaled) << 7
            code[c] = bits
        for c in range(w):
            labels[r, c] = bins[code[c]]
    return labels


@njit(cache=True, nogil=True)
def colour_labels(
    rgb: NDArray[np.uint8],
    colours: NDArray[np.float32],
    starts: NDArray[np.int32],
    candidates: NDArray[np.uint8],
) -> NDArray[np.uint8]:
    """Nearest colour of every pixel, looking only at those that can be nearest in its RGB cell."""
    h, w, _ = rgb.shape
    labels = np.empty((h, w), dtype=np.uint8)
    for r in range(h):
        for c in range(w):
            red, green, blue = rgb[r, c, 0], rgb[r, c, 1], rgb[r, c, 2]
            cell = (np.int32(red >> 3) << 10) | (np.int32(green >> 3) << 5) | np.int32(blue >> 3)
            first, last = starts[cell], starts[cell + 1]
            best = candidates[first]
            if last - first > 1:
                nearest = np.float32(np.inf)
                for i in range(first, last):
                    k = candidates[i]
                    d0 = np.float32(red) - colours[k, 0]
                    d1 = np.float32(green) - colours[k, 1]
                    d2 = np.float32(blue) - colours[k, 2]
                    distance = d0 * d0 + d1 * d1 + d2 * d2
                    if distance < nearest:
                        nearest, best = distance, k
            labels[r, c] = best
    return labels


@njit(cache=True, nogil=True)
def block_histograms(
    texture: NDArray[np.uint8], colour: NDArray[np.uint8], half: int, n_colours: int
) -> NDArray[np.uint16]:
    """Histograms of squares of side 2·half every half pixels: texture bins, then colours.

    A pixel is counted once, in its cell of side half; a block is the sum of four cells.
    """
    h, w = texture.shape
    rows, columns = h // half, w // half
    bins = 59 + n_colours
    cells = np.zeros((rows, columns, bins), dtype=np.uint16)
    for r in range(rows * half):
        for c in range(columns * half):
            cell = cells[r // half, c // half]
            cell[texture[r, c]] += 1
            cell[59 + colour[r, c]] += 1
    blocks = np.empty(((rows - 1) * (columns - 1), bins), dtype=np.uint16)
    for r in range(rows - 1):
        for c in range(columns - 1):
            block = blocks[r * (columns - 1) + c]
            for b in range(bins):
                block[b] = (
                    cells[r, c, b]
                    + cells[r, c + 1, b]
                    + cells[r + 1, c, b]
                    + cells[r + 1, c + 1, b]
                )
    return blocks
