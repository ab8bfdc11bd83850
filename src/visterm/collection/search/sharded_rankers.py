"""Rankers whose index is dealt out to shards: the same answers, or parts of them that say so."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

from visterm.collection.search.evidence import Floats, Term
from visterm.collection.search.rankers import RanksTerms, SentenceRanker, WordRanker
from visterm.collection.search.request import PartialAnswer, ScoreParts
from visterm.collection.search.sharded import ShardedEvidence, ShardedIndex
from visterm.collection.store.active_model import ActiveModel, ActiveSpace
from visterm.collection.store.caption_words import Postings
from visterm.collection.store.catalogue import Catalogue
from visterm.compute import Replicas
from visterm.text.query import Query


class ShardedWordRanker(WordRanker):
    """Words with weights, ranked by all shards."""

    def __init__(
        self, catalogue: Catalogue, active: ActiveModel, query: Query, replicas: Replicas
    ) -> None:
        self._index = ShardedIndex(replicas, active, catalogue)
        super().__init__(catalogue, active, query)

    def _evidence(self, terms: Sequence[Term], postings: Postings, complete: Floats) -> RanksTerms:
        return ShardedEvidence(self._index, terms, postings, complete)

    @property
    def partial(self) -> PartialAnswer | None:  # type: ignore[override]
        return self._index.partial

    def parts(self, pictures: Sequence[int]) -> list[ScoreParts | None]:
        found = super().parts(pictures)
        return [None if one is None or math.isnan(one.sight) else one for one in found]

    def keep_cutoff(self, count: int, highest: float, under: Hashable = None) -> None:
        if self._index.version == self.key[0]:
            super().keep_cutoff(count, highest, under)


class ShardedSentenceRanker(SentenceRanker):
    """A sentence, ranked by all shards."""

    def __init__(
        self, catalogue: Catalogue, active: ActiveSpace, sentence: str, replicas: Replicas
    ) -> None:
        super().__init__(active, sentence)
        self._index = self.index = ShardedIndex(replicas, active, catalogue)

    @property
    def partial(self) -> PartialAnswer | None:  # type: ignore[override]
        return self._index.partial
