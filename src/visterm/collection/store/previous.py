"""What answered before the features were switched: settings, versions, and how much clicks counted.

It is remembered until the next switch, or until the vectors of before are dropped; for as long,
the files of its versions stay, and an undo puts everything back as it was.
"""

from __future__ import annotations

import json
from typing import Any

from visterm.collection.store import events
from visterm.collection.store.catalogue import Catalogue

_SETTING = "previous"
_SETTINGS = ("features", "extractor", "begun", "completeness", "trained_changes", "untrained")


def remember(catalogue: Catalogue, features: str) -> None:
    """Write down how things are before a switch to other features, inside its transaction."""
    number = events.put_done(
        catalogue, "upgrade", {"features": features}, {"features": catalogue.get("features")}
    )
    db = catalogue.db
    kept = {
        "event": number,
        "settings": {name: catalogue.get(name) for name in _SETTINGS},
        "versions": _rows(catalogue, "versions"),
        "steps": db.execute("SELECT step, id FROM feedback").fetchall(),
    }
    catalogue.set(_SETTING, json.dumps(kept))


def bring_back(catalogue: Catalogue, number: int) -> bool:
    """Put things as they were before a switch, by its number in the log, inside a transaction.

    Returns False where that is not remembered any more. Clicks are to be learnt again, and
    pictures that came since are to be described.
    """
    kept = _remembered(catalogue)
    if kept.get("event") != number:
        return False
    db = catalogue.db
    for name, value in kept["settings"].items():
        catalogue.set(name, value)
    db.execute("DELETE FROM versions")
    for row in kept["versions"]:
        marks = ", ".join("?" * len(row))
        db.execute(f"INSERT INTO versions ({', '.join(row)}) VALUES ({marks})", [*row.values()])
    db.executemany("UPDATE feedback SET step = ? WHERE id = ?", kept["steps"])
    db.execute("DELETE FROM directions")
    db.execute("UPDATE folders SET mtime_ns = -1")
    forget(catalogue)
    return True


def forget(catalogue: Catalogue) -> None:
    """Remember no switch any more, inside a transaction."""
    catalogue.set(_SETTING, None)


def named_files(catalogue: Catalogue) -> set[str]:
    """The files of versions that an undo may need, below the store, and their folders."""
    versions = _remembered(catalogue).get("versions", ())
    files = {f"models/{row['id']}/{file}" for row in versions for file in json.loads(row["files"])}
    return files | {f"models/{row['id']}" for row in versions}


def _remembered(catalogue: Catalogue) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(catalogue.get(_SETTING) or "{}")
    return found


def _rows(catalogue: Catalogue, table: str) -> list[dict[str, Any]]:
    found = catalogue.db.execute(f"SELECT * FROM {table} ORDER BY id")
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
