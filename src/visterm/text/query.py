"""The query language: what a person types, read into words with weights, and filters.

``tree snow`` asks for both, ``-people`` for pictures without, ``snow:2`` counts a word twice as
much. ``tree OR snow`` (or ``|``) asks for either, and parentheses group. ``in:FOLDER``,
``captioned:no``, ``May 1972`` and others narrow the pictures (`visterm.text.filters`). Quotes hold
spaces together, as in ``in:"summer 2019"``; a quoted word is never a filter or operator, and never
translated.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from functools import lru_cache
from itertools import groupby, takewhile
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput, encodable
from visterm.quick_dataclass import dataclass
from visterm.text.dates import dated_phrase
from visterm.text.filters import NO_FILTERS, Filters, parse_filter
from visterm.text.tokens import tokens

if TYPE_CHECKING:
    from visterm.text.vocabulary import Vocabulary

Meant: TypeAlias = "Callable[[str, Vocabulary], Sequence[tuple[int, float]]]"
"""Finds the numbers of known words that can stand for an unknown one, and their shares."""

MORE_WORDS = (
    "to teach a word, say yes to pictures that show it (visterm feedback yes WORD PICTURE); an "
    "image-text encoder knows any word (visterm encoder add)"
)
"""What to do about a word that is not known."""
Term: TypeAlias = tuple[str, bool]
"""A part of a query, and whether it was quoted."""
MOST_ALTERNATIVES = 32
_OPERATORS = ("OR", "|", "(", ")")
_OR = (("OR", False), ("|", False))
_QUOTES = {'"': '"', "“": "”", "„": "“"}
_WEIGHT = re.compile(r"(.+):([^:]*)")
_TIME = re.compile(r"\d{1,2}:\d\d")
_FOR_WORDS = re.compile(r"-\w.*|(?!\d+:)\w+:-?[\d.]+")
"""What only queries of words have: -people, snow:2, snow:-0.5."""


class UnknownWords(BadInput):
    """The model knows no word of a query; ``unknown`` has close ones for each."""

    def __init__(self, message: str, unknown: dict[str, list[str]]) -> None:
        super().__init__(message)
        self.unknown = unknown


class Alternative(NamedTuple):
    """Words, and filters that must all hold, those of each pair of parentheses apart."""

    words: tuple[tuple[str, float], ...] = ()
    filters: tuple[Filters, ...] = ()

    def __and__(self, other: Alternative) -> Alternative:
        return Alternative(self.words + other.words, self.filters + other.filters)


@dataclass(frozen=True)
class Query:
    """A query as it was meant: words with their weights in order, and filters.

    Negative weights are of words that should not be seen.
    """

    words: tuple[tuple[str, float], ...] = ()
    filters: Filters = NO_FILTERS
    alternatives: tuple[Alternative, ...] = ()
    """Where a query has OR or groups: what a picture may answer; then words and filters are of
    none."""
    own_words: frozenset[str] = frozenset()
    """Words of other languages that are not to be translated: ``"Rosa"`` is nothing pink."""

    @property
    def is_empty(self) -> bool:
        return not self.words and not self.filters and not self.alternatives


@dataclass(frozen=True, eq=False)
class QueryVector:
    """A query in the text space of a vocabulary, and the words it does not know.

    Each word counts as often as it was asked for, and what a person weighs more, more.
    ``replaced`` are unknown words that known ones stand for, which ``unknown`` then leaves out.
    """

    numbers: NDArray[np.int64]
    weights: NDArray[np.float32]
    unknown: tuple[str, ...]
    replaced: dict[str, list[str]] = field(default_factory=dict)

    def by_idf(self, idf: NDArray[np.float64]) -> QueryVector:
        """The same with ``q_t ∝ w_t · idf_t`` of unit length, as models meet their queries.

        Where every word has idf 0 they count alike.

        >>> plain = QueryVector(np.array([0, 1]), np.float32([1, 1]), ())
        >>> plain.by_idf(np.array([3.0, 4.0])).weights
        array([0.6, 0.8], dtype=float32)
        """
        weights = self.weights * idf[self.numbers]
        if not weights.any():
            weights = self.weights.astype(np.float64)
        length = float(np.sqrt(np.square(weights).sum())) or 1.0
        return replace(self, weights=(weights / length).astype(np.float32))


@lru_cache(maxsize=4096)
def parse_query(text: str) -> Query:
    """Read a query of words.

    >>> parse_query("snow:2 tree -people in:alps captioned:no").words
    (('snow', 2.0), ('tree', 1.0), ('people', -1.0))
    >>> parse_query('"Hund" Katze').own_words
    frozenset({'hund'})

    Raises
    ------
    BadInput
        Where it cannot be read, with what to write instead.
    """
    parts = _terms(text)
    own_words = _own_words(parts)
    if not any(not quoted and term in _OPERATORS for term, quoted in parts):
        words, (filters,) = _run(parts)[0]
        return Query(words, filters, own_words=own_words)
    alternatives, rest = _alternatives(parts)
    if rest:
        raise BadInput(f"a parenthesis is closed that was not opened in {text!r}")
    if len(alternatives) == 1 and len(given := list(filter(None, alternatives[0].filters))) < 2:
        words, filters = alternatives[0].words, given[0] if given else NO_FILTERS
        return Query(words, filters, own_words=own_words)
    return Query(alternatives=tuple(dict.fromkeys(alternatives)), own_words=own_words)


def _own_words(parts: list[Term]) -> frozenset[str]:
    """Words of other languages that stand for themselves."""
    written = [(term, quoted) for term, quoted in parts if quoted or term != term.lower()]
    if not written:
        return frozenset()
    from visterm.text.translations import is_own_word

    return frozenset(
        word for term, quoted in written for word in tokens(term) if is_own_word(term, word, quoted)
    )


def _alternatives(parts: list[Term]) -> tuple[list[Alternative], list[Term]]:
    """What may be answered, up to a closing parenthesis, and what stands from there on."""
    every, now = list[Alternative](), list[Alternative]()
    while parts and parts[0] != (")", False):
        if parts[0] in _OR:
            if not now:
                raise BadInput("OR stands between two things; quote it where it is a word")
            every, now, parts = every + now, [], parts[1:]
            if not parts or parts[0] == (")", False):
                raise BadInput("OR stands between two things; quote it where it is a word")
            continue
        if parts[0] == ("(", False):
            inner, parts = _alternatives(parts[1:])
            if not parts:
                raise BadInput("a parenthesis is not closed; close it, or quote it")
            parts = parts[1:]
        else:
            is_end = [not quoted and term in _OPERATORS for term, quoted in [*parts, (")", False)]]
            run, parts = parts[: is_end.index(True)], parts[is_end.index(True) :]
            if run[-1] == ("-", False) and parts[:1] == [("(", False)]:
                raise BadInput("a group cannot be unwanted; write a minus before each word")
            inner = _run(run)
        now = [one & other for one in now or [Alternative()] for other in inner]
        if len(every) + len(now) > MOST_ALTERNATIVES:
            raise BadInput(f"a query has at most {MOST_ALTERNATIVES} alternatives; ask for fewer")
    return every + now, parts


def _run(parts: list[Term]) -> list[Alternative]:
    """Words and filters without operators, as the only alternative."""
    if ("NOT", False) in parts:
        raise BadInput("for pictures without something write -word, not NOT word; quote a word NOT")
    terms, filters = _without_filters(parts, dates=True)
    words = tuple(word for term, quoted in terms for word in _weighted(term, quoted))
    return [Alternative(words, (filters,))]


def parse_sentence(text: str) -> tuple[str, Filters, tuple[tuple[str, float], ...]]:
    """Read a query that is a whole sentence: its text, filters, and words beside it with weights.

    ``-people`` and ``snow:2`` are such words. A year in a sentence is a word of it; ``after:`` and
    ``before:`` narrow by time.

    >>> said, filters, words = parse_sentence('at 10:30, a dog in:"summer 2019" -people')
    >>> said, filters.folders, words
    ('at 10:30, a dog', ('summer 2019',), (('people', -1.0),))
    """
    parts = [(term, quoted) for term, quoted in _terms(text) if term not in "()|" or quoted]
    terms, filters = _without_filters(parts, dates=False)
    beside = [term for term in terms if not term[1] and _FOR_WORDS.fullmatch(term[0])]
    words = tuple(word for term, quoted in beside for word in _weighted(term, quoted))
    return " ".join(term for term, quoted in terms if (term, quoted) not in beside), filters, words


def _without_filters(rest: list[Term], *, dates: bool) -> tuple[list[Term], Filters]:
    """The terms that are no filters, each with whether it was quoted, and the filters."""
    terms: list[Term] = []
    filters = NO_FILTERS
    while rest:
        plain = [term for term, _ in takewhile(lambda one: not one[1], rest)]
        dated = dated_phrase(plain) if dates else None
        found = parse_filter(plain[0]) if plain and dated is None else None
        if dated is not None:
            filters &= Filters(periods=dated[1])
        elif found is not None:
            filters &= found
        else:
            terms.append(rest[0])
        rest = rest[dated[0] if dated else 1 :]
    return terms, filters


def query_vector(query: Query, vocabulary: Vocabulary, meant: Meant | None = None) -> QueryVector:
    """The words of a query, each with its weight: 1 where a person wrote none.

    A word that stands twice has its weights added up. For a word that the vocabulary does not know,
    or by its stem only where it means another in another language, those known ones stand in that
    ``meant`` finds, each with its share, unless it is one of the query's ``own_words``; other
    unknown words are left out. Both are named.

    >>> from visterm.text import Vocabulary
    >>> known = Vocabulary(("sea", "sun"), np.array([3.0, 4.0]))
    >>> found = query_vector(parse_query("sun:2 sea moon"), known)
    >>> found.numbers, found.weights, found.unknown
    (array([0, 1]), array([1., 2.], dtype=float32), ('moon',))
    """
    sums: dict[int, float] = {}
    unknown: dict[str, None] = {}
    replaced: dict[str, list[str]] = {}
    for word, weight in _with_names(query.words, vocabulary):
        number = vocabulary.number(word)
        is_own = word in query.own_words
        is_read = number is not None and not (
            meant and not is_own and _is_foreign(word, number, vocabulary)
        )
        found: Sequence[tuple[int, float]] = []
        if meant and not is_read and not is_own:
            found = meant(word, vocabulary)
        if found:
            replaced[word] = [vocabulary.words[one] for one, _ in found]
        elif number is not None:
            found = [(number, 1.0)]
        else:
            unknown[word] = None
        for one, share in found:
            sums[one] = sums.get(one, 0.0) + share * weight
    numbers = np.array(sorted(sums), dtype=np.int64)
    weights = np.array([sums[number] for number in numbers.tolist()], np.float32)
    return QueryVector(numbers, weights, tuple(unknown), replaced)


def _is_foreign(word: str, number: int, vocabulary: Vocabulary) -> bool:
    """Whether a word has this number by its English stem only, and means another: *Welle* no well.

    Plurals are English: whoever knows *pins* means those by *pin*, and no French pine.
    """
    written = vocabulary.words[number]
    if any(written + s == word or word + s == written for s in ("", "s", "es")):
        return False
    from visterm.text.meaning import translations

    meant = [one.number for one in translations(word, vocabulary)]
    return bool(meant) and number not in meant


def _with_names(
    words: Sequence[tuple[str, float]], vocabulary: Vocabulary
) -> Iterator[tuple[str, float]]:
    """Words and weights, neighbours of one weight joined to the names that are known."""
    for weight, some in groupby(words, key=lambda pair: pair[1]):
        for word in vocabulary.joined([word for word, _ in some]):
            yield word, weight


def _terms(text: str) -> list[Term]:
    """The parts between spaces and operators, and whether they began with a quote."""
    with encodable():
        text.encode()
    terms: list[Term] = []
    term, quoted, open_until, began = "", False, "", False
    for character in text:
        if open_until:
            if character == open_until:
                open_until = ""
            else:
                term += character
        elif character in _QUOTES:
            open_until = _QUOTES[character]
            quoted = quoted or not began
            began = True
        elif character.isspace() or character in "()|":
            if began:
                terms.append((term, quoted))
            if not character.isspace():
                terms.append((character, False))
            term, quoted, began = "", False, False
        else:
            term += character
            began = True
    if open_until:
        raise BadInput(f"a quote is not closed in {text!r}; end it with {open_until}")
    if began:
        terms.append((term, quoted))
    return terms


def _weighted(term: str, quoted: bool) -> list[tuple[str, float]]:
    """The words of one term with their weight."""
    sign = 1.0
    if term.startswith("-") and not quoted:
        sign, term = -1.0, term[1:]
    weight = 1.0
    given = None if quoted or _TIME.fullmatch(term) else _WEIGHT.fullmatch(term)
    if given is not None:
        term, number = given.groups()
        try:
            weight = float(number)
        except ValueError:
            weight = math.nan
        if not math.isfinite(weight):
            raise BadInput(
                f"the weight of {term!r} must be a number, not {number!r}; write {term}:2, or put "
                "the word in quotes"
            )
    found = tokens(term)
    if not found:
        raise BadInput(f"{term!r} is no word; leave it out")
    return [(word, sign * weight) for word in found]
