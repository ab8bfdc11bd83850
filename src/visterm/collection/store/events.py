"""The log: every change that people make, in one table, in the order in which they said it.

Putting one in needs no writer's lock: it is one insertion of SQLite's own, on the disk when it
returns. The queue is what waits at the end of the log: whoever holds the lock next does it, and
marks it as done in the same transaction, with how things were before, so that it is done once and
can be taken back. One that can never be done is refused, and the reason kept.

What is left of it of clicks, a yes or no to a picture as the answer to a query, lies in a table of
its own, entry by entry, so that they can be learnt again from the beginning.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from visterm.collection.store.catalogue import Catalogue
from visterm.errors import BadInput
from visterm.quick_dataclass import dataclass
from visterm.text.filters import parse_filter
from visterm.text.query import Query, parse_query

_REPORTED = 100
"""So many refused changes are reported; older ones have been for long."""


class Event(NamedTuple):
    """A verb of a collection and its values, in the order of ``number``."""

    number: int
    verb: str
    values: dict[str, Any]


def put(catalogue: Catalogue, verb: str, values: dict[str, Any]) -> int:
    """Write a change down; it is on the disk when this returns.

    Whoever holds the lock does it at once, and need not wait for the disk twice: the transaction
    that does it takes to the disk what was written before.
    """
    change = json.dumps([verb, values], ensure_ascii=False)  # for SQLite to refuse halves
    with catalogue.explained(), catalogue.unsynced(catalogue.is_writing):
        made = catalogue.db.execute("INSERT INTO events (change) VALUES (?)", (change,))
    return int(made.lastrowid or 0)


def put_done(
    catalogue: Catalogue, verb: str, values: dict[str, Any], before: dict[str, Any]
) -> int:
    """Write a change down that is done in the same transaction; ``before`` as in `finish`."""
    made = catalogue.db.execute(
        "INSERT INTO events (change, state, before) VALUES (?, 'done', ?)",
        (json.dumps([verb, values], ensure_ascii=False), json.dumps(before)),
    )
    return int(made.lastrowid or 0)


def first_waiting(catalogue: Catalogue) -> Event | None:
    """The change that waits longest."""
    row = catalogue.db.execute(
        "SELECT id, change FROM events WHERE state = 'waiting' ORDER BY id LIMIT 1"
    ).fetchone()
    return None if row is None else Event(row[0], *_read(row[1]))


def last_number(catalogue: Catalogue) -> int:
    """The number of the change that was written down last."""
    return catalogue.last_number("events")


def count_waiting(catalogue: Catalogue) -> int:
    """How many changes wait."""
    return int(catalogue.one("SELECT count(*) FROM events WHERE state = 'waiting'"))


def finish(catalogue: Catalogue, before: dict[str, Any] | None = None) -> None:
    """Mark the change that is being done, inside the transaction that does it.

    ``before`` says how things were, for `undo`; without it there is nothing to take back.
    """
    kept = None if before is None else json.dumps(before)
    catalogue.db.execute(
        "UPDATE events SET state = 'done', before = ? WHERE id = ?", (kept, catalogue.applying)
    )


def settle(catalogue: Catalogue, number: int) -> None:
    """Mark a change as done that had nothing to change; the caller holds the lock."""
    if catalogue.one("SELECT state FROM events WHERE id = ?", number) == "waiting":
        with catalogue.transaction(lasting=False) as db:
            db.execute("UPDATE events SET state = 'done' WHERE id = ?", (number,))


def refuse(catalogue: Catalogue, number: int, reason: str | None) -> None:
    """Mark a change that can never be done; without a reason, whoever said it has heard it."""
    with catalogue.transaction() as db:
        db.execute("UPDATE events SET state = 'refused', reason = ? WHERE id = ?", (reason, number))


def reports(catalogue: Catalogue) -> list[str]:
    """What was refused and why, a sentence each, the oldest first."""
    rows = catalogue.db.execute(
        """SELECT change, reason FROM events WHERE state = 'refused' AND reason IS NOT NULL
            ORDER BY id DESC LIMIT ?""",
        (_REPORTED,),
    ).fetchall()
    sentences = []
    for change, reason in reversed(rows):
        verb, values = _read(change)
        shown = json.dumps(values, ensure_ascii=False)
        sentences.append(f"{verb} {shown} could not be done: {reason}")
    return [one.encode("utf-8", errors="replace").decode() for one in sentences]


def last_step(catalogue: Catalogue) -> tuple[int, dict[str, Any]] | None:
    """The last change that can be taken back: its number, and how things were before it."""
    row = catalogue.db.execute(
        """SELECT id, before FROM events WHERE state = 'done' AND before IS NOT NULL
            ORDER BY id DESC LIMIT 1"""
    ).fetchone()
    return None if row is None else (row[0], json.loads(row[1]))


def mark_undone(catalogue: Catalogue, number: int) -> None:
    """Say that a change was taken back, inside the transaction that does it."""
    catalogue.db.execute("UPDATE events SET state = 'undone' WHERE id = ?", (number,))


def _read(change: Any) -> tuple[str, dict[str, Any]]:
    """A verb and its values; that nobody can read it, where others wrote it."""
    with contextlib.suppress(TypeError, ValueError, RecursionError):
        verb, values = json.loads(change)
        if isinstance(verb, str) and isinstance(values, dict):
            return verb, values
    return "unreadable", {}


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
    >>> words_of("Rosa"), words_of("rosa")
    ('"rosa"', 'rosa')
    """
    query = parse_query(text)
    if query.alternatives:
        raise BadInput("a yes or no is given to a search without OR; ask for one of them")
    if not query.words:
        raise BadInput("a yes or no needs words to answer; a query of conditions has none")
    return spelt(query)


