"""Scores of real pictures, drawn to many more: what the starter sees in photographs.

Photographs (vectors of the CNN) go through the starter. A drawn picture is one of them, moved
towards and away from its nearest neighbours by normal amounts, so that it differs from them as they
differ from each other; one factor makes the median distance of a drawn picture to its nearest
neighbour that of the photographs, measured in the space of the words' values. They come in random
order: no album helps a search. The index takes the values as a collection gives them: it codes
them, and computes the log-probabilities that a search needs by the link, from a file of the values.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import say
from benchmarks.corel_vectors import kept_vectors
from visterm.calibration.link import Link, log_logistic
from visterm.datasets.locations import data_folder
from visterm.index import Index
from visterm.index.recomputed import Recomputed
from visterm.index.score import Floats, Integers
from visterm.starter import load_starter

NEAR = 8
"""Neighbours towards which a drawn picture is moved."""
_CHUNK = 1 << 14
_ROWS = 1 << 10
_SAMPLED = 200
_DATASETS = ("corel5k", "flickr8k", "iaprtc12")


def photographs(vectors: list[Path], data: Path | None) -> Floats:
    """The vectors in these files, or those of all pictures of the data sets."""
    if vectors:
        return np.concatenate([np.asarray(np.load(path), np.float32) for path in vectors])
    found = [path for name in _DATASETS for path in data_folder(name, data).rglob("*.jpg")]
    return kept_vectors(sorted(found), None)


class RealScores:
    """Values of the commonest words, and how to draw more pictures like them."""

    def __init__(self, vectors: Floats, words: int, pictures: int) -> None:
        starter = load_starter()
        chosen = np.argsort(starter.vocabulary.idf, kind="stable")[:words]
        link = starter.calibration().link
        self.link = Link(link.intercepts[chosen], link.slopes[chosen])
        self.values = vectors @ starter.weights[chosen].T
        self._near, distances = _nearest(self.values)
        self._factor = 1.0
        self._factor = float(np.median(distances)) / self._drawn_distance(pictures)
        say(f"nearest neighbours are {np.median(distances):.3f} apart, in {words} words")

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """The values of so many pictures."""
        rows = np.empty((count, self.values.shape[1]), np.float32)
        for first in range(0, count, _CHUNK):
            some = rng.integers(len(self.values), size=min(_CHUNK, count - first))
            rows[first : first + len(some)] = self._moved(some, rng)
        return rows

    def index(self, folder: Path, pictures: int | None) -> Index:
        """The index of drawn pictures, or of the photographs themselves; kept ones are opened."""
        width, file = self.values.shape[1], folder / "values.npy"
        if not file.exists():
            index = Index.create(folder, words=width)
            count = pictures or len(self.values)
            kept = np.lib.format.open_memmap(file, "w+", np.float32, (count, width))
            recomputed = Recomputed(np.zeros(width), self._linked)
            while len(index) < count:
                some = slice(len(index), min(count, len(index) + index.segment_size))
                rng = np.random.default_rng(some.start)
                drawn = self.draw(some.stop - some.start, rng) if pictures else self.values
                kept[some] = drawn
                index.append(drawn, recomputed=recomputed)
                say(f"stored {len(index):,} of {count:,} pictures")
        values = np.load(file, mmap_mode="r")

        def exact(words: Integers, ids: Integers) -> Floats:
            odds = self.link.odds(words, values[ids][:, words])
            return log_logistic(odds).astype(np.float32)

        return Index.open(folder, exact=exact)

    def _linked(self, words: slice, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        odds = self.link.intercepts[words, None] + self.link.slopes[words, None] * numbers
        return np.asarray(log_logistic(odds), np.float64)

    def _moved(self, chosen: Integers, rng: np.random.Generator) -> Floats:
        own = self.values[chosen]
        moved = own.copy()
        for near in self._near[chosen].T:
            steps = rng.standard_normal((len(chosen), 1), np.float32) * np.float32(self._factor)
            moved += steps * (self.values[near] - own)
        return moved

    def _drawn_distance(self, pictures: int) -> float:
        """To the nearest of those drawn from the same photograph: nobody else is nearer."""
        rng = np.random.default_rng(0)
        each = max(2, pictures // len(self.values))
        families = rng.choice(len(self.values), min(_SAMPLED, len(self.values)), replace=False)
        drawn = [_nearest(self._moved(np.full(each, one), rng))[1] for one in families.tolist()]
        return float(np.median(np.concatenate(drawn)))


def _nearest(values: Floats) -> tuple[Integers, Floats]:
    """The nearest others of every row, and the distance to the nearest."""
    squares = np.einsum("ij,ij->i", values, values)
    count = min(NEAR, len(values) - 1)
    near = np.empty((len(values), count), np.int64)
    distances = np.empty(len(values), np.float32)
    for first in range(0, len(values), _ROWS):
        some = slice(first, min(first + _ROWS, len(values)))
        apart = squares[some, None] + squares - 2 * (values[some] @ values.T)
        own = np.arange(some.start, some.stop)
        apart[own - first, own] = np.inf
        near[some] = np.argpartition(apart, count - 1, axis=1)[:, :count]
        distances[some] = np.sqrt(np.maximum(apart.min(axis=1), 0))
    return near, distances
