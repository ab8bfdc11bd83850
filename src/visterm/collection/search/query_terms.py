"""A query's words as terms: what pictures show of each, and which captions hold it."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.collection.search.evidence import Ids, QueryTerm
from visterm.collection.store.caption_words import CERTAINTY
from visterm.quick_dataclass import dataclass
from visterm.text.meaning import Meaning, is_guess, meanings, same_meanings, translations
from visterm.text.query import Query, QueryVector, query_vector
from visterm.text.spelling import closest_words
from visterm.text.tokens import STOP_WORDS, stem
from visterm.text.unknown_words import read_phrases, unknown_phrases

if TYPE_CHECKING:
    from visterm.calibration.calibration import Calibration
    from visterm.collection.store.caption_words import WrittenWords
    from visterm.collection.store.snapshot import Snapshot
    from visterm.collection.store.word_model import WordModel
    from visterm.text import Vocabulary

Floats = NDArray[np.float64]

_READ_FROM = ("begun", "caption_words", "names")
"""The settings that decide what a query's words are."""
_READ_QUERIES = 2048
_LEARNT = 2
"""Captions with a word from which on training has decided whether pictures can show it."""


@dataclass(frozen=True)
class QueryTerms:
    """The terms of a query, and what is to be said of its other words."""

    terms: list[QueryTerm]
    numbers: Ids
    """Of those terms that the vocabulary knows, which come first."""
    unknown: dict[str, list[str]]
    """Words that neither the model nor any caption knows, each with close ones."""
    replaced: dict[str, list[str]]
    """Words that the model does not know, with known ones that stand for them."""
    unsure: tuple[str, ...] = ()
    """Those of the replaced words for which the known ones are a guess."""
    encoded: tuple[str, ...] = ()
    """Words and phrases that an encoder makes a column of, the last of the terms."""

    def joined(self, other: QueryTerms) -> QueryTerms:
        """What is to be said of the words of two queries, without their terms."""
        return QueryTerms(
            [], self.numbers[:0], self.unknown | other.unknown, self.replaced | other.replaced,
            (*self.unsure, *other.unsure),
        )  # fmt: skip

    @property
    def weights(self) -> NDArray[np.float32]:
        return np.array([term.weight for term in self.terms], np.float32)


def query_terms(query: Query, now: Snapshot) -> QueryTerms:
    """Read a query; clicks change what pictures show of its words, but not what these are."""
    known: dict[Query, QueryTerms] = now.remembered("terms", dict, *_READ_FROM)
    read = known.get(query)
    if read is None:
        if len(known) >= _READ_QUERIES:
            known.clear()
        read = known[query] = _read(query, now)
    shown = map(now.words.word_weights, read.numbers.tolist())
    seen = [replace(term, weights=one) for term, one in zip(read.terms, shown, strict=False)]
    return replace(read, terms=seen + read.terms[len(seen) :])


def _read(query: Query, now: Snapshot) -> QueryTerms:
    """The terms of a query, of which those that the vocabulary knows have no weights yet.

    Stop words are ignored. A word that the model does not know is read in captions, if some hold
    it; by sight its synonyms stand for it, if they are known. One that no caption holds is replaced
    where its meaning or spelling is known, and else left out and named, with words close to it.
    """
    model = now.words
    reader = _Reader(model.vocabulary, now.written, model.words)
    if model.is_encoded:
        return _encoded_terms(query, now, reader)
    query, phrases = read_phrases(query, model.vocabulary, reader.is_held)
    vector = query_vector(query, model.vocabulary, reader.meant)
    terms = _known_terms(vector, reader)
    terms += [
        reader.read(word, weight)
        for word, weight in reader.unseen(query).items()
        if word in vector.unknown
    ]
    words = model.vocabulary.words
    unknown = {
        word: [
            *(words[one.number] for one in translations(word, model.vocabulary)),
            *closest_words(word, words),
        ]
        for word in vector.unknown
        if word not in reader.own
    }
    replaced = phrases | vector.replaced
    unsure = tuple(word for word in replaced if is_guess(word, model.vocabulary))
    return QueryTerms(terms, vector.numbers, unknown, replaced, unsure)


def _known_terms(vector: QueryVector, reader: _Reader) -> list[QueryTerm]:
    """Words of the vocabulary, in its order: so scores do not depend on how a query is written."""
    numbers, weights = vector.numbers.tolist(), vector.weights.tolist()
    return [reader.known(n, weight) for n, weight in zip(numbers, weights, strict=True)]


