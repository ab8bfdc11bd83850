"""Rankers: each ranks pictures for a query by its triple of text space, model and index.

The text space makes a vector of the query, the model has brought every picture there, and the
index holds the pictures' rows: a score is the inner product of the two.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from visterm.calibration import Calibration, judged_shift
from visterm.collection.feedback.log import columns
from visterm.collection.search.evidence import Floats, Ids, Parts, Term
from visterm.collection.search.evidence_ranking import EvidenceRanking
from visterm.collection.search.query_terms import Calibrated, calibration_of, query_terms
from visterm.collection.search.request import PartialAnswer, ScoreParts
from visterm.collection.search.unseen_words import UnseenCalibration, with_unseen
from visterm.collection.store.active_model import ActiveModel, ActiveSpace, frame_rows
from visterm.collection.store.caption_words import Postings, completeness
from visterm.collection.store.catalogue import Catalogue
from visterm.errors import BadInput
from visterm.text.query import MORE_WORDS, Query, UnknownWords

Scores = NDArray[np.float32] | NDArray[np.float64]
Ranked = tuple[NDArray[np.int64], Scores]
"""Ids and scores, best first; equal scores by smaller id."""


class Ranker(ABC):
    """Ranks pictures for one query; its scores are not calibrated unless it says so."""

    is_calibrated = False
    partial: PartialAnswer | None = None
    """How much was searched up to now, where that is not everything."""
    unsure: tuple[str, ...] = ()
    """Replaced words for which the known ones are a guess."""

    def __init__(self) -> None:
        self.unknown: dict[str, list[str]] = {}
        self.replaced: dict[str, list[str]] = {}

    @abstractmethod
    def best(self, k: int, allow: NDArray[np.bool_] | None) -> Ranked:
        """The ``k`` best of the pictures that filters ``allow``, or of all."""

    @abstractmethod
    def scores(self, pictures: NDArray[np.int64]) -> Scores:
        """The scores of these pictures."""

    def rows(self, pictures: Sequence[int]) -> list[int]:
        """The row that stands for each picture: of a video, its best frame."""
        return list(pictures)

    def parts(self, pictures: Sequence[int]) -> list[ScoreParts | None]:
        """What sight and captions add to their scores; None where only one of them counts."""
        return [None] * len(pictures)

    def probabilities(self, scores: Scores) -> list[float | None]:
        """How likely pictures with these scores answer; None where that is not known."""
        return [None] * len(scores)

    def learn(self, judged: Mapping[int, bool], steps: Mapping[int, float]) -> None:
        """Let answers to this very query correct its probabilities: yes or no by picture, and how
        much each counts."""
        return

    def count(self, least: float, among: NDArray[np.int64] | None) -> int:
        """How many pictures, of some or of all, have such a score or a higher one."""
        raise NotImplementedError("the scores of this ranker are not calibrated")

    # Where good matches end, for rankers whose scores are calibrated.

    def threshold(self, highest: float) -> float:
        """The score from which a match is good, given the highest of all."""
        raise NotImplementedError("the scores of this ranker are not calibrated")

    def known_cutoff(self, under: Hashable = None) -> tuple[int, float] | None:
        """How many good matches the same query had ``under`` some filters, and the highest score
        of all pictures, if it is remembered."""
        return None

    def keep_cutoff(self, count: int, highest: float, under: Hashable = None) -> None:
        """Remember how many good matches there are."""
        return


class CalibratedRanker(Ranker):
    """Words with weights, whose scores are worth what a calibration says, if there is one.

    ``numbers`` are the words that the vocabulary knows; ``weights`` are theirs, and after them
    those of other words. ``key`` begins with the index's version, and is the same for queries that
    have the same answers.
    """

    active: ActiveModel
    numbers: NDArray[np.int64]
    weights: NDArray[np.float32]
    calibration: Calibrated | None
    key: tuple[Hashable, ...]

    @property
    def is_calibrated(self) -> bool:  # type: ignore[override]
        return self.calibration is not None

    def probabilities(self, scores: Scores) -> list[float | None]:
        if self.calibration is None:
            return super().probabilities(scores)
        found = self.calibration.probabilities(self.numbers, self.weights, scores)
        return [float(one) for one in found]

    def threshold(self, highest: float) -> float:
        assert self.calibration is not None
        return self.calibration.cutoff(self.numbers, self.weights, highest)

    def known_cutoff(self, under: Hashable = None) -> tuple[int, float] | None:
        return self.active.cutoffs.get((self.key, under))

    def keep_cutoff(self, count: int, highest: float, under: Hashable = None) -> None:
        if self.active.index.version == self.key[0]:  # nobody has changed the index meanwhile
            self.active.cutoffs.keep((self.key, under), count, highest)


class RanksTerms(Protocol):
    """What ranks pictures by terms, wherever their index lies; as `EvidenceRanking`."""

    def best(self, k: int, allow: NDArray[np.bool_] | None = None) -> tuple[Ids, Floats]: ...

    def parts(self, pictures: Ids) -> Parts: ...

    def count(self, least: float, among: Ids | None = None) -> int: ...


class WordRanker(CalibratedRanker):
    """Words with weights, ranked by what is seen, what clicks added to it, and what is written."""

    def __init__(self, catalogue: Catalogue, active: ActiveModel, query: Query) -> None:
        postings = active.postings.read(catalogue.db)
        offsets = columns(catalogue) if query.words else {}
        found = query_terms(query, active, postings, offsets)
        self.unknown, self.replaced = found.unknown, found.replaced
        self.unsure = found.unsure
        if query.words and not found.terms:
            raise UnknownWords(only_unknown(self.unknown), self.unknown)
        self.active = active
        complete = completeness(catalogue.db)
        terms, frames = found.terms, frame_rows(catalogue)
        if frames:  # what is written of a video is written of its frames
            terms = [term.with_lists([*map(frames.rows, term.lists)]) for term in terms]
            postings = replace(postings, lengths=frames.spread(postings.lengths))
        self.evidence: RanksTerms
        if found.encoded:
            sight = with_unseen(catalogue, active, found.encoded)
            self.evidence = EvidenceRanking(sight, terms, postings.lengths, complete)
        else:
            self.evidence = self._evidence(terms, postings, complete)
        self.words = [term.word for term in found.terms]
        self.numbers = found.numbers
        self.weights = np.array([term.weight for term in found.terms], np.float32)
        self.calibration = calibration_of(active, found)
        asked = tuple(
            (term.word, term.weight, term.columns, tuple(one.certainty for one in term.names))
            for term in found.terms
        )
        self.key = (
            active.index.version,
            postings.version,
            complete.tobytes(),
            asked,
        )

    def _evidence(self, terms: Sequence[Term], postings: Postings, complete: Floats) -> RanksTerms:
        return EvidenceRanking(self.active.index, terms, postings.lengths, complete)

    def learn(self, judged: Mapping[int, bool], steps: Mapping[int, float]) -> None:
        known = self.calibration
        if not isinstance(known, Calibration | UnseenCalibration):
            return  # nothing is known, or captions settle it
        pictures = np.array(sorted(one for one, step in steps.items() if step > 0), np.int64)
        pictures = pictures[self.active.index.holds(pictures)]
        odds = known.odds(self.numbers, self.weights, self.scores(pictures))
        said = np.array([(judged[one], steps[one]) for one in pictures.tolist()]).reshape(-1, 2)
        there = np.isfinite(odds)  # a shard may be away
        shift = judged_shift(odds[there], said[there, 0], said[there, 1])
        self.calibration = known.shifted(shift)
        self.key = (*self.key, shift)

    def best(self, k: int, allow: NDArray[np.bool_] | None) -> Ranked:
        return self.evidence.best(k, allow)

    def count(self, least: float, among: NDArray[np.int64] | None) -> int:
        return self.evidence.count(least, among)

    def scores(self, pictures: NDArray[np.int64]) -> Scores:
        return self.evidence.parts(pictures).scores

    def parts(self, pictures: Sequence[int]) -> list[ScoreParts | None]:
        return score_parts(self.evidence.parts(np.array(pictures, np.int64)), self.words)


def score_parts(found: Parts, words: Sequence[str]) -> list[ScoreParts | None]:
    """Parts of scores as every front end shows them, for the words of the terms."""
    named = np.array(words, object)
    rows = zip(found.sight, found.caption, found.name, found.held, found.named, strict=True)
    return [
        ScoreParts(
            float(sight),
            float(caption),
            tuple(named[held]),
            float(name),
            *(tuple(named[said]) for said in by_source.T),
        )
        for sight, caption, name, held, by_source in rows
    ]


def word_ranker(catalogue: Catalogue, active: ActiveModel, query: Query) -> CalibratedRanker:
    """The ranker of words; one without captions for versions whose index holds no probabilities."""
    if active.link is not None:
        return WordRanker(catalogue, active, query)
    from visterm.collection.search.linear_ranker import LinearRanker

    return LinearRanker(catalogue, active, query)


class RanksRows(Protocol):
    """What ranks pictures by their rows, wherever these lie; as an index."""

    def search(
        self, query: Any, k: int, *, allow: NDArray[Any] | None = None
    ) -> tuple[Ids, NDArray[np.float32]]: ...


class SentenceRanker(Ranker):
    """A sentence, ranked by the rows of pictures in its text space."""

    def __init__(self, active: ActiveSpace, sentence: str) -> None:
        super().__init__()
        vector = np.asarray(active.space.queries([sentence]))
        if not vector.any():
            raise BadInput(f"no caption has any word of {sentence!r}; try --space sentences")
        self._active = active
        self.index: RanksRows = active.index
        self.row = active.model.text_rows(vector)[0]

    def best(self, k: int, allow: NDArray[np.bool_] | None) -> Ranked:
        return self.index.search(self.row, k, allow=allow)

    def scores(self, pictures: NDArray[np.int64]) -> NDArray[np.float32]:
        return np.asarray(self._active.index.rows(pictures) @ self.row, np.float32)


def only_unknown(unknown: dict[str, list[str]]) -> str:
    named = "; ".join(
        f"{word!r}" + (f" (close to {', '.join(close)})" if close else "")
        for word, close in unknown.items()
    )
    return f"no caption has the words asked for: {named}; {MORE_WORDS}"
