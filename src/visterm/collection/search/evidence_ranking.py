"""The pictures with the best scores by evidence, exactly, without scoring every picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from visterm.collection.search.evidence import ROUNDING, Evidence, Floats, Ids
from visterm.index.score import best

_TOGETHER = 1 << 16
_FEW = 50
"""Where a filter leaves one picture in so many or fewer, they are scored one by one."""

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
        """How many pictures, of some or of all, have such a score or a higher one."""
        total = 0
        ids = self.index.ids() if among is None else among[self.index.holds(among)]
        if not self._is_seen:
            ids = np.intersect1d(ids, self._holders(None))
        for first in range(0, ids.size, _TOGETHER):
            some = ids[first : first + _TOGETHER]
            lowest, highest = self.between(some)
            unsure = some[(lowest < least) & (highest >= least)]
            total += int((lowest >= least).sum()) + int((self.parts(unsure).scores >= least).sum())
        return total

    def _narrowed(self, pictures: Ids, k: int) -> Ids:
        """Those of some pictures that may be among their ``k`` best, if they can be told apart."""
        if pictures.size <= k or not k:
            return pictures
        lowest, highest = self.between(pictures)
        return pictures[highest >= np.partition(lowest, -k)[-k]]

    def _best_of_others(self, k: int, mask: Mask | None, length: int) -> tuple[Ids, Floats]:
        """The best of pictures with captions of one length, which say nothing of the query.

        Unwanted words that are seen only lower a score, so what the index ranks by is an upper
        bound: more are asked for until nobody is left who could enter.
        """
        is_tight = not any(term.is_seen and term.weight < 0 for term in self.terms)
        asked = k
        while True:
            ids, ranked = self.index.search(self.query[:2], asked, allow=mask)
            found = best(ids, self.parts(ids).scores, k)
            if ids.size < asked or not k:
                return found
            bound, next_bound = self._bounds(ranked[-1], length)
            if is_tight:  # Of equal ones the index has given those with the smaller ids.
                if bound < found[1][-1] or next_bound < bound:
                    return found
            elif bound + ROUNDING < found[1][-1]:
                return found
            asked *= 4

    def _bounds(self, ranked: np.float32, length: int) -> tuple[float, float]:
        """The highest score that a picture of such a value can have, and one of the next lower."""
        caption = 0.0
        for term in self.terms:
            if term.is_seen:
                caption += float(self.omitted(term)[length]) if term.weight > 0 else 0.0
            else:
                left_out = (1 - self.completeness[length]) * np.array([term.frequency])
                caption += float(term.log_probabilities(left_out)[0])
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
