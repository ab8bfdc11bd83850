"""A query's words as terms: what the index sees of each, and which captions hold it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike

from visterm.collection.search.evidence import Floats, Ids, NamedPictures, Term
from visterm.collection.search.unseen_words import calibrated, knows_any_word
from visterm.collection.store.name_words import certainty
from visterm.text.meaning import Meaning, is_guess, meanings, same_meanings
from visterm.text.query import Query, closest_words, query_vector
from visterm.text.tokens import stem
from visterm.text.unknown_words import read_phrases, unknown_phrases

if TYPE_CHECKING:
    from visterm.collection.store.active_model import ActiveModel
    from visterm.collection.store.caption_words import Postings
    from visterm.text import Vocabulary

_LEARNT = 2
"""Captions with a word from which on training has decided whether pictures can show it."""
_FRACTION, _LEVEL = 0.5, 0.05
"""A good match has at least this fraction of the best one's probability, and at least this one."""


@dataclass(frozen=True)
class QueryTerms:
    """The terms of a query, and what is to be said of its other words."""

    terms: list[Term]
    numbers: Ids
    """Of those terms that the vocabulary knows, which come first."""
    unknown: dict[str, list[str]]
    """Words that neither the model nor any caption knows, each with close ones."""
    replaced: dict[str, list[str]]
    """Words that the model does not know, with known ones that stand for them."""
    unsure: tuple[str, ...] = ()
    """Those of the replaced words for which the known ones are a guess."""
    encoded: tuple[str, ...] = ()
    """Words and phrases that an encoder makes a column of, in the order of their columns."""


def query_terms(
    query: Query, active: ActiveModel, postings: Postings, offsets: dict[int, int]
) -> QueryTerms:
    """Read a query; ``offsets`` are the columns of what clicks added, by word.

    A word that the model does not know is read in captions, if some hold it; by sight its synonyms
    stand for it, if they are known. One that no caption holds is replaced by words close to it.
    """
    reader = _Reader(active.vocabulary, postings, active.version.words)
    if knows_any_word(active):
        return _encoded_terms(query, active, reader, offsets)
    query, phrases = read_phrases(query, active.vocabulary, reader.is_held)
    vector = query_vector(query, active.vocabulary, reader.meant)
    weights = zip(vector.numbers.tolist(), vector.weights.tolist(), strict=True)
    terms = [
        reader.known(number, weight, _columns(active, offsets, number))
        for number, weight in weights
    ]
    terms += [
        reader.read(word, weight)
        for word, weight in reader.unseen(query).items()
        if word in vector.unknown
    ]
    words = active.vocabulary.words
    unknown = {
        word: closest_words(word, words) for word in vector.unknown if word not in reader.own
    }
    replaced = phrases | vector.replaced
    unsure = tuple(word for word in replaced if is_guess(word, active.vocabulary))
    return QueryTerms(terms, vector.numbers, unknown, replaced, unsure)


def _encoded_terms(
    query: Query, active: ActiveModel, reader: _Reader, offsets: dict[int, int]
) -> QueryTerms:
    """As `query_terms`, where any word can be seen: those that no model has met go together.

    But words that stand in captions which were learnt from, and that still have no column, are
    words that pictures cannot show.
    """
    vector = query_vector(query, active.vocabulary)
    weights = zip(vector.numbers.tolist(), vector.weights.tolist(), strict=True)
    terms = [
        reader.known(number, weight, _columns(active, offsets, number))
        for number, weight in weights
    ]
    encoded: dict[str, float] = {}
    read: dict[str, float] = {}
    for phrase, weight in unknown_phrases(query, active.vocabulary, reader.holds):
        captions = reader.own.get(phrase, NOBODY).captions
        is_unseen = captions.size >= _LEARNT and active.version.is_trained
        where = read if is_unseen else encoded
        where[phrase] = where.get(phrase, 0.0) + weight
    terms += [reader.read(word, weight) for word, weight in read.items()]
    for place, (phrase, weight) in enumerate(encoded.items()):
        columns = (active.index.words + place,)
        found = reader.term(phrase, weight, columns, reader.own.get(phrase, NOBODY))
        terms.append(replace(found, is_mentioned=bool(found.holders.size)))
    return QueryTerms(terms, vector.numbers, {}, {}, encoded=tuple(encoded))


def written_terms(query: Query, postings: Postings) -> tuple[list[Term], list[str]]:
    """The words of a query that captions or names hold, where there is no model; and the others."""
    reader = _Reader(None, postings, 0)
    unknown = [word for word, _ in query.words if not reader.holds(word)]
    return [reader.read(word, weight) for word, weight in reader.unseen(query).items()], unknown


class Calibrated(Protocol):
    """What scores of a query are worth."""

    def probabilities(self, words: ArrayLike, weights: ArrayLike, scores: ArrayLike) -> Floats: ...

    def cutoff(self, words: ArrayLike, weights: ArrayLike, best: float) -> float: ...


