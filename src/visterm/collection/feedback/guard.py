"""A limit to what clicks may cost: AvgP on held-out captioned pictures, measured at every step.

The model without them ranks them for each word that a click is about, with what clicks have added
and without; where clicks would cost more AvgP than `MOST_HARM`, the step is halved until they do
not. The model that answers learnt from these pictures too, and would be too sure of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.feature_rows import Rows
from visterm.collection.store.snapshot import shared_state
from visterm.collection.store.versions import HELD, JUDGED, Version
from visterm.text.query import QueryVector

MOST = 1000
"""Held-out pictures that watch."""
Asked = list[tuple[NDArray[np.float64], NDArray[np.bool_]]]
"""A query and each of its words alone, as weights, with the pictures that answer."""


@dataclass(frozen=True, eq=False)
class HeldOutGuard:
    """Held-out pictures: their vectors, their captions' words, and how they are ranked."""

    vectors: NDArray[np.float64]
    words: tuple[frozenset[int], ...]
    rows: NDArray[np.float32]
    """In the text space, as the model that did not learn from them sees them."""

    def allowed(
        self, query: QueryVector, fitted: Callable[[float], Mapping[int, NDArray[np.float64]]]
    ) -> float:
        """How much a click may count, so that it costs its words no more than may be.

        ``fitted`` gives the words' directions where it counts so much.
        """
        from visterm.models.feedback import bounded

        asked = self._asked(query)
        if not asked:
            return 1.0  # nobody who watches knows these words
        before = self._avgp(query, asked, {})
        return bounded(lambda part: before - self._avgp(query, asked, fitted(part)))

    def avgp(
        self, query: QueryVector, directions: Mapping[int, NDArray[np.float64]]
    ) -> float | None:
        """AvgP of a query and its words, with what clicks add to them; None where nobody knows."""
        asked = self._asked(query)
        return self._avgp(query, asked, directions) if asked else None

    def _avgp(
        self, query: QueryVector, asked: Asked, directions: Mapping[int, NDArray[np.float64]]
    ) -> float:
        values = np.zeros((len(self.rows), len(query.numbers)))
        known = query.numbers < self.rows.shape[1]  # of words that a yes began nothing is known
        values[:, known] = self.rows[:, query.numbers[known]]
        for place, word in enumerate(query.numbers.tolist()):
            if word in directions:
                values[:, place] += self.vectors @ directions[word]
        return float(np.mean([_precision(values @ weights, held) for weights, held in asked]))

    def _asked(self, query: QueryVector) -> Asked:
        numbers = query.numbers.tolist()
        wanted = [place for place, weight in enumerate(query.weights) if weight > 0]
        asked: Asked = []
        for places in [*([place] for place in wanted), *([wanted] if len(wanted) > 1 else [])]:
            held = np.array([all(numbers[p] in words for p in places) for words in self.words])
            if held.any():
                weights = np.zeros(len(numbers))
                weights[places] = query.weights[places]
                asked.append((weights, held))
        return asked


def guard_of(catalogue: Catalogue, version: Version) -> HeldOutGuard | None:
    """The guard of a version; None where nobody was held out when it was trained."""
    if HELD not in version.files or JUDGED not in version.files:
        return None
    trained = (version.id, version.time)
    return shared_state(catalogue).part("guard", trained, lambda: _opened(catalogue, version))


def _opened(catalogue: Catalogue, version: Version) -> HeldOutGuard | None:
    from visterm.models import load_model

    stored = json.loads((version.folder / HELD).read_bytes())
    vectors_of = Rows(catalogue, version.extractor).of(stored["pictures"])
    kept = [
        (vectors_of[picture], frozenset(words))
        for picture, words in zip(stored["pictures"], stored["words"], strict=True)
        if picture in vectors_of
    ]
    if not kept:
        return None
    vectors = np.stack([vector for vector, _ in kept])
    rows = load_model(version.folder / JUDGED).transform(vectors)
    wide = vectors.astype(np.float64)  # as directions are: each product would widen them anew
    return HeldOutGuard(wide, tuple(words for _, words in kept), rows)


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


def _precision(scores: NDArray[np.float64], held: NDArray[np.bool_]) -> float:
    """AvgP of one query."""
    ranked = held[np.argsort(-scores, kind="stable")]
    places = np.flatnonzero(ranked) + 1
    return float(np.mean(np.arange(1, len(places) + 1) / places))
