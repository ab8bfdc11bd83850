"""Changes that wait for a writer to finish: written down at once, and done in their order.

Putting one in needs no writer's lock: it is one insertion of SQLite's own, on the disk when it
returns. Whoever holds the lock next does what waits; a change that is done is taken out after it is
done, so a kill in between does it again, which changes nothing.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from visterm.collection.store.catalogue import Catalogue


class QueuedChange(NamedTuple):
    """A verb of a collection and its values, in the order of ``number``."""

    number: int
    verb: str
    values: dict[str, Any]


def put(catalogue: Catalogue, verb: str, values: dict[str, Any]) -> int:
    """Write a change down; it is on the disk when this returns."""
    with catalogue.explained():
        made = catalogue.db.execute(
            "INSERT INTO queue (change) VALUES (?)", (json.dumps([verb, values]),)
        )
    return int(made.lastrowid or 0)


def first(catalogue: Catalogue) -> QueuedChange | None:
    """The change that waits longest."""
    found = catalogue.db.execute("SELECT * FROM queue ORDER BY id LIMIT 1").fetchone()
    return None if found is None else QueuedChange(found[0], *json.loads(found[1]))


def waiting(catalogue: Catalogue) -> int:
    """How many changes wait."""
    return int(catalogue.one("SELECT count(*) FROM queue"))


def drop(catalogue: Catalogue, number: int) -> None:
    """Take out a change that is done; the caller holds the lock."""
    with catalogue.transaction(lasting=False) as db:
        db.execute("DELETE FROM queue WHERE id = ?", (number,))
