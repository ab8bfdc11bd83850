"""Ranking by words for versions made before scores were log-probabilities: sight alone, linear.

Their index holds a model's values as they are, until the next writer builds it anew.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from visterm.collection.feedback.log import columns, with_clicks
from visterm.collection.search.rankers import CalibratedRanker, Ranked, only_unknown
from visterm.collection.store.active_model import ActiveModel
from visterm.collection.store.catalogue import Catalogue
from visterm.index.score import scores as index_scores
from visterm.text.meaning import meanings
from visterm.text.query import Query, UnknownWords, closest_words, query_vector


class LinearRanker(CalibratedRanker):
    """Words with weights, ranked by the index of words and by what clicks added to it."""

    def __init__(self, catalogue: Catalogue, active: ActiveModel, query: Query) -> None:
        self.active = active
        vocabulary = active.vocabulary
        vector = query_vector(query, vocabulary, meanings).by_idf(vocabulary.idf)
        self.numbers, self.weights = vector.numbers, vector.weights
        self.replaced = vector.replaced
        self.unknown = {word: closest_words(word, vocabulary.words) for word in vector.unknown}
        if query.words and not self.numbers.size:
            raise UnknownWords(only_unknown(self.unknown), self.unknown)
        # Of words that a yes began no held-out picture says what a score is worth.
        is_new = (self.numbers >= active.version.words).any()
        is_known = active.calibration is not None and active.calibration.is_known
        can_tell = is_known and self.numbers.size and not is_new
        self.calibration = active.calibration if can_tell else None
        learnt = columns(catalogue) if self.numbers.size else {}
        self.asked = with_clicks(vector, learnt, active.version.words, active.index.words)
        self.key = (active.index.version, *(part.tobytes() for part in self.asked))

    def best(self, k: int, allow: NDArray[np.bool_] | None) -> Ranked:
        return self.active.index.search(self.asked, k, allow=allow)

    def count(self, least: float, among: NDArray[np.int64] | None) -> int:
        index = self.active.index
        scores = index.search(self.asked, len(index), allow=among)[1]
        return int((scores >= least).sum())

    def scores(self, pictures: NDArray[np.int64]) -> NDArray[np.float32]:
        words, weights = self.asked
        values = self.active.index.values(words, pictures)
        return index_scores(weights, values.T, len(pictures))