def calibration_of(active: ActiveModel, found: QueryTerms) -> Calibrated | None:
    """How to tell probabilities and the cut-off of a query; None where nothing is known."""
    known = active.calibration
    if not found.terms:
        return None
    if not all(term.is_seen for term in found.terms):
        return IndependentWords()
    # Of words that a yes began no held-out picture says what a score is worth.
    is_new = (found.numbers >= active.version.words).any()
    if known is None or not known.is_known or is_new:
        return None
    return calibrated(known, len(found.encoded)) if found.encoded else known  # type: ignore[arg-type]


class IndependentWords:
    """For queries with words that nobody can see: what their captions say is as good as settled.

    >>> found = IndependentWords()
    >>> found.probabilities([], [1.0, 2.0], np.log([0.125])).round(2).tolist()
    [0.25]
    >>> round(float(np.exp(found.cutoff([], [1.0], np.log(0.8)))), 2)
    0.4
    """

    def probabilities(self, words: ArrayLike, weights: ArrayLike, scores: ArrayLike) -> Floats:
        return np.exp(np.minimum(self._scale(weights) * np.asarray(scores, np.float64), 0.0))

    def cutoff(self, words: ArrayLike, weights: ArrayLike, best: float) -> float:
        highest = float(self.probabilities(words, weights, best))
        return float(np.log(max(_FRACTION * highest, _LEVEL))) / self._scale(weights)

    @staticmethod
    def _scale(weights: ArrayLike) -> float:
        """What makes a score one of words that count once each."""
        sizes = np.abs(np.asarray(weights, np.float64))
        return float(np.minimum(sizes, 1.0).sum()) / (float(sizes.sum()) or 1.0)


@dataclass(frozen=True, eq=False)
class Holders:
    """The pictures that hold a word in their captions, and in names by source."""

    captions: Ids
    names: dict[str, Ids] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.captions.size or any(some.size for some in self.names.values()))

    def __or__(self, other: Holders) -> Holders:
        names = {
            source: np.union1d(some, other.names.get(source, some))
            for source, some in self.names.items()
        }
        return Holders(np.union1d(self.captions, other.captions), names)

    @property
    def count(self) -> int:
        """How many pictures there are."""
        named = [some for some in self.names.values() if some.size]
        if not named:  # captions may be millions, and are told apart already
            return self.captions.size
        return np.unique(np.concatenate([self.captions, *named])).size


NOBODY = Holders(np.empty(0, np.int64))


@dataclass
class _Reader:
    """Finds the captions and names that hold words."""

    vocabulary: Vocabulary | None
    postings: Postings
    learnt: int
    """How many of the vocabulary's words the model learnt; clicks have begun the others."""
    own: dict[str, Holders] = field(default_factory=dict)
    """Words that the model does not know, with the pictures that hold them."""
    standing: dict[int, list[str]] = field(default_factory=dict)
    """By a known word, those of the words it stands for that somebody holds."""

    def meant(self, word: str, vocabulary: Vocabulary) -> list[Meaning]:
        if not self.holds(word):
            return meanings(word, vocabulary)
        same = same_meanings(word, vocabulary)
        for number, _ in same:
            self.standing.setdefault(number, []).append(word)
        return same

    def is_held(self, word: str) -> bool:
        """Whether captions or names hold a word."""
        return bool(self._holders(stem(word)))

    def holds(self, word: str) -> bool:
        """Whether they hold a word that the model does not know; it is remembered then."""
        found = self._holders(stem(word))
        if found:
            self.own[word] = found
        return bool(found)

    def _holders(self, key: str) -> Holders:
        postings = self.postings
        names = {source: postings.holders(key, source) for source in postings.sources}
        return Holders(postings.holders(key), names)

    def known(self, number: int, weight: float, columns: tuple[int, ...]) -> Term:
        assert self.vocabulary is not None
        holders = self._holders(self.vocabulary.keys[number])
        for word in self.standing.get(number, ()):
            holders = holders | self.own[word]
        found = self.term(self.vocabulary.words[number], weight, columns, holders)
        return replace(found, is_mentioned=number < self.learnt)

    def read(self, word: str, weight: float) -> Term:
        return self.term(word, weight, (), self.own[word])

    def unseen(self, query: Query) -> dict[str, float]:
        """The words that only captions and names know, with their weights."""
        weights: dict[str, float] = {}
        for word, weight in query.words:
            if word in self.own:
                weights[word] = weights.get(word, 0.0) + weight
        return weights

    def term(self, word: str, weight: float, columns: tuple[int, ...], holders: Holders) -> Term:
        count = holders.count
        frequency = (count + 0.5) / (self.postings.worded + count + 1)
        names = tuple(
            NamedPictures(source, some, self.certainty[source])
            for source, some in holders.names.items()
            if some.size
        )
        return Term(word, weight, columns, holders.captions, frequency, names=names)

    @cached_property
    def certainty(self) -> dict[str, float]:
        return certainty(self.postings.db)


def _columns(active: ActiveModel, offsets: dict[int, int], number: int) -> tuple[int, ...]:
    """Where the index holds a word: its own column, and that of what clicks added."""
    words = active.version.words
    own = (number,) if number < words else ()
    added = words + offsets.get(number, active.index.words)
    return (*own, added) if added < active.index.words else own
