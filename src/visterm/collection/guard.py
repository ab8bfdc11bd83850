"""A guard against wild clicks: captioned pictures that no model learnt from watch over the words.

They rank for each word that a click is about as the trained model has it, and as the clicks would;
where clicks would cost more AvgP than `MOST_HARM`, the step is halved until they do not.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.collection.catalogue import Catalogue
from visterm.collection.rows import Rows
from visterm.collection.versions import HELD, Version
from visterm.index import Index
from visterm.text.query import QueryVector

MOST = 1000
"""Held-out pictures that watch."""


@dataclass(frozen=True, eq=False)
class Guard:
    """Held-out pictures: their vectors, their captions' words, and the index that knows them."""

    pictures: NDArray[np.int64]
    vectors: NDArray[np.float32]
    words: tuple[frozenset[int], ...]
    index: Index

    def allowed(
        self,
        query: QueryVector,
        directions: Sequence[NDArray[np.float64] | None],
        moved: NDArray[np.float64],
    ) -> float:
        """The part of a move of a query's weights that costs its words no more than may be."""
        from visterm.models.clicks import bounded

        trained = self.index.values(query.numbers, self.pictures).astype(np.float64)
        weights = query.weights.astype(np.float64)
        now = trained.copy()
        for place, direction in enumerate(directions):
            if direction is not None:
                now[:, place] += self.vectors @ direction
        step = self.vectors @ moved
        asked = self._asked(query)
        before = _avgp(trained, asked)

        def harm(part: float) -> float:
            return before - _avgp(now + part * np.outer(step, weights), asked)

        return bounded(harm) if asked else 1.0

    def _asked(self, query: QueryVector) -> list[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
        """The query and each of its words alone, as weights, with the pictures that answer."""
        numbers = query.numbers.tolist()
        wanted = [place for place, weight in enumerate(query.weights) if weight > 0]
        asked = []
        for places in [*([place] for place in wanted), *([wanted] if len(wanted) > 1 else [])]:
            held = np.array([all(numbers[p] in words for p in places) for words in self.words])
            if held.any():
                weights = np.zeros(len(numbers))
                weights[places] = query.weights[places]
                asked.append((weights, held))
        return asked


def guard_of(catalogue: Catalogue, version: Version, index: Index) -> Guard | None:
    """The guard of a version; None where nobody was held out when it was trained."""
    if HELD not in version.files:
        return None
    stored = json.loads((version.folder / HELD).read_bytes())
    pictures, words = stored["pictures"], stored["words"]
    vectors = Rows(catalogue, version.extractor).of(pictures)
    here = index.holds(pictures)
    kept = [n for n, one in enumerate(pictures) if here[n] and one in vectors]
    if not kept:
        return None
    return Guard(
        np.array([pictures[n] for n in kept]),
        np.stack([vectors[pictures[n]] for n in kept]),
        tuple(frozenset(words[n]) for n in kept),
        index,
    )


def to_json(pictures: Sequence[int], captions: Any) -> bytes:
    """What a version keeps of its held-out pictures: their numbers and their words'."""
    some = range(min(len(pictures), MOST))
    edges = captions.indptr
    return json.dumps(
        {
            "pictures": [int(pictures[n]) for n in some],
            "words": [captions.indices[edges[n] : edges[n + 1]].tolist() for n in some],
        }
    ).encode()


def _avgp(
    values: NDArray[np.float64], asked: Sequence[tuple[NDArray[np.float64], NDArray[np.bool_]]]
) -> float:
    return float(np.mean([_precision(values @ weights, held) for weights, held in asked]))


def _precision(scores: NDArray[np.float64], held: NDArray[np.bool_]) -> float:
    """AvgP of one query."""
    ranked = held[np.argsort(-scores, kind="stable")]
    places = np.flatnonzero(ranked) + 1
    return float(np.mean(np.arange(1, len(places) + 1) / places))
