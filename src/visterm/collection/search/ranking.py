"""A request's ranking: the scores of all rows, where good matches end, and who is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from visterm.calibration import GOOD, POSSIBLE, Calibration, judged_shift
from visterm.collection.feedback.log import Judgement
from visterm.collection.search.encoded_words import EncodedCalibration
from visterm.collection.search.evidence import Evidence
from visterm.collection.search.query_terms import Calibrated, QueryTerms
from visterm.collection.search.request import PartialAnswer, ScoreParts
from visterm.collection.search.row_scores import QueryRows, RowScores, VideoRows
from visterm.collection.store.feature_rows import DescribedPictures, FrameRows
from visterm.collection.store.snapshot import Snapshot

Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]
Floats = NDArray[np.float32]

_LONG_LIST = 1 << 12
"""Pictures that hold a word from which on it is remembered where their rows lie."""
_LISTS = 256


@dataclass(frozen=True, eq=False)
class RankedRows:
    """Rows of a ranking, best first: their numbers, scores, and what these consist of."""

    rows: Ids
    """Numbers of pictures, and of frames of videos."""
    scores: Floats
    parts: Sequence[ScoreParts] | None = None


class Scores(Protocol):
    """The scores of a query over all rows, wherever these lie."""

    @property
    def partial(self) -> PartialAnswer | None: ...

    def of(self, pictures: Ids) -> NDArray[np.float64]:
        """The scores of pictures; NaN for those that are not there."""
        ...

    def settle(self, allow: Mask | None, refused: Ids, leasts: Sequence[float]) -> None:
        """Apply filters, and let refused pictures come after those of the first of ``leasts``."""
        ...

    def count(self, leasts: Sequence[float]) -> list[int]:
        """How many rows reach each of some scores."""
        ...

    def best(self, k: int) -> RankedRows: ...

    def reaching(self, least: float) -> RankedRows: ...


class LocalScores:
    """The scores of all rows of a collection, on this machine: of words, or given ones.

    Words are added up when their scores are first asked for.
    """

    partial: PartialAnswer | None = None

    def __init__(
        self,
        pictures: DescribedPictures,
        frames: FrameRows,
        query: QueryRows | None,
        given: RowScores | None = None,
    ) -> None:
        self.pictures, self.frames, self.query = pictures, frames, query
        self._scores = given

    @property
    def scores(self) -> RowScores:
        if self._scores is None:
            assert self.query is not None
            self._scores = self.query.scored()
        return self._scores

    def of(self, pictures: Ids) -> NDArray[np.float64]:
        found = np.full(len(pictures), np.nan)
        for n, picture in enumerate(pictures.tolist()):
            positions = self.pictures.positions(self.frames.rows(np.array([picture])))
            if positions.size:
                found[n] = self.scores.scores(positions).max()
        return found

    def settle(self, allow: Mask | None, refused: Ids, leasts: Sequence[float]) -> None:
        if self._scores is None and self.query is not None:
            self._scores, allow = self.query.scored(allow, leasts), None
        if refused.size:
            refused = self.pictures.positions(self.frames.rows(refused))
        self.scores.settle(allow, refused, leasts[0] if leasts else None)

    def count(self, leasts: Sequence[float]) -> list[int]:
        return [self.scores.vector.count(least) for least in leasts]

    def best(self, k: int) -> RankedRows:
        positions = self.scores.best(k)
        parts = None if self.query is None else self.query.parts(positions)
        return RankedRows(self.pictures.ids[positions], self.scores.scores(positions), parts)

    def reaching(self, least: float) -> RankedRows:
        positions = self.scores.reaching(least)
        return RankedRows(self.pictures.ids[positions], self.scores.scores(positions))


def video_rows(now: Snapshot, pictures: DescribedPictures) -> VideoRows | None:
    """The rows of videos, video after video; None where there are no videos."""
    frames = now.frames
    if not frames:
        return None

    def make() -> VideoRows:
        rows = np.union1d(frames.frames, frames.videos)
        positions, known = pictures.located(rows)
        video = frames.pictures(rows[known])
        order = np.lexsort((pictures.ids[positions], video))
        starts = np.flatnonzero(np.diff(video[order], prepend=-1))
        return VideoRows(positions[order], starts)

    return now.remembered("video rows", make, "place_changes")


def held_positions(now: Snapshot, pictures: DescribedPictures) -> Callable[[Ids], Ids]:
    """What gives the rows of pictures, ascending; of long lists it is remembered."""
    known: dict[int, tuple[Ids, Ids]] = now.remembered(
        "positions of holders", dict, "caption_words", "place_changes", "names"
    )

    def positions(ids: Ids) -> Ids:
        if ids.size < _LONG_LIST:
            return pictures.positions(now.frames.rows(ids))
        found = known.get(id(ids))
        if found is None or found[0] is not ids:
            if len(known) >= _LISTS:
                known.clear()
            found = known[id(ids)] = ids, pictures.positions(now.frames.rows(ids))
        return found[1]

    return positions


def query_rows(now: Snapshot, pictures: DescribedPictures, terms: QueryTerms) -> QueryRows:
    """The words of a query over all rows."""
    complete, positions = now.completeness.tolist(), held_positions(now, pictures)
    return QueryRows(
        pictures.file,
        [Evidence.of(term, complete, positions) for term in terms.terms],
        now.columns,
        lengths=now.lengths(pictures),
        is_there=pictures.is_there,
        videos=video_rows(now, pictures),
    )


def word_scores(now: Snapshot, pictures: DescribedPictures, terms: QueryTerms) -> LocalScores:
    """The scores of words over all rows."""
    return LocalScores(pictures, now.frames, query_rows(now, pictures, terms))


@dataclass
class Ranking:
    """The scores of a request, with what they are worth and what people said of its pictures."""

    scores: Scores
    frames: FrameRows
    terms: QueryTerms | None = None
    calibration: Calibrated | None = None
    judged: Mapping[int, bool] = field(default_factory=dict)
    allow: Mask | None = None
    leasts: Sequence[float] = ()
    """The scores from which matches are good, and possible; none where that is not known."""
    cutoff: int | None = None
    """How many matches are good."""
    possible: int | None = None
    """How many are possible, after the good ones."""

    def learn(self, entries: Sequence[Judgement]) -> None:
        """Let answers to this very query correct its probabilities."""
        self.judged = {entry.picture: entry.relevant for entry in entries}
        known, terms = self.calibration, self.terms
        if terms is None or not isinstance(known, Calibration | EncodedCalibration):
            return  # nothing is known, or captions settle it
        counted = sorted(
            (entry for entry in entries if entry.weight > 0), key=lambda entry: entry.picture
        )
        scores = self.scores.of(np.array([entry.picture for entry in counted], np.int64))
        there = np.isfinite(scores)
        odds = known.odds(terms.numbers, terms.weights, scores[there])
        answers = np.array([(entry.relevant, entry.weight) for entry in counted]).reshape(-1, 2)
        self.calibration = known.shifted(judged_shift(odds, answers[there, 0], answers[there, 1]))
        self.leasts = least_scores(self.calibration, terms)

    def settle(self) -> None:
        """Apply filters and refusals, and count good and possible matches."""
        refused = [picture for picture, relevant in self.judged.items() if not relevant]
        self.scores.settle(self.allow, np.array(sorted(refused), np.int64), self.leasts)
        if self.leasts:
            self.cutoff, at_least_possible = self.scores.count(self.leasts)
            self.possible = at_least_possible - self.cutoff

    def probabilities(self, scores: Floats) -> list[float | None]:
        """How likely pictures with these scores answer; None where that is not known."""
        if self.calibration is None or self.terms is None:
            return [None] * len(scores)
        found = self.calibration.probabilities(self.terms.numbers, self.terms.weights, scores)
        return found.tolist()


def least_scores(calibration: Calibrated | None, terms: QueryTerms) -> tuple[float, ...]:
    """The scores from which matches of a query are good, and possible."""
    if calibration is None:
        return ()
    about = (terms.numbers, terms.weights)
    return tuple(calibration.least_score(*about, share) for share in (GOOD, POSSIBLE))
