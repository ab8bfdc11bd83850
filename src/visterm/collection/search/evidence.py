"""Captions as evidence: what is written about a picture and what is seen in it, in one score.

A score is a log-probability, ``Σ_t q_t · log P_t(p)`` over the words of a query. Sight gives the
probability P_t(p) that picture p answers word t (the index holds its logarithm), and what is
written changes it:

- a caption that holds t is right with probability κ: ``1 − (1 − κ)(1 − P_t)``;
- captions leave out much: one without t makes it less likely by 1 − r, r being how complete
  captions of its length are;
- a picture without caption is left as it is seen;
- the name of its file or of a folder that holds t is right with another probability κ', whatever
  captions say of it: ``1 − (1 − κ')(1 − P_t)``.

Words that nobody can see have, instead of a sight, the fraction of captions that hold them. An
unwanted word counts ``log(1 − P_t)``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.index.score import best
from visterm.index.score import scores as index_scores

CERTAINTY = 0.99
"""κ: how likely a picture answers a word that its caption holds."""
NAME_SOURCES = ("file", "folder")
_ALMOST_ONE = 1 - 1e-6
_ROUNDING = 1e-9
_TOGETHER = 1 << 16
_FEW = 50
"""Where a filter leaves one picture in so many or fewer, they are scored one by one."""

Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]


class Sight(Protocol):
    """What pictures show, word by word: an index, or one with columns beside it."""

    def ids(self) -> Ids: ...

    def holds(self, ids: ArrayLike) -> NDArray[np.bool_]: ...

    def values(self, words: ArrayLike, ids: ArrayLike) -> NDArray[np.float32]: ...

    def bounds(
        self, words: ArrayLike, ids: ArrayLike
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]: ...

    def search(
        self, query: Any, k: int, *, allow: Any = None
    ) -> tuple[Ids, NDArray[np.float32]]: ...


@dataclass(frozen=True, eq=False)
class NamedPictures:
    """Pictures of which the name of a ``source``, file or folder, holds a word; ascending."""

    source: str
    pictures: Ids
    certainty: float
    """κ': how likely such a picture answers."""


@dataclass(frozen=True, eq=False)
class Term:
    """A word of a query.

    Attributes
    ----------
    word : str
    weight : float
        How much it counts; negative where it is unwanted.
    columns : tuple of int
        What the index holds of it, to be added up; none for a word that nobody can see.
    holders : array of int
        The pictures whose captions hold it, ascending.
    frequency : float
        The fraction of captions that hold it.
    is_mentioned : bool
        Whether captions would mention it; not so for a word that a click began after they were
        written.
    names : tuple of NamedPictures
        The pictures whose names hold it, by source.
    """

    word: str
    weight: float
    columns: tuple[int, ...]
    holders: Ids
    frequency: float
    is_mentioned: bool = True
    names: tuple[NamedPictures, ...] = ()

    @property
    def is_seen(self) -> bool:
        return bool(self.columns)

    @property
    def lists(self) -> list[Ids]:
        """All pictures of which somebody says it: by captions, and by each source of names."""
        return [self.holders, *(one.pictures for one in self.names)]

    def with_lists(self, lists: Sequence[Ids]) -> Term:
        """The same with other pictures, in the order of `lists`."""
        named = zip(self.names, lists[1:], strict=True)
        names = tuple(replace(one, pictures=some) for one, some in named)
        return replace(self, holders=lists[0], names=names)

    def log_probabilities(self, seen: Floats) -> Floats:
        """The term's share of scores, for probabilities that pictures answer its word."""
        if self.weight > 0:
            return self.weight * np.log(seen)
        return -self.weight * np.log1p(-np.minimum(seen, _ALMOST_ONE))


@dataclass(frozen=True, eq=False)
class Parts:
    """Scores of pictures taken apart: ``sight + caption + name``, and who holds which word.

    ``held`` is pictures × terms, of captions; ``named`` is pictures × terms × `NAME_SOURCES`.
    """

    sight: Floats
    caption: Floats
    name: Floats
    held: NDArray[np.bool_]
    named: NDArray[np.bool_]

    @property
    def scores(self) -> Floats:
        return self.sight + self.caption + self.name


