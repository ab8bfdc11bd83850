"""Results by the time at which they were taken, the latest first; unknown times come last."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from visterm.collection.store.catalogue import Catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from visterm.collection.search.filters import Mask
    from visterm.collection.search.rankers import Ranked, Ranker
    from visterm.collection.search.searcher import Ranking

_NEAREST = 500
"""Pictures that are put in order where it is not known how many are good matches."""


@dataclass
class TimeOrder:
    """Pictures in the order of time, read as far as they are asked for."""

    ranker: Ranker
    judged: dict[int, bool]
    coming: Iterator[tuple[int, float]]
    _read: list[tuple[int, float]] = field(default_factory=list)

    def best(self, k: int) -> Ranked:
        """The ``k`` latest."""
        while len(self._read) < k and (one := next(self.coming, None)) is not None:
            self._read.append(one)
        ids = np.array([picture for picture, _ in self._read[:k]], np.int64)
        return ids, np.array([score for _, score in self._read[:k]], np.float64)


def by_time(
    catalogue: Catalogue, ranking: Ranking, cutoff: int | None, *, is_all: bool
) -> TimeOrder:
    """The good matches of a ranking in the order of time; all pictures where no words are asked."""
    if is_all:
        coming = _every(catalogue, ranking.allow)
    else:
        ids, scores = ranking.best(_NEAREST if cutoff is None else cutoff)
        score = dict(zip(ids.tolist(), scores.tolist(), strict=True))
        question = "SELECT taken IS NULL, -taken, -id FROM pictures WHERE id IN {numbers}"
        ordered = sorted(catalogue.among(question, list(score)))
        coming = ((-number, score[-number]) for _, _, number in ordered)
    return TimeOrder(ranking.ranker, ranking.judged, coming)


def _every(catalogue: Catalogue, allow: Mask | None) -> Iterator[tuple[int, float]]:
    for (picture,) in catalogue.db.execute(
        "SELECT id FROM pictures WHERE present > 0 ORDER BY taken DESC, id DESC"
    ):
        if allow is None or (picture < allow.size and allow[picture]):
            yield picture, 0.0
