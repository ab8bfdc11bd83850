"""The log of clicks: what a person said about pictures as answers to their queries."""

from __future__ import annotations

import time
from dataclasses import dataclass

from visterm.collection.store.catalogue import Catalogue
from visterm.errors import BadInput
from visterm.text.filters import parse_filter
from visterm.text.query import Query, parse_query


@dataclass(frozen=True)
class Judgement:
    """One yes or no: to which words, about which picture, and when."""

    id: int
    query: str
    picture: int
    relevant: bool
    time: float
    weight: float
    """How much it counts: 1, less where captions or held-out pictures speak against it, or 0."""


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


def entries(catalogue: Catalogue, wanted: str = "1", *values: object) -> list[Judgement]:
    """The log in its order; ``wanted`` is the WHERE of an SQL question."""
    found = catalogue.db.execute(
        f"SELECT {_COLUMNS} FROM clicks WHERE {wanted} ORDER BY id", values
    )
    return [
        Judgement(number, query, picture, bool(answer), at, step)
        for number, query, picture, answer, at, step in found
    ]


def by_query(catalogue: Catalogue) -> dict[str, list[Judgement]]:
    """The whole log, by the words of its queries."""
    grouped: dict[str, list[Judgement]] = {}
    for entry in entries(catalogue):
        grouped.setdefault(entry.query, []).append(entry)
    return grouped


def judged_pictures(catalogue: Catalogue, words: str) -> dict[int, bool]:
    """The relevance feedback for a query, given by its `words_of`: yes or no by picture."""
    found = catalogue.db.execute("SELECT picture, answer FROM clicks WHERE query = ?", (words,))
    return {picture: bool(answer) for picture, answer in found}


def write(catalogue: Catalogue, query: str, picture: int, relevant: bool) -> Judgement:
    """Append a judgement, inside a transaction; what was said before about the same is gone."""
    db = catalogue.db
    db.execute("DELETE FROM feedback WHERE query = ? AND picture = ?", (query, picture))
    now = time.time()
    number = db.execute(
        "INSERT INTO feedback (query, picture, answer, time) VALUES (?, ?, ?, ?)",
        (query, picture, int(relevant), now),
    ).lastrowid
    return Judgement(int(number or 0), query, picture, relevant, now, 1.0)


def set_step(catalogue: Catalogue, entry: Judgement, step: float) -> None:
    """Remember how much a judgement counts, inside a transaction."""
    if step != entry.weight:
        catalogue.db.execute("UPDATE feedback SET step = ? WHERE id = ?", (step, entry.id))


def _spelt(word: str, weight: float) -> str:
    sign, size = ("-" if weight < 0 else ""), abs(weight)
    if weight == 1 and parse_filter(word) is not None:
        return f'"{word}"'  # a year that is a word
    return f"{sign}{word}" if size == 1 else f"{sign}{word}:{size:g}"
