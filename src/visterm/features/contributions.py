"""A vector as the sum of its places: which part of a picture brought which part of its vector.

For a linear model the score of a picture is then the sum of what its places score. Square roots and
unit lengths are no sums, but each number of a vector can be shared among the places in proportion
to what each brought to it before: the shares sum to the number whatever was done to it afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from visterm.estimator import clone
from visterm.features.bag_of_visterms import Bag
from visterm.features.cnn import CNN
from visterm.features.cnn.recipe import normalised
from visterm.features.codebook import nearest_centres
from visterm.features.combined import Combined
from visterm.features.extractor import Extractor
from visterm.features.picture_batches import Pixels, shrunk
from visterm.features.spatial_pyramid import Places, cells_at, cells_in

Box = tuple[float, float, float, float]
_MOST = 16
"""Places of a kind that has its own everywhere, such as key points, are gathered in a grid."""
_USUAL = 7


@dataclass(frozen=True, eq=False)
class Parts:
    """Places × numbers of the vector, row by row; the sum over places is the vector.

    ``shape`` is (rows, columns) of the grid of places, ``box`` the part of the picture it covers:
    left, top, right, bottom, as fractions.
    """

    values: NDArray[np.float32]
    shape: tuple[int, int]
    box: Box = (0.0, 0.0, 1.0, 1.0)

    def scores(self, weights: NDArray[np.floating]) -> NDArray[np.float64]:
        """What each place scores: rows × columns."""
        return (self.values.astype(np.float64) @ np.asarray(weights, float)).reshape(self.shape)


def parts_of(extractor: Extractor, pixels: Pixels) -> Parts | None:
    """A picture's vector by place; None where the extractor does not know places.

    >>> from visterm.datasets.scenes import draw_scene
    >>> picture = draw_scene(0, 1).pixels
    >>> parts = parts_of(CNN(), picture)
    >>> parts.shape
    (7, 7)
    >>> bool(np.allclose(parts.values.sum(axis=0), CNN().rows([picture])[0], atol=1e-5))
    True
    """
    if isinstance(extractor, CNN) and extractor.output == "pooled":
        return _of_cnn(extractor, pixels)
    if isinstance(extractor, Bag) and extractor.weighting != "counts":
        return _of_bag(extractor, pixels)
    if isinstance(extractor, Combined):
        return _of_combined(extractor, pixels)
    return None


def _of_cnn(cnn: CNN, pixels: Pixels) -> Parts:
    grid = clone(cnn).set_params(output="grid", normalise="none").rows([pixels])[0]
    pooled = grid.mean(axis=0, dtype=np.float64).astype(np.float32)
    vector = normalised(pooled[None], cnn.normalise)[0]
    total = grid.sum(axis=0, dtype=np.float64)
    shares = grid / np.where(total == 0, 1.0, total)
    side = round(len(grid) ** 0.5)
    height, width = pixels.shape[:2]
    left, top, right, bottom = cnn.seen(pixels)
    box = (left / width, top / height, right / width, bottom / height)
    return Parts((shares * vector).astype(np.float32), (side, side), box)


def _of_bag(bag: Bag, pixels: Pixels) -> Parts:
    """Each visterm's number is shared alike among the places that show it."""
    described = bag._descriptors(pixels)
    vector = bag.rows([pixels]).toarray()[0]
    shape = _grid([local.places for local in described], pixels)
    values = np.zeros((shape[0] * shape[1], len(vector)), np.float32)
    edges = iter(pairwise(bag._edges()))
    for number, channel in enumerate(bag._channels()):
        local = described[channel.kind]
        points = bag._points(local.descriptors, channel)
        visterms = nearest_centres(points, bag._centres[number], bag.nearest)
        cells = np.repeat(_cells(local.places, shape), visterms.shape[1])
        for level in bag.pyramid:
            first, stop = next(edges)
            size = (stop - first) // cells_in(level)
            shown = (cells_at(local.places, level)[:, None] * size + visterms).ravel()
            counts = np.bincount(shown, minlength=stop - first)
            each = vector[first:stop] / np.maximum(counts, 1)
            np.add.at(values, (cells, first + shown), each[shown])
    return Parts(values, shape)


def _of_combined(combined: Combined, pixels: Pixels) -> Parts | None:
    """The places of the first extractor that knows them; the others' numbers are in no place."""
    first = 0
    whole = combined.rows([pixels])
    vector = (whole if isinstance(whole, np.ndarray) else whole.toarray())[0]
    for part in combined.parts_:
        found = parts_of(part, shrunk(pixels, part.max_side))
        own = part.rows([shrunk(pixels, part.max_side)])
        width = own.shape[1]
        if found is not None:
            joined = np.linalg.norm(vector[first : first + width])
            scale = joined / (np.linalg.norm(found.values.sum(axis=0)) or 1.0)
            values = np.zeros((len(found.values), len(vector)), np.float32)
            values[:, first : first + width] = found.values * scale
            return Parts(values, found.shape, found.box)
        first += width
    return None


def _grid(kinds: list[Places], pixels: Pixels) -> tuple[int, int]:
    """The grid of the kind with the fewest places, or a usual one where they lie anywhere."""
    fewest = min((places for places in kinds), key=len)
    rows, columns = len(np.unique(fewest[:, 1])), len(np.unique(fewest[:, 0]))
    if not 0 < rows <= _MOST or not 0 < columns <= _MOST:
        height, width = pixels.shape[:2]
        return _USUAL, max(1, min(_MOST, round(_USUAL * width / height)))
    return rows, columns


def _cells(places: Places, shape: tuple[int, int]) -> NDArray[np.int64]:
    """The cell of the grid that each place lies in."""
    rows = np.clip((places[:, 1] * shape[0]).astype(int), 0, shape[0] - 1)
    columns = np.clip((places[:, 0] * shape[1]).astype(int), 0, shape[1] - 1)
    return np.asarray(rows * shape[1] + columns)
