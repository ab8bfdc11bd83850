"""Regions of a picture by normalized cuts over superpixels.

The cut of a set of superpixels into A and B costs
``cut(A, B) / vol(A) + cut(A, B) / vol(B)``; the second eigenvector of the normalized Laplacian
orders them so that the cheapest cut is close to a cut of that order. The cheapest cut of all
regions is made first, until there are enough regions or no cut is cheap.

J. Shi and J. Malik, IEEE TPAMI 22(8), 2000; superpixels: R. Achanta et al., IEEE TPAMI 34(11),
2012.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from visterm.features.classic_libraries import opencv, scikit_image
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
