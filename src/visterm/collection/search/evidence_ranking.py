"""The pictures with the best scores by evidence, exactly, without scoring every picture."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from visterm.collection.search.evidence import ROUNDING, Evidence, Floats, Ids
from visterm.index.score import best

_TOGETHER = 1 << 16
_FEW = 50
"""Where a filter leaves one picture in so many or fewer, they are scored one by one."""

_SMALL = 4096
"""Of so many pictures or fewer, scoring each once beats any bound."""

_INFINITY = int(np.float32(np.inf).view(np.int32))

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class EvidenceRanking(Evidence):
    """Evidence, and which pictures it speaks for most."""

    def best(self, k: int, allow: Mask | None = None) -> tuple[Ids, Floats]:
        """The ``k`` best pictures and their scores; equal scores by smaller id.

        ``allow`` says by number which pictures may answer.

        Exact: as sorting the scores of all. The pictures whose captions hold a word are scored one
        by one. The others differ by constants from what the index ranks: one for those without a
        caption, one for those with captions of each length.
        """
        if self._scored is not None:
            ids, scores = self._scored
            if allow is not None:
                may = np.isin(ids, np.flatnonzero(allow))
                ids, scores = ids[may], scores[may]
            return best(ids, scores, k)
        if allow is not None and np.count_nonzero(allow) * _FEW < allow.size:
            few = self._findable(np.flatnonzero(allow))  # each by itself is faster than any bound
            return best(few, self.parts(few).scores, k)
        holders = self._holders(allow)
        ids = self._narrowed(holders, k)
        scores = self.parts(ids).scores
        for mask, length in self._others(holders, allow):
            more = self._best_of_others(k, mask, length)
            ids, scores = np.concatenate([ids, more[0]]), np.concatenate([scores, more[1]])
        return best(ids, scores, k)

    def count(self, least: float, among: Ids | None = None) -> int:
        """How many pictures, of some or of all, have such a score or a higher one.

        Exact, as `best` is: by the index for all but the holders of words. Where unwanted words
        are seen, which no sum of columns tells, the index names those who reach it without them.
        """
        if self._scored is not None:
            ids, scores = self._scored
            reach = scores >= least
            return int(np.count_nonzero(reach if among is None else reach & np.isin(ids, among)))
        if among is not None and among.size * _FEW < self.index.ids().size:
            return self._count_among(self._findable(among), least)
        allow = None
        if among is not None:
            allow = np.zeros(int(among.max(initial=-1)) + 1, bool)
            allow[among] = True
        holders = self._holders(allow)
        total = self._count_among(holders, least)
        for mask, length in self._others(holders, allow):
            if self._is_sum:
                edge = _lowest_sight(least, self.unmentioned(length))
                total += self.index.count(self.query[:2], edge, allow=mask)
            else:
                total += self._count_among(self._reaching(least, mask, length), least)
        return total

    @cached_property
    def _scored(self) -> tuple[Ids, Floats] | None:
        """All pictures that may answer and their scores, where there are few of them."""
        if self.index.ids().size > _SMALL:
            return None
        ids = self._findable(self.index.ids())
        return ids, self.parts(ids).scores

    def _reaching(self, least: float, mask: Mask | None, length: int) -> Ids:
        """All of the others who may reach a score: unwanted words that are seen only lower one."""
        edge = _lowest_sight(least - ROUNDING, self.unmentioned(length))
        return self.index.candidates(self.query[:2], edge, allow=mask)

    def _count_among(self, ids: Ids, least: float) -> int:
        lowest, highest = self._between(ids)
        unsure = ids[(lowest < least) & (highest >= least)]
        return int((lowest >= least).sum()) + int((self.parts(unsure).scores >= least).sum())

    def _between(self, pictures: Ids) -> tuple[Floats, Floats]:
        """As `between`, of however many pictures, with memory for some."""
        lowest, highest = np.empty(pictures.size), np.empty(pictures.size)
        for first in range(0, pictures.size, _TOGETHER):
            some = slice(first, first + _TOGETHER)
            lowest[some], highest[some] = self.between(pictures[some])
        return lowest, highest

    def _narrowed(self, pictures: Ids, k: int) -> Ids:
        """Those of some pictures that may be among their ``k`` best, if they can be told apart."""
        if pictures.size <= k or not k:
            return pictures
        lowest, highest = self._between(pictures)
        return pictures[highest >= np.partition(lowest, -k)[-k]]

    def _best_of_others(self, k: int, mask: Mask | None, length: int) -> tuple[Ids, Floats]:
        """The best of pictures with captions of one length, which say nothing of the query."""
        asked = k
        while True:
            ids, ranked = self.index.search(self.query[:2], asked, allow=mask)
            found = best(ids, self.parts(ids).scores, k)
            if ids.size < asked or not k:
                return found
            if not self._is_sum:
                ids = self._narrowed(self._reaching(found[1][-1], mask, length), k)
                return best(ids, self.parts(ids).scores, k)
            bound, next_bound = self._bounds(ranked[-1], length)
            # Of equal ones the index has given those with the smaller ids.
            if bound < found[1][-1] or next_bound < bound:
                return found
            asked *= 4

    def _bounds(self, ranked: np.float32, length: int) -> tuple[float, float]:
        """The highest score that a picture of such a value can have, and one of the next lower."""
        caption = self.unmentioned(length)
        lower = np.nextafter(ranked, np.float32(-np.inf))
        return float(ranked) + caption, float(lower) + caption

    def _others(self, holders: Ids, allow: Mask | None) -> Iterator[tuple[Mask | None, int]]:
        """Masks of pictures by the length of their captions, but for the holders of words."""
        if not self._is_seen:
            return
        if not holders.size and not self.lengths.any():  # no captions, or none was read
            yield allow, 0
            return
        ids = self.index.ids()
        mask = np.full(int(ids[-1]) + 1 if ids.size else 0, allow is None)
        if allow is not None:
            mask[: allow.size] = allow[: mask.size]
        mask[holders] = False
        lengths = np.zeros(mask.size, np.uint8)
        some = min(mask.size, self.lengths.size)
        lengths[:some] = self.lengths[:some]
        for length in range(len(self.completeness)):
            who = mask & (lengths == length)
            if who.any():
                yield who, length

    @property
    def _is_sum(self) -> bool:
        """Whether what is seen is a sum of columns: what unwanted words add is none."""
        return not any(term.is_seen and term.weight < 0 for term in self.terms)

    @property
    def _is_seen(self) -> bool:
        """Whether not only captions can tell."""
        wanted = [term for term in self.terms if term.weight > 0]
        return not wanted or any(term.is_seen for term in wanted)

    def _holders(self, allow: Mask | None) -> Ids:
        """The pictures that can be found of which captions or names hold some word."""
        found = [some for term in self.terms for some in term.lists]
        every = np.unique(np.concatenate([np.empty(0, np.int64), *found]))
        if allow is not None:
            every = every[every < allow.size]
            every = every[allow[every]]
        return every[self.index.holds(every)]

    def _findable(self, few: Ids) -> Ids:
        """Those of some pictures that may answer."""
        if not self._is_seen:
            held = [np.isin(few, some) for term in self.terms for some in term.lists]
            few = few[np.logical_or.reduce(held)]
        return few[self.index.holds(few)]


def _lowest_sight(least: float, caption: float) -> float:
    """The smallest float32 number that reaches a score together with what captions add.

    >>> _lowest_sight(-1.0, -0.75)
    -0.25
    """

    def number(place: int) -> float:  # all of them, ascending with their place
        return math.copysign(float(np.int32(abs(place)).view(np.float32)), place)

    every = range(-_INFINITY, _INFINITY + 1)
    first = bisect_left(every, True, key=lambda place: number(place) + caption >= least)
    return number(every[min(first, len(every) - 1)])