@dataclass(frozen=True, eq=False)
class Evidence:
    """The terms of a query, with the index that sees and the captions that tell.

    ``lengths`` says by number how long the captions of pictures are, 0 and numbers beyond it for
    none, and ``completeness`` how complete captions of each length are.
    """

    index: Sight
    terms: Sequence[Term]
    lengths: NDArray[np.uint8]
    completeness: Floats

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
            lowest, highest = self._between(some)
            unsure = some[(lowest < least) & (highest >= least)]
            total += int((lowest >= least).sum()) + int((self.parts(unsure).scores >= least).sum())
        return total

    def _narrowed(self, pictures: Ids, k: int) -> Ids:
        """Those of some pictures that may be among their ``k`` best, if they can be told apart."""
        if pictures.size <= k or not k:
            return pictures
        lowest, highest = self._between(pictures)
        return pictures[highest >= np.partition(lowest, -k)[-k]]

    def _between(self, pictures: Ids) -> tuple[Floats, Floats]:
        """Between which scores pictures are, as far as the index can tell at once."""
        bounds = [
            self.index.bounds(term.columns, pictures) if term.is_seen else (None, None)
            for term in self.terms
        ]
        # The more a wanted word holds the better, and the less an unwanted one.
        both = [*zip(bounds, (term.weight > 0 for term in self.terms), strict=True)]
        lowest = self._parts(pictures, [pair[not is_wanted] for pair, is_wanted in both]).scores
        highest = self._parts(pictures, [pair[is_wanted] for pair, is_wanted in both]).scores
        return lowest - _ROUNDING, highest + _ROUNDING

    def parts(self, pictures: Ids) -> Parts:
        """The scores of pictures of the index, in parts."""
        values = [
            self.index.values(term.columns, pictures) if term.is_seen else None
            for term in self.terms
        ]
        return self._parts(pictures, values)

    def _parts(self, pictures: Ids, values_of: Sequence[NDArray[np.float32] | None]) -> Parts:
        """The same from the values of each term's columns."""
        lengths = self._lengths_of(pictures)
        held = np.zeros((pictures.size, len(self.terms)), bool)
        named = np.zeros((pictures.size, len(self.terms), len(NAME_SOURCES)), bool)
        caption, name, unwanted = (np.zeros(pictures.size) for _ in range(3))
        columns = []
        for place, term in enumerate(self.terms):
            holds = held[:, place] = np.isin(pictures, term.holders)
            doubt = self._doubt(term, pictures, named[:, place])
            is_named = named[:, place].any(axis=1)
            values = values_of[place]
            seen = self._seen(term, values, pictures.size)
            left_out = (1 - term.is_mentioned * self.completeness[lengths]) * seen
            known = np.where(holds, self._by_caption(seen), left_out)
            known = np.where(is_named, 1 - doubt * (1 - known), known)
            if term.is_seen and term.weight > 0:
                assert values is not None
                is_written = holds | is_named
                columns += [np.where(is_written, np.float32(0), column) for column in values.T]
                omitted = self._omitted(term)[lengths]
                settled = term.log_probabilities(np.where(is_written, known, 1.0))
                written = np.where(is_written, settled, omitted)
            else:
                alone = term.log_probabilities(seen) if term.is_seen else np.zeros(pictures.size)
                unwanted += alone
                written = term.log_probabilities(known) - alone
            by_name = is_named & ~holds
            caption += np.where(by_name, 0.0, written)
            name += np.where(by_name, written, 0.0)
        _, weights, order = self._query
        ordered = (columns[place] for place in order)
        sight = index_scores(weights, ordered, pictures.size).astype(np.float64)
        return Parts(sight + unwanted, caption, name, held, named)

    @staticmethod
    def _doubt(term: Term, pictures: Ids, named: NDArray[np.bool_]) -> Floats:
        """How likely all names are wrong that hold a word; fills in whose names do."""
        doubt = np.ones(pictures.size)
        for one in term.names:
            says = named[:, NAME_SOURCES.index(one.source)] = np.isin(pictures, one.pictures)
            doubt[says] *= 1 - one.certainty
        return doubt

    # What the index is asked: the wanted words that can be seen.

    @cached_property
    def _query(self) -> tuple[Ids, NDArray[np.float32], Ids]:
        """Ascending columns, their weights, and the order that makes them ascend."""
        asked = [
            (column, term.weight)
            for term in self.terms
            if term.weight > 0
            for column in term.columns
        ]
        columns = np.array([column for column, _ in asked], np.int64)
        order = np.argsort(columns, kind="stable")
        return columns[order], np.array([q for _, q in asked], np.float32)[order], order

    def _best_of_others(
        self, k: int, mask: NDArray[np.bool_] | None, length: int
    ) -> tuple[Ids, Floats]:
        """The best of pictures with captions of one length, which say nothing of the query.

        Unwanted words that are seen only lower a score, so what the index ranks by is an upper
        bound: more are asked for until nobody is left who could enter.
        """
        is_tight = not any(term.is_seen and term.weight < 0 for term in self.terms)
        asked = k
        while True:
            ids, ranked = self.index.search(self._query[:2], asked, allow=mask)
            found = best(ids, self.parts(ids).scores, k)
            if ids.size < asked or not k:
                return found
            bound, next_bound = self._bounds(ranked[-1], length)
            if is_tight:  # Of equal ones the index has given those with the smaller ids.
                if bound < found[1][-1] or next_bound < bound:
                    return found
            elif bound + _ROUNDING < found[1][-1]:
                return found
            asked *= 4

    def _bounds(self, ranked: np.float32, length: int) -> tuple[float, float]:
        """The highest score that a picture of such a value can have, and one of the next lower."""
        caption = 0.0
        for term in self.terms:
            if term.is_seen:
                caption += float(self._omitted(term)[length]) if term.weight > 0 else 0.0
            else:
                left_out = (1 - self.completeness[length]) * np.array([term.frequency])
                caption += float(term.log_probabilities(left_out)[0])
        lower = np.nextafter(ranked, np.float32(-np.inf))
        return float(ranked) + caption, float(lower) + caption

    def _others(
        self, holders: Ids, allow: Mask | None
    ) -> Iterator[tuple[NDArray[np.bool_] | None, int]]:
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

    def _lengths_of(self, pictures: Ids) -> NDArray[np.uint8]:
        found = np.zeros(pictures.size, np.uint8)
        known = pictures < self.lengths.size
        found[known] = self.lengths[pictures[known]]
        return found

    def _omitted(self, term: Term) -> Floats:
        """What a wanted word loses that a caption does not mention, by the caption's length."""
        return term.weight * np.log1p(-term.is_mentioned * self.completeness)

    @staticmethod
    def _by_caption(seen: Floats) -> Floats:
        return 1 - (1 - CERTAINTY) * (1 - seen)

    @staticmethod
    def _seen(term: Term, values: NDArray[np.float32] | None, count: int) -> Floats:
        """How likely pictures answer a word, by sight."""
        if values is None:
            return np.full(count, term.frequency)
        return np.exp(np.minimum(values.sum(axis=1, dtype=np.float64), 0.0))