def _encoded_terms(query: Query, now: Snapshot, reader: _Reader) -> QueryTerms:
    """As `_read`, where any word can be seen: those that no model has met go together.

    But words that stand in captions which were learnt from, and that still have no column, are
    words that pictures cannot show.
    """
    from visterm.collection.search.encoded_words import encoded_weights

    model = now.words
    vector = query_vector(query, model.vocabulary)
    terms = _known_terms(vector, reader)
    encoded: dict[str, float] = {}
    read: dict[str, float] = {}
    for phrase, weight in unknown_phrases(query, model.vocabulary, reader.holds):
        captions = reader.own.get(phrase, NOBODY).captions
        is_unseen = captions.size >= _LEARNT and model.version.is_trained
        where = read if is_unseen else encoded
        where[phrase] = where.get(phrase, 0.0) + weight
    terms += [reader.read(word, weight) for word, weight in read.items()]
    made = encoded_weights(now, list(encoded))
    for (phrase, weight), weights in zip(encoded.items(), made, strict=True):
        term = reader.term(phrase, weight, reader.own.get(phrase, NOBODY))
        terms.append(replace(term, weights=weights, is_mentioned=bool(term.captioned.size)))
    return QueryTerms(terms, vector.numbers, {}, {}, encoded=tuple(encoded))


def written_terms(query: Query, written: WrittenWords) -> QueryTerms:
    """The words of a query that captions or names hold, where there is no model."""
    reader = _Reader(None, written, 0)
    words = [word for word, _ in query.words if word not in STOP_WORDS]
    unknown: dict[str, list[str]] = {word: [] for word in words if not reader.holds(word)}
    terms = [reader.read(word, weight) for word, weight in reader.unseen(query).items()]
    return QueryTerms(terms, np.empty(0, np.int64), unknown, {})


class Calibrated(Protocol):
    """What scores of a query are worth."""

    def probabilities(self, words: ArrayLike, weights: ArrayLike, scores: ArrayLike) -> Floats: ...

    def least_score(self, words: ArrayLike, weights: ArrayLike, probability: float) -> float: ...


def calibration_of(model: WordModel, found: QueryTerms) -> Calibrated | None:
    """How to tell probabilities and the cut-off of a query; None where nothing is known."""
    if not found.terms:
        return None
    if any(term.weights is None for term in found.terms):
        return IndependentWords()
    known = word_calibration(model, found.numbers)
    if not found.encoded or known is None:
        return known
    from visterm.collection.search.encoded_words import calibrated

    return calibrated(known, len(found.encoded))


def word_calibration(model: WordModel, numbers: Ids) -> Calibration | None:
    """What scores of words of the vocabulary are worth; None where nothing is known."""
    # Of words that a yes began no held-out picture says what a score is worth.
    is_new = (numbers >= model.words).any()
    return None if is_new or not model.calibration.is_known else model.calibration


class IndependentWords:
    """For queries with words that nobody can see: what their captions say is as good as settled.

    >>> found = IndependentWords()
    >>> found.probabilities([], [1.0, 2.0], np.log([0.125])).round(2).tolist()
    [0.25]
    >>> round(float(np.exp(found.least_score([], [1.0], 0.4))), 2)
    0.4
    """

    def probabilities(self, words: ArrayLike, weights: ArrayLike, scores: ArrayLike) -> Floats:
        return np.exp(np.minimum(self._scale(weights) * np.asarray(scores, np.float64), 0.0))

    def least_score(self, words: ArrayLike, weights: ArrayLike, probability: float) -> float:
        return float(np.log(probability)) / self._scale(weights)

    @staticmethod
    def _scale(weights: ArrayLike) -> float:
        """What makes a score one of words that count once each."""
        sizes = np.abs(np.asarray(weights, np.float64))
        return float(np.minimum(sizes, 1.0).sum()) / (float(sizes.sum()) or 1.0)


class LogProbabilities:
    """For scores that are logarithms of probabilities already."""

    def probabilities(self, words: ArrayLike, weights: ArrayLike, scores: ArrayLike) -> Floats:
        return np.exp(np.minimum(np.asarray(scores, np.float64), 0.0))

    def least_score(self, words: ArrayLike, weights: ArrayLike, probability: float) -> float:
        return float(np.nextafter(np.float32(np.log(probability)), np.float32(-np.inf)))


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
    written: WrittenWords
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
        written = self.written
        names = {source: written.holders(key, source) for source in written.sources}
        return Holders(written.holders(key), names)

    def known(self, number: int, weight: float) -> QueryTerm:
        assert self.vocabulary is not None
        holders = self._holders(self.vocabulary.keys[number])
        for word in self.standing.get(number, ()):
            holders = holders | self.own[word]
        term = self.term(self.vocabulary.words[number], weight, holders)
        return replace(term, is_mentioned=number < self.learnt)

    def read(self, word: str, weight: float) -> QueryTerm:
        return self.term(word, weight, self.own[word])

    def unseen(self, query: Query) -> dict[str, float]:
        """The words that only captions and names know, with their weights."""
        weights: dict[str, float] = {}
        for word, weight in query.words:
            if word in self.own:
                weights[word] = weights.get(word, 0.0) + weight
        return weights

    def term(self, word: str, weight: float, holders: Holders) -> QueryTerm:
        count = holders.count
        frequency = (count + 0.5) / (self.written.worded + count + 1)
        named = {
            source: (pictures, CERTAINTY[source])
            for source, pictures in holders.names.items()
            if pictures.size
        }
        return QueryTerm(word, weight, None, holders.captions, frequency, named=named)
