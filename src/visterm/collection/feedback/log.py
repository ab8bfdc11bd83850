"""The log of clicks: what a person said about pictures as answers to their queries."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from visterm.collection.store.catalogue import Catalogue
from visterm.errors import BadInput
from visterm.text.filters import parse_filter
from visterm.text.query import Query, QueryVector, parse_query


@dataclass(frozen=True)
class Judgement:
    """One yes or no: to which words, about which picture, and when."""

    id: int
    query: str
    picture: int
    relevant: bool
    time: float


@dataclass(frozen=True)
class Entry(Judgement):
    """A judgement as it can be learnt again."""

    step: float
    """How much it counts: 1, unless captions or held-out pictures spoke against it."""

    @property
    def judgement(self) -> Judgement:
        return Judgement(self.id, self.query, self.picture, self.relevant, self.time)


_COLUMNS = "id, query, picture, answer, time, step"


def words_of(text: str) -> str:
    """The words of a query without its conditions: a folder says nothing about a picture.

    >>> words_of("snow:2 -people tree in:alps")
    'snow:2 -people tree'
    """
    query = parse_query(text)
    if not query.words:
        raise BadInput("a yes or no needs words to answer; a query of conditions has none")
    return spelt(query)


def spelt(query: Query) -> str:
    """A query's words, written so that they are read as the same words again."""
    return " ".join(_spelt(word, weight) for word, weight in query.words)


def entries(catalogue: Catalogue, wanted: str = "1", *values: object) -> list[Entry]:
    """The log in its order; ``wanted`` is the WHERE of an SQL question."""
    found = catalogue.db.execute(
        f"SELECT {_COLUMNS} FROM feedback WHERE {wanted} ORDER BY id", values
    )
    return [
        Entry(number, query, picture, bool(answer), at, step)
        for number, query, picture, answer, at, step in found
    ]


def judged_pictures(catalogue: Catalogue, words: str) -> dict[int, bool]:
    """The relevance feedback for a query, given by its `words_of`: yes or no by picture."""
    found = catalogue.db.execute("SELECT picture, answer FROM feedback WHERE query = ?", (words,))
    return {picture: bool(answer) for picture, answer in found}


def columns(catalogue: Catalogue) -> dict[int, int]:
    """Words that clicks have changed, and their columns, counted after those of all words."""
    found = catalogue.db.execute("SELECT word, place FROM taught WHERE length(direction) > 0")
    return dict(found.fetchall())


def with_clicks(
    query: QueryVector, offsets: dict[int, int], words: int, there: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """What to ask the index: a query's words, and after all ``words`` what clicks added to them.

    A column that was added a moment ago may not be among those that are ``there`` yet. Words that
    a yes began, numbered from ``words`` on, have no column but what clicks added.
    """
    known = query.numbers < words
    added = [
        (words + offsets[word], weight)
        for word, weight in zip(query.numbers.tolist(), query.weights, strict=True)
        if word in offsets and words + offsets[word] < there
    ]
    if not added and known.all():
        return query.numbers, query.weights
    numbers = np.array([*query.numbers[known], *(place for place, _ in added)], np.int64)
    return numbers, np.array([*query.weights[known], *(weight for _, weight in added)], np.float32)


def write(catalogue: Catalogue, query: str, picture: int, relevant: bool) -> Entry:
    """Append a judgement, inside a transaction; what was said before about the same is gone."""
    db = catalogue.db
    db.execute("DELETE FROM feedback WHERE query = ? AND picture = ?", (query, picture))
    now = time.time()
    number = db.execute(
        "INSERT INTO feedback (query, picture, answer, time) VALUES (?, ?, ?, ?)",
        (query, picture, int(relevant), now),
    ).lastrowid
    return Entry(int(number or 0), query, picture, relevant, now, 1.0)


def set_step(catalogue: Catalogue, entry: Entry, step: float) -> None:
    """Remember how much a judgement counts, inside a transaction."""
    if step != entry.step:
        catalogue.db.execute("UPDATE feedback SET step = ? WHERE id = ?", (step, entry.id))


def _spelt(word: str, weight: float) -> str:
    sign, size = ("-" if weight < 0 else ""), abs(weight)
    if weight == 1 and parse_filter(word) is not None:
        return f'"{word}"'  # a year that is a word
    return f"{sign}{word}" if size == 1 else f"{sign}{word}:{size:g}"
