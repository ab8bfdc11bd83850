"""Rankers: each ranks pictures for a query by its triple of text space, model and index.

The text space makes a vector of the query, the model has brought every picture there, and the
index holds the pictures' rows: a score is the inner product of the two.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from visterm.collection.feedback.log import columns, with_clicks
from visterm.collection.store.active_model import ActiveModel, ActiveSpace
from visterm.collection.store.catalogue import Catalogue
from visterm.errors import BadInput
from visterm.index.score import scores as index_scores
from visterm.text.meaning import meanings
from visterm.text.query import Query, UnknownWords, closest_words, query_vector

Ranked = tuple[NDArray[np.int64], NDArray[np.float32]]
"""Ids and scores, best first; equal scores by smaller id."""


class Ranker(ABC):
    """Ranks pictures for one query; its scores are not calibrated unless it says so."""

    is_calibrated = False

    def __init__(self) -> None:
        self.unknown: dict[str, list[str]] = {}
        self.replaced: dict[str, list[str]] = {}

    @abstractmethod
    def best(self, k: int, allow: NDArray[np.int64] | None) -> Ranked:
        """The ``k`` best of the pictures that filters ``allow``, or of all."""

    @abstractmethod
    def scores(self, pictures: NDArray[np.int64]) -> NDArray[np.float32]:
        """The scores of these pictures."""

    def probabilities(self, scores: NDArray[np.float32]) -> list[float | None]:
        """How likely pictures with these scores answer; None where that is not known."""
        return [None] * len(scores)

    # Where good matches end, for rankers whose scores are calibrated.

    def threshold(self, highest: float) -> float:
        """The score from which a match is good, given the highest of all."""
        raise NotImplementedError("the scores of this ranker are not calibrated")

    def known_cutoff(self) -> int | None:
        """How many good matches the same query had before, if that is remembered."""
        return None

    def keep_cutoff(self, count: int) -> None:
        """Remember how many good matches there are, if that is known."""
        return


class WordRanker(Ranker):
    """Words with weights, ranked by the index of words and by what clicks added to it."""

    def __init__(self, catalogue: Catalogue, active: ActiveModel, query: Query) -> None:
        self.active = active
        vocabulary = active.vocabulary
        vector = query_vector(query, vocabulary, meanings)
        self.vector = vector.by_idf(vocabulary.idf) if active.link is None else vector
        self.replaced = self.vector.replaced
        self.unknown = {word: closest_words(word, vocabulary.words) for word in self.vector.unknown}
        if query.words and not self.vector.numbers.size:
            raise UnknownWords(_only_unknown(self.unknown), self.unknown)
        # Of words that a yes began no held-out picture says what a score is worth.
        is_new = (self.vector.numbers >= active.version.words).any()
        is_known = active.calibration is not None and active.calibration.is_known
        can_tell = is_known and self.vector.numbers.size and not is_new
        self.calibration = active.calibration if can_tell else None
        self.is_calibrated = self.calibration is not None
        learnt = columns(catalogue) if self.vector.numbers.size else {}
        self.words, self.weights = with_clicks(
            self.vector, learnt, active.version.words, active.index.words
        )
        self._key = (active.index.version, self.words.tobytes(), self.weights.tobytes())

    def best(self, k: int, allow: NDArray[np.int64] | None) -> Ranked:
        return self.active.index.search((self.words, self.weights), k, allow=allow)

    def scores(self, pictures: NDArray[np.int64]) -> NDArray[np.float32]:
        values = self.active.index.values(self.words, pictures)
        return index_scores(self.weights, values.T, len(pictures))

    def probabilities(self, scores: NDArray[np.float32]) -> list[float | None]:
        if self.calibration is None:
            return super().probabilities(scores)
        found = self.calibration.probabilities(self.vector.numbers, self.vector.weights, scores)
        return [float(one) for one in found]

    def threshold(self, highest: float) -> float:
        assert self.calibration is not None
        return self.calibration.cutoff(self.vector.numbers, self.vector.weights, highest)

    def known_cutoff(self) -> int | None:
        return self.active.cutoffs.get(self._key)

    def keep_cutoff(self, count: int) -> None:
        if self.active.index.version == self._key[0]:  # nobody has changed the index meanwhile
            self.active.cutoffs.keep(self._key, count)


class SentenceRanker(Ranker):
    """A sentence, ranked by the rows of pictures in its text space."""

    def __init__(self, active: ActiveSpace, sentence: str) -> None:
        super().__init__()
        vector = np.asarray(active.space.queries([sentence]))
        if not vector.any():
            raise BadInput(f"no caption has any word of {sentence!r}; try --space sentences")
        self.index = active.index
        self.row = active.model.text_rows(vector)[0]

    def best(self, k: int, allow: NDArray[np.int64] | None) -> Ranked:
        return self.index.search(self.row, k, allow=allow)

    def scores(self, pictures: NDArray[np.int64]) -> NDArray[np.float32]:
        return np.asarray(self.index.rows(pictures) @ self.row, np.float32)


def _only_unknown(unknown: dict[str, list[str]]) -> str:
    named = "; ".join(
        f"{word!r}" + (f" (close to {', '.join(close)})" if close else "")
        for word, close in unknown.items()
    )
    return f"no caption has the words asked for: {named}"
