"""A request's ranking: the scores of all rows, where good matches end, and who is refused.

The rows of a collection on one machine are one shard. On a cluster every shard computes the same of
its own rows, and the best of all are among the best of each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from visterm.calibration.calibration import GOOD, POSSIBLE, Calibration
from visterm.collection.search.evidence import Evidence, score_parts
from visterm.collection.search.query_terms import Calibrated, QueryTerms
from visterm.collection.search.request import PartialAnswer, ScoreParts
from visterm.collection.store.events import Judgement
from visterm.collection.store.feature_rows import DescribedPictures, FrameRows
from visterm.collection.store.snapshot import Snapshot
from visterm.index.columns import ColumnCache
from visterm.index.feature_file import FeatureFile
from visterm.index.scan import Scan, ScoreVector
from visterm.quick_dataclass import dataclass

Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]
Floats = NDArray[np.float32]

_LONG_LIST = 1 << 12
"""Pictures that hold a word from which on it is remembered where their rows lie."""
_LISTS = 256


@dataclass(frozen=True, eq=False)
class VideoRows:
    """Rows of videos, video after video: of each, only the best row is found."""

    positions: Ids = field(default_factory=lambda: np.empty(0, np.int64))
    starts: Ids = field(default_factory=lambda: np.empty(0, np.int64))
    """Where the rows of each video begin among these."""

    def between(self, start: int, stop: int) -> VideoRows:
        """Those of the videos that lie between two positions, counted from the first."""
        inside = (self.positions >= start) & (self.positions < stop)
        group = np.repeat(np.arange(self.starts.size), np.diff([*self.starts, self.positions.size]))
        kept = group[inside]
        starts = np.flatnonzero(np.diff(kept, prepend=-1)) if kept.size else self.starts[:0]
        return VideoRows(self.positions[inside] - start, starts)

    def worse_rows(self, scores: Floats) -> Ids:
        """The rows that are not the best of their video; of equal ones the first is."""
        if not self.positions.size:
            return self.positions
        values = scores[self.positions]
        counts = np.diff([*self.starts, values.size])
        best = np.repeat(np.maximum.reduceat(values, self.starts), counts)
        is_best = values == best
        first = np.repeat(np.cumsum(is_best)[self.starts] - is_best[self.starts], counts)
        return self.positions[~(is_best & (np.cumsum(is_best) - first == 1))]


class RowScores:
    """The scores of rows, as far as they are asked for; rows that may not be found have none."""

    def __init__(
        self, rows: FeatureFile, vector: ScoreVector, videos: VideoRows | None = None
    ) -> None:
        self.rows, self.vector = rows, vector
        if videos is not None:
            vector.change(videos.worse_rows(vector.scores), -np.inf)
        self._lowered: dict[int, float] = {}

    def scores(self, positions: Ids) -> Floats:
        """The scores of rows, however they were lowered since."""
        scores = self.vector.scores[positions]
        if self._lowered:
            for n, position in enumerate(positions.tolist()):
                scores[n] = self._lowered.get(position, scores[n])
        return scores

    def settle(self, allow: Mask | None, refused: Ids, least: float | None) -> None:
        """Let nothing but what filters allow be found, and refused rows come right after the good
        matches, which have the score ``least`` or more."""
        if allow is not None:
            self.vector.change(~allow, -np.inf)
        if least is None or not refused.size:
            return
        scores = self.vector.scores[refused]
        good = refused[scores >= least]
        if good.size:
            good = good[np.lexsort((self.rows.ids[good], -self.vector.scores[good]))]
            self._lowered = dict(zip(good.tolist(), self.vector.scores[good].tolist(), strict=True))
            below, value = np.empty(good.size, np.float32), np.float32(least)
            if value >= least:
                value = np.nextafter(value, np.float32(-np.inf))
            for n in range(good.size):
                below[n] = value
                value = np.nextafter(value, np.float32(-np.inf))
            self.vector.change(good, below)

    def reaching(self, least: float) -> Ids:
        """The rows of this score or a higher one, best first."""
        positions = self.vector.reaching(least)
        order = np.lexsort((self.rows.ids[positions], -self.vector.scores[positions]))
        return positions[order]

    def best(self, k: int) -> Ids:
        """The ``k`` best rows, best first; equal scores by smaller id."""
        return self.vector.best(k, self.rows.ids)


class QueryRows:
    """The words of a query over the rows of a shard, ready to be scored as often as it is asked.

    ``is_there`` says which rows may be found, None for all.
    """

    def __init__(
        self,
        rows: FeatureFile,
        evidence: Sequence[Evidence],
        columns: ColumnCache,
        *,
        lengths: NDArray[np.uint8] | None,
        is_there: Mask | None,
        videos: VideoRows | None,
    ) -> None:
        seen = [one.term.weights for one in evidence if one.term.weights is not None]
        made = iter(columns.columns(rows, seen))
        terms = [
            one.scan_term(None if one.term.weights is None else next(made)) for one in evidence
        ]
        wanted = [one for one in evidence if one.term.weight > 0]
        if wanted and all(one.term.weights is None for one in wanted):
            told = np.zeros(len(rows), bool)  # nothing but captions and names can answer
            for one in evidence:
                told[one.written()] = True
            is_there = told if is_there is None else told & is_there
        self.rows, self.evidence, self.videos, self.is_there = rows, evidence, videos, is_there
        self.scan = Scan(terms, len(rows), lengths)

    def scored(self, allow: Mask | None = None, leasts: Sequence[float] = ()) -> RowScores:
        """The scores of rows, of those that filters ``allow``, where these are given; how many
        reach each of ``leasts`` is counted on the way."""
        mask = self.is_there
        if allow is not None:
            mask = allow if mask is None else mask & allow
        vector = self.scan.scores(mask, leasts)
        return RowScores(self.rows, vector, self.videos)

    def parts(self, positions: Ids) -> list[ScoreParts]:
        """What sight and captions add to the scores of rows."""
        return score_parts(self.evidence, self.scan.terms, positions, self.scan.lengths)


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
        scores = np.full(len(pictures), np.nan)
        for n, picture in enumerate(pictures.tolist()):
            positions = self.pictures.positions(self.frames.rows(np.array([picture])))
            if positions.size:
                scores[n] = self.scores.scores(positions).max()
        return scores

    def settle(self, allow: Mask | None, refused: Ids, leasts: Sequence[float]) -> None:
        if self.query is not None:
            # Also where scores were asked for before: a pass that counts costs less than counting.
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
        remembered = known.get(id(ids))
        if remembered is None or remembered[0] is not ids:
            if len(known) >= _LISTS:
                known.clear()
            remembered = known[id(ids)] = ids, pictures.positions(now.frames.rows(ids))
        return remembered[1]

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
    ordered: RankedRows | None = None
    """All that may be shown, where another order than that of scores is asked for."""

    def learn(self, entries: Sequence[Judgement]) -> None:
        """Let answers to this very query correct its probabilities."""
        self.judged = {entry.picture: entry.relevant for entry in entries}
        known, terms = self.calibration, self.terms
        if terms is None or known is None or not entries:
            return
        from visterm.collection.search.encoded_words import EncodedCalibration

        if not isinstance(known, Calibration | EncodedCalibration):
            return  # captions settle it
        from visterm.calibration.estimation import judged_shift

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

    def best(self, k: int) -> RankedRows:
        """The first ``k`` rows."""
        if self.ordered is None:
            return self.scores.best(k)
        return RankedRows(self.ordered.rows[:k], self.ordered.scores[:k])

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
