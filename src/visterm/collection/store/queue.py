"""Changes that wait for a writer to finish: written down at once, and done in their order.

Putting one in needs no writer's lock: it is one insertion of SQLite's own, on the disk when it
returns. Whoever holds the lock next does what waits. A change that would do something else when it
is done twice is taken out in its own transaction (`finish`), any other after it: a kill in between
does that one again, which changes nothing. One that can never be done is set aside, and reported.
"""

from __future__ import annotations

import contextlib
import json
from typing import Any, NamedTuple

from visterm.collection.store.catalogue import Catalogue

_MOST = 100
"""So many changes that were set aside are reported; older ones have been for long."""


class QueuedChange(NamedTuple):
    """A verb of a collection and its values, in the order of ``number``."""

    number: int
    verb: str
    values: dict[str, Any]


def put(catalogue: Catalogue, verb: str, values: dict[str, Any]) -> int:
    """Write a change down; it is on the disk when this returns."""
    with catalogue.explained():
        change = json.dumps([verb, values], ensure_ascii=False)  # for SQLite to refuse halves
        made = catalogue.db.execute("INSERT INTO queue (change) VALUES (?)", (change,))
    return int(made.lastrowid or 0)


def first(catalogue: Catalogue) -> QueuedChange | None:
    """The change that waits longest."""
    found = catalogue.db.execute("SELECT * FROM queue WHERE id > 0 ORDER BY id LIMIT 1").fetchone()
    return None if found is None else QueuedChange(found[0], *_read(found[1], dict))


def waiting(catalogue: Catalogue) -> int:
    """How many changes wait."""
    return int(catalogue.one("SELECT count(*) FROM queue WHERE id > 0"))


def finish(catalogue: Catalogue) -> None:
    """Take out the change that is being done, inside the transaction that does it."""
    catalogue.db.execute("DELETE FROM queue WHERE id = ?", (catalogue.applying,))


def drop(catalogue: Catalogue, number: int) -> None:
    """Take out a change that is done; the caller holds the lock."""
    with catalogue.transaction(lasting=False) as db:
        db.execute("DELETE FROM queue WHERE id = ?", (number,))


def set_aside(catalogue: Catalogue, change: QueuedChange, reason: str) -> None:
    """Keep a change that can never be done, with the reason, where it is in nobody's way."""
    kept = json.dumps([change.verb, change.values, reason])
    with catalogue.transaction() as db:
        db.execute("UPDATE queue SET id = -id, change = ? WHERE id = ?", (kept, change.number))
        db.execute(
            "DELETE FROM queue WHERE id IN (SELECT id FROM queue WHERE id < 0 ORDER BY id "
            f"LIMIT -1 OFFSET {_MOST})"
        )


def reports(catalogue: Catalogue) -> list[str]:
    """What was set aside and why, a sentence each, the oldest first."""
    found = catalogue.db.execute("SELECT change FROM queue WHERE id < 0 ORDER BY id DESC")
    said = [
        f"{verb} {json.dumps(values, ensure_ascii=False)} could not be done: {reason}"
        for verb, values, reason in (_read(change, object, str) for (change,) in found)
    ]
    return [one.encode("utf-8", errors="replace").decode() for one in said]


def _read(change: Any, *kinds: type) -> list[Any]:
    """A verb and what belongs to it; that nobody can read it, where others wrote it."""
    with contextlib.suppress(TypeError, ValueError, RecursionError):
        read = json.loads(change)
        if all(isinstance(one, kind) for one, kind in zip(read, (str, *kinds), strict=True)):
            return list(read)
    return ["unreadable", {}, "visterm did not write it"][: 1 + len(kinds)]
