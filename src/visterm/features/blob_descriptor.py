"""Regions of a picture, and what one looks like: 36 numbers.

18 are of colour, 12 of texture, 6 of shape and place.

After P. Duygulu et al., ECCV 2002, and K. Barnard et al., JMLR 3, 2003.

Regions are found by normalized cuts over superpixels. The cut of a set of superpixels into A and B
costs ``cut(A, B) / vol(A) + cut(A, B) / vol(B)``; the second eigenvector of the normalized
Laplacian orders them so that the cheapest cut is close to a cut of that order. The cheapest cut of
all regions is made first, until there are enough regions or no cut is cheap.

J. Shi and J. Malik, IEEE TPAMI 22(8), 2000; superpixels: R. Achanta et al., IEEE TPAMI 34(11),
2012.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from visterm.features.extractor import opencv, scikit_image
from visterm.features.picture_batches import Pixels

_COMPACT = 10.0
_COLOUR = 20.0  # superpixels that differ by so much in L*a*b* are alike by 1/e
_PLACE = 0.25  # … and those that are so far apart, in long sides of the picture


class _Cut(NamedTuple):
    cost: float
    members: NDArray[np.int64]
    sides: tuple[NDArray[np.int64], NDArray[np.int64]] | None


def cut_regions(
    pixels: Pixels, *, superpixels: int = 150, most: int = 10, dearest: float = 1.0
) -> NDArray[np.int64]:
    """The number of the region that each pixel belongs to, the largest region first.

    Parameters
    ----------
    superpixels : int
        About how many small pieces the regions are put together from.
    most : int
        At most so many regions.
    dearest : float
        No cut that costs more than this (at most 2) is made.

    Examples
    --------
    >>> picture = np.zeros((40, 60, 3), dtype=np.uint8)
    >>> picture[:, 40:] = 255
    >>> regions = cut_regions(picture, most=2)
    >>> regions[0].tolist() == [0] * 40 + [1] * 20
    True
    """
    pieces = _superpixels(pixels, superpixels)
    alike = _likeness(pixels, pieces)
    leaves = [_best_cut(alike, np.arange(len(alike)))]
    while len(leaves) < most:
        cheapest = min(range(len(leaves)), key=lambda i: leaves[i].cost)
        sides = leaves[cheapest].sides
        if sides is None or leaves[cheapest].cost > dearest:
            break
        leaves[cheapest : cheapest + 1] = [_best_cut(alike, side) for side in sides]
    region = np.empty(len(alike), dtype=np.int64)
    for number, leaf in enumerate(leaves):
        region[leaf.members] = number
    regions = region[pieces]
    by_size = np.argsort(-np.bincount(regions.ravel()), kind="stable")
    return np.argsort(by_size)[regions]


def _superpixels(pixels: Pixels, count: int) -> NDArray[np.int64]:
    """Small pieces of one colour each, numbered from 0 without gaps."""
    scikit_image()
    from skimage.segmentation import slic

    pieces = slic(pixels, n_segments=count, compactness=_COMPACT, start_label=0)
    _, numbered = np.unique(pieces, return_inverse=True)
    return numbered.reshape(pieces.shape)


def _likeness(pixels: Pixels, pieces: NDArray[np.int64]) -> NDArray[np.float64]:
    """Piece × piece: 1 for the same colour at the same place, falling off with both distances."""
    h, w = pieces.shape
    rows, columns = np.mgrid[0:h, 0:w] / (max(h, w) * _PLACE)
    channels = [*np.moveaxis(lab_of(pixels) / _COLOUR, 2, 0), rows, columns]
    flat, size = pieces.ravel(), np.bincount(pieces.ravel())
    means = np.stack([np.bincount(flat, c.ravel()) / size for c in channels], axis=1)
    squares = (means**2).sum(axis=1)
    apart = np.maximum(squares[:, None] + squares - 2 * means @ means.T, 0)
    alike = np.exp(-np.minimum(apart, 50))  # never zero, or a piece might have no ties at all
    np.fill_diagonal(alike, 0)  # or a piece that is like no other would be the cheapest cut
    return alike


def _best_cut(alike: NDArray[np.float64], members: NDArray[np.int64]) -> _Cut:
    """The cheapest cut of some pieces along their second eigenvector, and its cost."""
    if len(members) < 2:
        return _Cut(np.inf, members, None)
    inside = alike[np.ix_(members, members)]
    volume = inside.sum(axis=1)
    half = 1 / np.sqrt(volume)
    _, vectors = eigh(half[:, None] * inside * half, subset_by_index=[len(members) - 2] * 2)
    order = np.argsort(vectors[:, 0] * half, kind="stable")
    # Of every cut of that order at once: what lies within the first k, and how much they hold.
    within = inside[np.ix_(order, order)].cumsum(axis=0).cumsum(axis=1).diagonal()[:-1]
    first = volume[order].cumsum()[:-1]
    between = first - within
    costs = between / first + between / (volume.sum() - first)
    at = int(np.argmin(costs)) + 1
    return _Cut(float(costs[at - 1]), members, (members[order[:at]], members[order[at:]]))


def lab_of(pixels: Pixels) -> NDArray[np.float32]:
    """L*a*b* of every pixel, L from 0 to 100.

    >>> lab_of(np.full((1, 1, 3), 255, dtype=np.uint8)).round(1).tolist()
    [[[100.0, 0.0, 0.0]]]
    """
    cv = opencv()
    shares = np.ascontiguousarray(pixels, dtype=np.float32) / 255
    return np.asarray(cv.cvtColor(shares, cv.COLOR_RGB2LAB), dtype=np.float32)


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