def spelt(query: Query) -> str:
    """A query's words, written so that they are read as the same words again."""
    return " ".join(
        f'"{word}"' if weight == 1 and word in query.own_words else _spelt(word, weight)
        for word, weight in query.words
    )


def entries(catalogue: Catalogue, wanted: str = "1", *values: object) -> list[Judgement]:
    """The log in its order; ``wanted`` is the WHERE of an SQL question."""
    rows = catalogue.db.execute(f"SELECT {_COLUMNS} FROM clicks WHERE {wanted} ORDER BY id", values)
    return [
        Judgement(number, query, picture, bool(answer), at, step)
        for number, query, picture, answer, at, step in rows
    ]


def by_query(catalogue: Catalogue) -> dict[str, list[Judgement]]:
    """The whole log, by `click_key` of its queries."""
    grouped: dict[str, list[Judgement]] = {}
    for entry in entries(catalogue):
        grouped.setdefault(_without_quotes(entry.query), []).append(entry)
    return grouped


def click_key(query: Query) -> str:
    """The words of a query: a name that was taught in quotes is found without them, too."""
    return _without_quotes(spelt(query))


def _without_quotes(words: str) -> str:
    return words.replace('"', "")


def judged_pictures(catalogue: Catalogue, words: str) -> dict[int, bool]:
    """The relevance feedback for a query, given by its `words_of`: yes or no by picture."""
    rows = catalogue.db.execute("SELECT picture, answer FROM clicks WHERE query = ?", (words,))
    return {picture: bool(answer) for picture, answer in rows}


def write_click(catalogue: Catalogue, query: str, picture: int, relevant: bool) -> Judgement:
    """Append a judgement, inside a transaction; what was said before about the same is gone."""
    now = time.time()
    number = put_click(catalogue, query, picture, (None, int(relevant), now, 1.0))
    return Judgement(number, query, picture, relevant, now, 1.0)


def put_click(
    catalogue: Catalogue, query: str, picture: int, row: Sequence[float | None] | None
) -> int:
    """Put a click in the place of what was said about the same; returns its number.

    ``row`` has its number, None for the next one, its answer, time and step; None leaves nothing.
    """
    db = catalogue.db
    db.execute("DELETE FROM feedback WHERE query = ? AND picture = ?", (query, picture))
    if row is None:
        return 0
    inserted = "INSERT INTO feedback (query, picture, id, answer, time, step) VALUES (?,?,?,?,?,?)"
    return int(db.execute(inserted, (query, picture, *row)).lastrowid or 0)


def set_step(catalogue: Catalogue, entry: Judgement, step: float) -> None:
    """Remember how much a judgement counts, inside a transaction."""
    if step != entry.weight:
        catalogue.db.execute("UPDATE feedback SET step = ? WHERE id = ?", (step, entry.id))


def _spelt(word: str, weight: float) -> str:
    sign, size = ("-" if weight < 0 else ""), abs(weight)
    if weight == 1 and parse_filter(word) is not None:
        return f'"{word}"'  # a year that is a word
    return f"{sign}{word}" if size == 1 else f"{sign}{word}:{size:g}"
