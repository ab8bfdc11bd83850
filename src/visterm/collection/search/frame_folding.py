"""Ranking of pictures by rows: a video is as good as its best frame.

The ranker below ranks rows. Of the rows of one video the first stands for it, so the best ``k``
pictures are those of the first rows, of which more are asked for until there are ``k``: exact, as
ranking all rows and leaving out all but the first of every video.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from visterm.collection.search.rankers import Ranked, Ranker, Scores
from visterm.collection.search.request import PartialAnswer, ScoreParts
from visterm.collection.store.frame_rows import FrameRows


class FoldedRanker(Ranker):
    """Ranks pictures by the rows that another ranker ranks."""

    def __init__(self, ranker: Ranker, known: FrameRows) -> None:
        self.ranker, self.known = ranker, known
        self.unknown, self.replaced, self.unsure = ranker.unknown, ranker.replaced, ranker.unsure

    @property
    def is_calibrated(self) -> bool:  # type: ignore[override]
        return self.ranker.is_calibrated

    @property
    def partial(self) -> PartialAnswer | None:  # type: ignore[override]
        return self.ranker.partial

    def best(self, k: int, allow: NDArray[np.bool_] | None) -> Ranked:
        rows, scores = self._best_rows(k, allow)
        return self.known.pictures(rows), scores

    def _best_rows(self, k: int, allow: NDArray[np.bool_] | None) -> Ranked:
        """The best row of each of the ``k`` best pictures."""
        among = None if allow is None else self.known.spread(allow)
        asked = 2 * k
        while True:
            rows, scores = self.ranker.best(asked, among)
            _, first = np.unique(self.known.pictures(rows), return_index=True)
            if first.size >= k or rows.size < asked:
                order = np.sort(first)[:k]
                return rows[order], scores[order]
            asked *= 4

    def rows(self, pictures: Sequence[int]) -> list[int]:
        if not len(pictures):
            return []
        every = np.array(pictures, np.int64)
        found, _ = self._best_rows(every.size, self.known.mask(every))
        row_of = dict(zip(self.known.pictures(found).tolist(), found.tolist(), strict=True))
        return [row_of.get(one, one) for one in pictures]

    def scores(self, pictures: NDArray[np.int64]) -> Scores:
        return self.ranker.scores(np.array(self.rows(pictures.tolist()), np.int64))

    def parts(self, pictures: Sequence[int]) -> list[ScoreParts | None]:
        return self.ranker.parts(self.rows(pictures))

    def probabilities(self, scores: Scores) -> list[float | None]:
        return self.ranker.probabilities(scores)

    def learn(self, judged: Mapping[int, bool], steps: Mapping[int, float]) -> None:
        row_of = dict(zip(steps, self.rows(list(steps)), strict=True))
        self.ranker.learn(
            {row: judged[one] for one, row in row_of.items() if one in judged},
            {row: steps[one] for one, row in row_of.items()},
        )

    def count(self, least: float, among: NDArray[np.int64] | None) -> int:
        """Rows that are good enough, less those that are not the first of their video."""
        rows = None if among is None else self.known.rows(among)
        videos = np.unique(self.known.videos)
        if among is not None:
            videos = videos[np.isin(videos, among)]
        mask = self.known.mask(videos)
        ids, scores = self.ranker.best(int(mask.sum()), mask)
        good = self.known.pictures(ids[scores >= least])
        return self.ranker.count(least, rows) - good.size + np.unique(good).size

    def threshold(self, highest: float) -> float:
        return self.ranker.threshold(highest)

    def known_cutoff(self, under: Hashable = None) -> tuple[int, float] | None:
        return self.ranker.known_cutoff(under)

    def keep_cutoff(self, count: int, highest: float, under: Hashable = None) -> None:
        self.ranker.keep_cutoff(count, highest, under)
