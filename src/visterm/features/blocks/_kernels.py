"""Compiled loops of the block descriptors: texture labels, colour labels, block histograms."""

from __future__ import annotations

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

# A diagonal neighbour on the circle of radius 2 lies √2 ≈ 1.41421 pixels away along each axis:
# 600/1024 of the pixel at 1 and 424/1024 of the one at 2. Whole numbers keep ties exact, so that a
# flat patch is flat whatever its brightness.
_NEAR = 600
_FAR = 424
_ONE = 1024 * 1024

# Squared distances are compared in single precision, whose error within RGB is below 0.1; a colour
# this close to being nearest is kept, so that rounding cannot change the answer.
_SLACK = 0.5


def _bytes(dimensions: int) -> types.Array:
    """Bytes that may be read-only, as Pillow's and memory-mapped ones are: compiled only once."""
    return types.Array(types.uint8, dimensions, "C", readonly=True)


_PIXELS, _LABELS = _bytes(3), _bytes(2)


@njit(types.uint8[:, ::1](_PIXELS), cache=True, nogil=True)
def grey_of(rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Luma of ITU-R 601 in whole numbers, rounded; one flat loop, because that one vectorises."""
    h, w, _ = rgb.shape
    flat = rgb.reshape(-1)
    grey = np.empty(h * w, dtype=np.uint8)
    for i in range(h * w):
        red, green, blue = np.uint32(flat[3 * i]), np.uint32(flat[3 * i + 1]), flat[3 * i + 2]
        luma = red * np.uint32(19595) + green * np.uint32(38470) + np.uint32(blue) * np.uint32(7471)
        grey[i] = (luma + np.uint32(32768)) >> np.uint32(16)
    return grey.reshape((h, w))


@njit(types.uint8[:, ::1](_LABELS, _bytes(1)), cache=True, nogil=True)
def texture_labels(grey: NDArray[np.uint8], bins: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Uniform LBP(8, 2) bin of every pixel; outside the picture is black.

    The picture is padded once and each row is interpolated sideways once, so that the loops over
    a row have no branches and vectorise.
    """
    h, w = grey.shape
    padded = np.zeros((h + 4, w + 4), dtype=np.int32)
    for r in range(h):
        for c in range(w):
            padded[r + 2, c + 2] = grey[r, c]
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
def _possible(
    colours: NDArray[np.float32],
    among: NDArray[np.uint8],
    low: tuple[int, int, int],
    side: int,
    found: NDArray[np.uint8],
) -> int:
    """Which colours can be nearest to a pixel of an RGB cube; how many are written to ``found``.

    The colour nearest to the middle beats another one all over the cube when it does so at the
    corner where it leads least, for the difference of two squared distances is linear.
    """
    middle = 0.5 * (side - 1)
    best, nearest = among[0], np.inf
    for k in among:
        distance = 0.0
        for axis in range(3):
            distance += (low[axis] + middle - colours[k, axis]) ** 2
        if distance < nearest:
            best, nearest = k, distance
    n = 0
    for k in among:
        lag = 0.0
        for axis in range(3):
            a, b = np.float64(colours[best, axis]), np.float64(colours[k, axis])
            corner = low[axis] + side - 1 if a < b else low[axis]
            lag += (a - b) * (a + b - 2.0 * corner)
        if lag >= -_SLACK:
            found[n] = k
            n += 1
    return n


@njit(
    "Tuple((int32[::1], uint8[::1]))(Array(float32, 2, 'C', readonly=True), uint8[::1])",
    cache=True,
    nogil=True,
)
def colour_cells(
    colours: NDArray[np.float32], among: NDArray[np.uint8]
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """For each 4×4×4 cell of RGB the colours (of those in ``among``) that can be nearest in it.

    Those of cell i are ``candidates[starts[i] : starts[i + 1]]``. The cells are searched inside
    16×16×16 cubes, which rules out most colours sixty-four times cheaper.
    """
    starts = np.zeros(64**3 + 1, dtype=np.int32)
    candidates = np.empty(2 * 64**3, dtype=np.uint8)
    by_cube = np.empty((16**3, len(colours)), dtype=np.uint8)
    in_cube = np.empty(16**3, dtype=np.int32)
    for cube in range(16**3):
        low = (16 * (cube >> 8), 16 * (cube >> 4 & 15), 16 * (cube & 15))
        in_cube[cube] = _possible(colours, among, low, 16, by_cube[cube])
    for cell in range(64**3):
        red, green, blue = cell >> 12, cell >> 6 & 63, cell & 63
        cube = (red >> 2) << 8 | (green >> 2) << 4 | blue >> 2
        used = starts[cell]
        if used + len(colours) > len(candidates):
            candidates = np.concatenate((candidates, np.empty_like(candidates)))
        low = (4 * red, 4 * green, 4 * blue)
        near = by_cube[cube, : in_cube[cube]]
        starts[cell + 1] = used + _possible(colours, near, low, 4, candidates[used:])
    return starts, candidates[: starts[-1]].copy()


@njit(inline="always")
def _cell_of(pixel: NDArray[np.uint8]) -> np.uint32:
    red, green, blue = np.uint32(pixel[0] >> 2), np.uint32(pixel[1] >> 2), np.uint32(pixel[2] >> 2)
    return red << np.uint32(12) | green << np.uint32(6) | blue


@njit(
    types.uint8[:, ::1](
        _PIXELS,
        types.Array(types.float32, 2, "C", readonly=True),
        types.Array(types.uint16, 1, "C", readonly=True),
        types.Array(types.int32, 1, "C", readonly=True),
        _bytes(1),
    ),
    cache=True,
    nogil=True,
)
def colour_labels(
    rgb: NDArray[np.uint8],
    colours: NDArray[np.float32],
    first: NDArray[np.uint16],
    starts: NDArray[np.int32],
    candidates: NDArray[np.uint8],
) -> NDArray[np.uint8]:
    """Nearest colour of every pixel; of equally near ones the first.

    ``first`` holds a cell's first candidate, plus 256 where there are more. Pixels of such cells
    are put aside and measured afterwards: deciding at every pixel would cost more in mispredicted
    branches than the rest of the work.
    """
    h, w, _ = rgb.shape
    pixels = rgb.reshape((-1, 3))
    labels = np.empty(h * w, dtype=np.uint8)
    aside = np.empty(h * w, dtype=np.uint32)
    unsure = np.uint32(0)
    for i in range(h * w):
        entry = first[_cell_of(pixels[i])]
        labels[i] = entry & 255
        aside[unsure] = i
        unsure += entry >> 8
    for j in range(unsure):
        i = aside[j]
        cell = _cell_of(pixels[i])
        nearest = np.float32(np.inf)
        best = np.uint8(0)
        for c in range(starts[cell], starts[cell + 1]):
            k = candidates[c]
            d0 = np.float32(pixels[i, 0]) - colours[k, 0]
            d1 = np.float32(pixels[i, 1]) - colours[k, 1]
            d2 = np.float32(pixels[i, 2]) - colours[k, 2]
            distance = d0 * d0 + d1 * d1 + d2 * d2
            best = k if distance < nearest else best
            nearest = min(distance, nearest)
        labels[i] = best
    return labels.reshape((h, w))


@njit(
    [
        types.void(_LABELS, _LABELS, types.intp, types.uint16[:, ::1]),
        types.void(_LABELS, _LABELS, types.intp, types.uint32[:, ::1]),
    ],
    cache=True,
    nogil=True,
)
def block_histograms(
    texture: NDArray[np.uint8],
    colour: NDArray[np.uint8],
    half: int,
    blocks: NDArray[np.unsignedinteger],
) -> None:
    """Histograms of squares of side 2·half every half pixels: texture bins, then colours.

    A pixel is counted once, in its cell of side half; a block is the sum of four cells.
    """
    h, w = texture.shape
    rows, columns, bins = h // half, w // half, blocks.shape[1]
    cells = np.zeros((rows, columns, bins), dtype=blocks.dtype)
    for r in range(rows * half):
        for c in range(columns):
            cell = cells[r // half, c]
            for x in range(c * half, (c + 1) * half):
                cell[texture[r, x]] += 1
                cell[59 + np.intp(colour[r, x])] += 1
    for r in range(rows - 1):
        for c in range(columns - 1):
            block = blocks[r * (columns - 1) + c]
            a, b = cells[r, c], cells[r, c + 1]
            d, e = cells[r + 1, c], cells[r + 1, c + 1]
            for k in range(bins):
                block[k] = a[k] + b[k] + d[k] + e[k]
