"""The scores of the rows of one shard for a query, and what is asked of them.

A collection on one machine is one shard. On a cluster every shard computes the same of its own
rows, and the best of all are among the best of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from visterm.collection.search.evidence import Evidence, score_parts
from visterm.collection.search.request import ScoreParts
from visterm.index.columns import ColumnCache
from visterm.index.feature_file import FeatureFile
from visterm.index.scan import Scan, ScoreVector

Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]
Floats = NDArray[np.float32]


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
