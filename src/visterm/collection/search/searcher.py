"""From a request to a response: rank, filter, find the cut-off, fold, and page.

This is the way of every search, so it loads NumPy and SQLite only.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from visterm.collection.feedback.log import entries, spelt
from visterm.collection.media.records import UNKNOWN_CAPTURE, captures, frame_seconds, located
from visterm.collection.search.filters import allowed, filter_version
from visterm.collection.search.rankers import Ranked, Ranker, SentenceRanker, word_ranker
from visterm.collection.search.request import TIME, SearchRequest, SearchResponse, SearchResult
from visterm.collection.search.time_order import TimeOrder, by_time
from visterm.collection.store.active_model import (
    NotTrained,
    active_model,
    active_space,
    frame_rows,
)
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.urls import Url
from visterm.collection.store.versions import WORDS
from visterm.compute import Replicas
from visterm.errors import BadInput
from visterm.text.filters import Filters
from visterm.text.query import Query, parse_query, parse_sentence


def search(
    catalogue: Catalogue, root: Path, request: SearchRequest, replicas: Replicas | None = None
) -> SearchResponse:
    """Answer a request, from ``replicas`` of shards where there are any."""
    if replicas is None:
        return _search(catalogue, root, request, None)
    from visterm.collection.search.sharded import while_index_moves

    return while_index_moves(lambda: _search(catalogue, root, request, replicas))


def _search(
    catalogue: Catalogue, root: Path, request: SearchRequest, replicas: Replicas | None
) -> SearchResponse:
    ranking, filters, is_all = _ranking(catalogue, root, request, replicas)
    ranker = ranking.ranker
    page = _Page(catalogue, root, request, filters.folders)
    cutoff = ranking.cutoff(page.needed)
    if request.sort == TIME:
        results, more = page.of(by_time(catalogue, ranking, cutoff, is_all=is_all), None)
    else:
        results, more = page.of(ranking, cutoff if request.good else None)
    said = ranker.partial, ranker.unsure, filters.said
    return SearchResponse(results, ranker.unknown, ranker.replaced, cutoff, more, *said)


def matches(catalogue: Catalogue, root: Path, request: SearchRequest) -> NDArray[np.int64]:
    """All good matches of a request, best first; without words, all that filters let through.

    Where it is not known how many are good, it is as many as are asked for.
    """
    ranking, _, is_all = _ranking(catalogue, root, request, None)
    if is_all and ranking.allow is not None:
        return np.flatnonzero(ranking.allow)
    cutoff = ranking.cutoff(request.k)
    return ranking.best(request.k if cutoff is None else cutoff)[0]


def _ranking(
    catalogue: Catalogue, root: Path, request: SearchRequest, replicas: Replicas | None
) -> tuple[Ranking, Filters, bool]:
    """The ranking of a request, its filters, and whether nothing but these is asked for."""
    query, sentence = Query(), ""
    if request.space == WORDS:
        query = parse_query(request.text)
        filters = query.filters & request.filters
    else:
        sentence, filters = parse_sentence(request.text)
        filters = filters & request.filters
    is_empty = not query.words and not sentence and request.like is None
    if is_empty and (not (filters or request.sort == TIME) or request.space != WORDS):
        raise BadInput('an empty query; write words, as in visterm search "tree snow"')
    try:
        ranker = (
            _ranker(catalogue, root, request, query, sentence)
            if replicas is None or request.like is not None
            else _sharded(catalogue, request, query, sentence, replicas)
        )
    except NotTrained:
        if not query.words or request.like is not None:
            raise
        from visterm.collection.search.written_ranker import WrittenRanker

        ranker = written = WrittenRanker(catalogue, query)
        if written.is_empty:
            raise
    else:
        if frames := frame_rows(catalogue):
            from visterm.collection.search.frame_folding import FoldedRanker

            ranker = FoldedRanker(ranker, frames)
    by_words = request.like is None and bool(query.words)
    said = entries(catalogue, "query = ?", spelt(query)) if by_words else []
    judged = {one.picture: one.relevant for one in said}
    if said:
        ranker.learn(judged, {one.picture: one.step for one in said})
    allow = allowed(catalogue, filters)
    under = (filters, filter_version(catalogue)) if filters else None
    return Ranking(ranker, allow, judged, under), filters, is_empty


def _ranker(
    catalogue: Catalogue, root: Path, request: SearchRequest, query: Query, sentence: str
) -> Ranker:
    """The triple that ranks pictures for a request."""
    ranker: Ranker | None = None
    if sentence:
        ranker = SentenceRanker(active_space(catalogue, request.space), sentence)
    elif query.words or request.like is None:
        ranker = word_ranker(catalogue, active_model(catalogue), query)
    if request.like is None:
        assert ranker is not None
        return ranker
    if ranker is None and request.space != WORDS:
        raise BadInput("a space is for sentences; write one beside the picture, or leave it out")
    from visterm.collection.search.likeness import LikenessRanker

    return LikenessRanker(catalogue, root, request.like, ranker)


def _sharded(
    catalogue: Catalogue, request: SearchRequest, query: Query, sentence: str, replicas: Replicas
) -> Ranker:
    """The same over shards; likeness to a picture is not among it."""
    from visterm.collection.search import sharded_rankers as sharded

    if sentence:
        space = active_space(catalogue, request.space)
        return sharded.ShardedSentenceRanker(catalogue, space, sentence, replicas)
    active = active_model(catalogue)
    if active.link is None:
        return word_ranker(catalogue, active, query)
    return sharded.ShardedWordRanker(catalogue, active, query, replicas)


@dataclass
class Ranking:
    """The best pictures for a query, asked for once and in growing numbers.

    A no takes its picture out of the good matches: it comes right after the last of them.
    """

    ranker: Ranker
    allow: NDArray[np.bool_] | None
    judged: dict[int, bool]
    under: Hashable = None
    """What tells the pictures that are allowed from others, for as long as they stay the same."""
    _found: Ranked = field(default=(np.empty(0, np.int64), np.empty(0, np.float32)))
    _asked: int = 0
    _good: int | None = None

    def cutoff(self, guess: int) -> int | None:
        """How many pictures are good matches; None where that is not known."""
        if not self.ranker.is_calibrated:
            return None
        known = self.ranker.known_cutoff(self.under)
        if known is None:
            every = self.ranker.known_cutoff()
            highest = self._highest(guess) if every is None else every[1]
            known = self._count_good(guess, highest), highest
            if self.ranker.partial is None:
                self.ranker.keep_cutoff(*known, self.under)
        self._good = known[0]
        refused = np.array([one for one, relevant in self.judged.items() if not relevant], np.int64)
        if not refused.size or not self._good:
            return self._good
        if self.allow is not None:
            refused = refused[refused < self.allow.size]
            refused = refused[self.allow[refused]]
        return self._good - self.ranker.count(self.ranker.threshold(known[1]), np.sort(refused))

    def best(self, k: int) -> Ranked:
        """The ``k`` best, refused ones behind the good matches."""
        ids, scores = self._best(k + self._refusals)
        good = min(self._good or 0, len(ids))
        refused = np.flatnonzero(self._refused(ids[:good]))
        order = np.concatenate(
            [np.delete(np.arange(good), refused), refused, np.arange(good, len(ids))]
        ).astype(np.int64)[:k]
        return ids[order], scores[order]

    @property
    def _refusals(self) -> int:
        return sum(not relevant for relevant in self.judged.values())

    def _best(self, k: int) -> Ranked:
        if k > self._asked:
            more = k + self._refusals  # `best` will ask for them, and ranking twice is dear
            self._found, self._asked = self.ranker.best(more, self.allow), more
        ids, scores = self._found
        return ids[:k], scores[:k]

    def _highest(self, k: int) -> float:
        """The best of all pictures sets the threshold, so that it is the same under any filter."""
        scores = self._best(k)[1] if self.allow is None else self.ranker.best(1, None)[1]
        return float(scores[0]) if scores.size else -np.inf

    def _count_good(self, k: int, highest: float) -> int:
        if highest == -np.inf:
            return 0
        _, scores = self._best(k)
        least = self.ranker.threshold(highest)
        if len(scores) == k and scores[-1] >= least:
            among = None if self.allow is None else np.flatnonzero(self.allow)
            return self.ranker.count(least, among)
        return int(np.searchsorted(-scores.astype(np.float64), -least, side="right"))

    def _refused(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        return np.array([self.judged.get(one) is False for one in ids.tolist()], bool)


@dataclass(frozen=True)
class _Page:
    """The part of a ranking that is shown: pictures that are there, near-duplicates once."""

    catalogue: Catalogue
    root: Path
    request: SearchRequest
    folders: tuple[str, ...]

    @property
    def needed(self) -> int:
        """How many pictures settle what is shown, and whether there are more."""
        return self.request.offset + self.request.k + 1

    def of(
        self, ranking: Ranking | TimeOrder, limit: int | None
    ) -> tuple[list[SearchResult], bool]:
        """The results, from the first ``limit`` pictures, and whether there are more."""
        wanted = self.needed if limit is None else min(self.needed, limit)
        while True:
            ids, scores = ranking.best(wanted)
            places = located(self.catalogue, self.root, ids.tolist(), self.folders)
            # A picture that has just vanished may still be in the index; then more are asked for.
            there = [one for one in ids.tolist() if one in places]
            shown = self._folded(there) if self.request.fold else there
            if len(shown) >= self.needed or len(ids) < wanted or wanted == limit:
                break
            wanted = 4 * wanted if limit is None else min(4 * wanted, limit)
        first, last = self.request.offset, self.request.offset + self.request.k
        score = dict(zip(ids.tolist(), scores.tolist(), strict=True))
        return self._results(ranking, shown[first:last], score, places), len(shown) > last

    def _folded(self, pictures: list[int]) -> list[int]:
        from visterm.collection.search.likeness import without_near_duplicates

        return without_near_duplicates(self.catalogue, pictures, self.needed)

    def _results(
        self,
        ranking: Ranking | TimeOrder,
        pictures: list[int],
        score: dict[int, float],
        places: dict[int, tuple[Path | Url, ...]],
    ) -> list[SearchResult]:
        scores = np.array([score[one] for one in pictures], np.float64)
        probabilities = ranking.ranker.probabilities(scores)
        rows = ranking.ranker.rows(pictures)
        parts = ranking.ranker.parts(pictures)
        taken = captures(self.catalogue, pictures)
        seconds = frame_seconds(self.catalogue, rows)
        return [
            SearchResult(
                one,
                score[one],
                places[one],
                probability,
                ranking.judged.get(one),
                part,
                taken.get(one, UNKNOWN_CAPTURE),
                row,
                seconds.get(row),
            )
            for one, probability, part, row in zip(
                pictures, probabilities, parts, rows, strict=True
            )
        ]
