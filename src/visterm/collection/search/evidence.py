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

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.index.score import scores as index_scores

CERTAINTY = 0.99
"""κ: how likely a picture answers a word that its caption holds."""
NAME_SOURCES = ("file", "folder")
_ALMOST_ONE = 1 - 1e-6
ROUNDING = 1e-9

Ids = NDArray[np.int64]
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

    def count(self, query: Any, least: float, *, allow: Any = None) -> int: ...

    def candidates(self, query: Any, least: float, *, allow: Any = None) -> Ids: ...


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
                omitted = self.omitted(term)[lengths]
                settled = term.log_probabilities(np.where(is_written, known, 1.0))
                written = np.where(is_written, settled, omitted)
            else:
                alone = term.log_probabilities(seen) if term.is_seen else np.zeros(pictures.size)
                unwanted += alone
                written = term.log_probabilities(known) - alone
            by_name = is_named & ~holds
            caption += np.where(by_name, 0.0, written)
            name += np.where(by_name, written, 0.0)
        _, weights, order = self.query
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

    def between(self, pictures: Ids) -> tuple[Floats, Floats]:
        """Between which scores pictures are, as far as the index can tell at once."""
        bounds = [
            self.index.bounds(term.columns, pictures) if term.is_seen else (None, None)
            for term in self.terms
        ]
        # The more a wanted word holds the better, and the less an unwanted one.
        both = [*zip(bounds, (term.weight > 0 for term in self.terms), strict=True)]
        lowest = self._parts(pictures, [pair[not is_wanted] for pair, is_wanted in both]).scores
        highest = self._parts(pictures, [pair[is_wanted] for pair, is_wanted in both]).scores
        return lowest - ROUNDING, highest + ROUNDING

    @cached_property
    def query(self) -> tuple[Ids, NDArray[np.float32], Ids]:
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

    def _lengths_of(self, pictures: Ids) -> NDArray[np.uint8]:
        found = np.zeros(pictures.size, np.uint8)
        known = pictures < self.lengths.size
        found[known] = self.lengths[pictures[known]]
        return found

    def omitted(self, term: Term) -> Floats:
        """What a wanted word loses that a caption does not mention, by the caption's length."""
        return term.weight * np.log1p(-term.is_mentioned * self.completeness)

    def unmentioned(self, length: int) -> float:
        """What captions of a length add that hold no word of the query, but for unwanted words
        that are seen."""
        total = 0.0
        for term in self.terms:
            if term.is_seen:
                total += float(self.omitted(term)[length]) if term.weight > 0 else 0.0
            else:
                left_out = (1 - term.is_mentioned * self.completeness[[length]]) * term.frequency
                total += float(term.log_probabilities(left_out)[0])
        return total

    @staticmethod
    def _by_caption(seen: Floats) -> Floats:
        return 1 - (1 - CERTAINTY) * (1 - seen)

    @staticmethod
    def _seen(term: Term, values: NDArray[np.float32] | None, count: int) -> Floats:
        """How likely pictures answer a word, by sight."""
        if values is None:
            return np.full(count, term.frequency)
        return np.exp(np.minimum(values.sum(axis=1, dtype=np.float64), 0.0))
