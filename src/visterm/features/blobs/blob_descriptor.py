"""What a region looks like: 36 numbers, 18 of colour, 12 of texture, 6 of shape and place.

After P. Duygulu et al., ECCV 2002, and K. Barnard et al., JMLR 3, 2003.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from visterm.features.blobs.blob_regions import lab_of
from visterm.features.classic_libraries import opencv
from visterm.features.picture_batches import Pixels

_ORIENTATIONS = 6
_WAVELENGTHS = (4.0, 8.0)

BLOB_NUMBERS: tuple[str, ...] = (
    *(f"mean {c}" for c in ("R", "G", "B", "L", "a", "b", "r", "g", "S")),
    *(f"deviation {c}" for c in ("R", "G", "B", "L", "a", "b", "r", "g", "S")),
    *(f"energy {w:.0f}px {180 * o // _ORIENTATIONS}°" for w in _WAVELENGTHS for o in range(6)),
    *("size", "x", "y", "roundness", "inertia", "convexity"),
)
"""Names of the numbers. r and g are chromaticity, R/(R + G + B) and G/(R + G + B), S is
(R + G + B)/3. An energy is the root of the mean response of a pair of Gabor filters. Size is the
share of the picture, x and y the middle (0 to 1), roundness area / perimeter², inertia the mean
square distance from the middle / area, convexity the share of its convex hull."""


def blob_numbers(pixels: Pixels, regions: NDArray[np.int64]) -> NDArray[np.float32]:
    """The 36 numbers of each region, one region a row.

    >>> picture = np.full((20, 30, 3), (255, 0, 0), dtype=np.uint8)
    >>> row = blob_numbers(picture, np.zeros((20, 30), dtype=np.int64))[0]
    >>> {name: float(x.round(2)) for name, x in zip(BLOB_NUMBERS, row) if name in ("mean R", "x")}
    {'mean R': 1.0, 'x': 0.5}
    """
    flat, size = regions.ravel(), np.bincount(regions.ravel()).astype(np.float64)

    def mean(channel: NDArray[np.floating]) -> NDArray[np.float64]:
        return np.bincount(flat, channel.ravel()) / size

    colours = _colours(pixels)
    means = [mean(c) for c in colours]
    # The mean square less the squared mean would lose all digits on flat regions.
    deviations = [
        np.sqrt(mean((c.ravel() - m[flat]) ** 2)) for c, m in zip(colours, means, strict=True)
    ]
    energies = [np.sqrt(mean(e)) for e in _energies(pixels)]
    columns = [*means, *deviations, *energies, *_shapes(regions, size)]
    return np.stack(columns, axis=1).astype(np.float32)


def _colours(pixels: Pixels) -> list[NDArray[np.float64]]:
    """R, G, B, L*, a*, b*, r, g, S of every pixel, each of the order of one."""
    rgb = pixels.astype(np.float64) / 255
    lab = lab_of(pixels).astype(np.float64) / 100
    total = rgb.sum(axis=2)
    grey = total == 0  # black has no hue: it is as grey as white is
    share = np.where(grey[..., None], 1 / 3, rgb / np.where(grey, 1, total)[..., None])
    return [
        *np.moveaxis(rgb, 2, 0),
        *np.moveaxis(lab, 2, 0),
        share[..., 0],
        share[..., 1],
        total / 3,
    ]


def _energies(pixels: Pixels) -> list[NDArray[np.float64]]:
    """Response of each pair of Gabor filters, an even and an odd one, at every pixel."""
    cv = opencv()
    grey = cv.cvtColor(np.ascontiguousarray(pixels), cv.COLOR_RGB2GRAY).astype(np.float32) / 255
    return [
        np.hypot(
            cv.filter2D(grey, cv.CV_32F, even, borderType=cv.BORDER_REFLECT_101),
            cv.filter2D(grey, cv.CV_32F, odd, borderType=cv.BORDER_REFLECT_101),
        ).astype(np.float64)
        for even, odd in _gabor_pairs()
    ]


@cache
def _gabor_pairs() -> tuple[tuple[NDArray[np.float32], NDArray[np.float32]], ...]:
    """Waves along each direction under a round window of half their length, blind to brightness."""
    pairs = []
    for length in _WAVELENGTHS:
        reach = int(1.5 * length)
        y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
        window = np.exp(-(x**2 + y**2) / (2 * (length / 2) ** 2))
        for o in range(_ORIENTATIONS):
            angle = np.pi * o / _ORIENTATIONS
            phase = 2 * np.pi * (x * np.cos(angle) + y * np.sin(angle)) / length
            even = window * np.cos(phase)
            even -= window * (even.sum() / window.sum())
            odd = window * np.sin(phase)
            pair = np.stack([even, odd]).astype(np.float32) / np.float32(window.sum())
            pairs.append((pair[0], pair[1]))
    return tuple(pairs)


def _shapes(
    regions: NDArray[np.int64], size: NDArray[np.float64]
) -> tuple[NDArray[np.float64], ...]:
    h, w = regions.shape
    flat = regions.ravel()
    y, x = (np.bincount(flat, at.ravel()) / size for at in np.mgrid[0:h, 0:w] + 0.5)
    rows, columns = np.mgrid[0:h, 0:w] + 0.5
    apart = (rows.ravel() - y[flat]) ** 2 + (columns.ravel() - x[flat]) ** 2
    inertia = np.bincount(flat, apart) / size**2
    roundness = size / _perimeters(regions, len(size)) ** 2
    hulls = np.array([_hull_area(regions == number) for number in range(len(size))])
    return size / (h * w), x / w, y / h, roundness, inertia, size / hulls


def _perimeters(regions: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """Sides of pixels between a region and anything else, the border of the picture included."""
    framed = np.pad(regions, 1, constant_values=count)
    total = np.zeros(count + 1)
    for one, other in ((framed[1:], framed[:-1]), (framed[:, 1:], framed[:, :-1])):
        differ = one != other
        total += np.bincount(one[differ], minlength=count + 1)
        total += np.bincount(other[differ], minlength=count + 1)
    return total[:count]


def _hull_area(mask: NDArray[np.bool_]) -> float:
    """Area of the convex hull of a region's pixels, corners included."""
    cv = opencv()
    rows = np.flatnonzero(mask.any(axis=1))
    first = mask[rows].argmax(axis=1)
    last = mask.shape[1] - mask[rows, ::-1].argmax(axis=1)
    ends = [(x, y) for x in (first, last) for y in (rows, rows + 1)]
    corners = np.concatenate([np.stack(end, axis=1) for end in ends]).astype(np.int32)
    return float(cv.contourArea(cv.convexHull(corners)))
