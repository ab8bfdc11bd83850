"""Removing pictures: nobody finds them any more, and what is known of them waits for an undo.

A file that was removed counts as one that has vanished; by the number it has instead, the event
that removed it is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from visterm.collection.store.catalogue import Catalogue, below_pattern
from visterm.errors import BadInput

_KNOWN = "SELECT count(DISTINCT picture) FROM places WHERE vanished >= 0"
_FREED = 1000, 0.25
"""So many vectors of removed pictures, and such a part of all, are worth the space they take."""


def remove(catalogue: Catalogue, paths: Sequence[str], number: int) -> tuple[int, dict[str, Any]]:
    """Hide files, folders, prefixes, shards or tables, in a transaction, as the event ``number``.

    Returns how many pictures that were, and what `restore` needs. A picture that also lies
    elsewhere stays. The paths are passed over from now on, and sources are not asked any more.
    """
    db, before = catalogue.db, catalogue.one(_KNOWN)
    removed: dict[str, list[Any]] = {"excluded": [], "sources": []}
    for path in paths:
        if not path:
            raise BadInput("the whole collection is removed with --everything")
        folder, _, name = path.rpartition("/")
        condition = "(folder = ? AND name = ?) OR folder = ? OR folder LIKE ? ESCAPE '\\'"
        values = (folder, name, path, below_pattern(path))
        gone = db.execute(
            f"""UPDATE places SET vanished = -2 * ? - vanished
                WHERE vanished >= 0 AND ({condition} OR listed = ?)""",
            (number, *values, path),
        ).rowcount
        gone += db.execute(f"DELETE FROM skipped WHERE {condition}", values).rowcount
        within = "FROM sources WHERE location = ? OR location LIKE ? ESCAPE '\\'"
        sources = db.execute(f"SELECT * {within}", (path, below_pattern(path))).fetchall()
        db.execute(f"DELETE {within}", (path, below_pattern(path)))
        if not gone and not sources:
            raise BadInput(f"{path} is not in the collection, so it cannot be removed")
        removed["sources"] += sources
        if db.execute("INSERT OR IGNORE INTO excluded VALUES (?)", (path,)).rowcount:
            removed["excluded"].append([path])
    return int(before - catalogue.one(_KNOWN)), removed


def restore(catalogue: Catalogue, number: int, removed: dict[str, Any]) -> int:
    """Let pictures be found again that the event ``number`` removed, in a transaction."""
    db, before = catalogue.db, catalogue.one(_KNOWN)
    db.execute(
        "UPDATE places SET vanished = -vanished - 2 * ?1 WHERE vanished IN (-2 * ?1, -2 * ?1 - 1)",
        (number,),
    )
    db.executemany("INSERT OR REPLACE INTO sources VALUES (?, ?, ?)", removed["sources"])
    db.executemany("DELETE FROM excluded WHERE path = ?", removed["excluded"])
    db.execute("UPDATE folders SET mtime_ns = -1")  # files may have come and gone there meanwhile
    return int(catalogue.one(_KNOWN) - before)


def free_rows(catalogue: Catalogue) -> None:
    """Let go of vectors of removed pictures where they are many; the caller holds the lock.

    Should they come back, they are described again.
    """
    removed = """SELECT picture FROM places WHERE vanished < 0 AND picture IN
        (SELECT id FROM pictures WHERE present <= 0)"""
    every = f"{removed} UNION SELECT id FROM pictures WHERE video IN ({removed})"
    count = catalogue.one(f"SELECT count(*) FROM rows WHERE picture IN ({every})")
    if count >= max(_FREED[0], _FREED[1] * catalogue.one("SELECT count(*) FROM rows")):
        with catalogue.transaction() as db:
            db.execute(f"DELETE FROM rows WHERE picture IN ({every})")


def welcome(catalogue: Catalogue, paths: Sequence[str]) -> None:
    """Let in again what was removed, because somebody names it; the caller holds the lock."""
    with catalogue.transaction() as db:
        for path in paths:
            db.execute(
                "DELETE FROM excluded WHERE path = ? OR path LIKE ? ESCAPE '\\'",
                (path, below_pattern(path) if path else "%"),
            )
            outer = "SELECT path FROM excluded WHERE substr(?, 1, length(path) + 1) = path || '/'"
            removed = catalogue.one(outer, path)
            if removed is not None:
                raise BadInput(f"{path} lies in {removed}, which was removed; add {removed} first")
