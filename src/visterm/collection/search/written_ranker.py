"""Ranking by what is written alone, where no model has been trained yet and nothing is seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.collection.search.evidence import Ids, Parts
from visterm.collection.search.evidence_ranking import EvidenceRanking
from visterm.collection.search.query_terms import IndependentWords, written_terms
from visterm.collection.search.rankers import Ranked, Ranker, Scores, score_parts
from visterm.collection.search.request import ScoreParts
from visterm.collection.store.caption_words import CachedPostings, completeness
from visterm.collection.store.catalogue import Catalogue
from visterm.text.query import Query


@dataclass(frozen=True, eq=False)
class NoSight:
    """An index of no words: the pictures that are there, and nothing of what they show."""

    pictures: Ids

    def ids(self) -> Ids:
        return self.pictures

    def holds(self, ids: ArrayLike) -> NDArray[np.bool_]:
        return np.isin(ids, self.pictures)

    def values(self, words: ArrayLike, ids: ArrayLike) -> NDArray[np.float32]:
        return np.zeros((np.size(ids), np.size(words)), np.float32)

    def bounds(
        self, words: ArrayLike, ids: ArrayLike
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        return self.values(words, ids), self.values(words, ids)

    def search(self, query: Any, k: int, *, allow: Any = None) -> tuple[Ids, NDArray[np.float32]]:
        found = self.pictures if allow is None else self.pictures[allow[self.pictures]]
        return found[:k], np.zeros(min(k, found.size), np.float32)

    def count(self, query: Any, least: float, *, allow: Any = None) -> int:
        return self.candidates(query, least, allow=allow).size

    def candidates(self, query: Any, least: float, *, allow: Any = None) -> Ids:
        return self.search(query, self.pictures.size if least <= 0 else 0, allow=allow)[0]


class WrittenRanker(Ranker):
    """Words that captions and names hold; ``is_empty`` where they hold none of those asked for."""

    is_calibrated = True

    def __init__(self, catalogue: Catalogue, query: Query) -> None:
        super().__init__()
        postings = CachedPostings().read(catalogue.db)
        self.terms, unknown = written_terms(query, postings)
        self.unknown = {word: [] for word in unknown}
        there = catalogue.db.execute("SELECT id FROM pictures WHERE present > 0 ORDER BY id")
        sight = NoSight(np.fromiter((number for (number,) in there), np.int64))
        self._evidence = EvidenceRanking(
            sight, self.terms, postings.lengths, completeness(catalogue.db)
        )
        self._weights = [term.weight for term in self.terms]

    @property
    def is_empty(self) -> bool:
        return not any(weight > 0 for weight in self._weights)

    def best(self, k: int, allow: NDArray[np.bool_] | None) -> Ranked:
        return self._evidence.best(k, allow)

    def count(self, least: float, among: Ids | None) -> int:
        return self._evidence.count(least, among)

    def scores(self, pictures: Ids) -> Scores:
        return self._parts(pictures).scores

    def parts(self, pictures: Sequence[int]) -> list[ScoreParts | None]:
        words = [term.word for term in self.terms]
        return score_parts(self._parts(np.array(pictures, np.int64)), words)

    def _parts(self, pictures: Ids) -> Parts:
        return self._evidence.parts(pictures)

    def probabilities(self, scores: Scores) -> list[float | None]:
        return IndependentWords().probabilities([], self._weights, scores).tolist()

    def threshold(self, highest: float) -> float:
        return IndependentWords().cutoff([], self._weights, highest)
