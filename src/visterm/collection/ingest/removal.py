"""Removing pictures from the catalogue, with captions and vectors; their files stay."""

from __future__ import annotations

from collections.abc import Sequence

from visterm.collection.store.catalogue import Catalogue, below_pattern
from visterm.errors import BadInput


def remove(catalogue: Catalogue, paths: Sequence[str]) -> int:
    """Forget files, folders, prefixes, shards or tables; returns how many pictures that were.

    A picture that also lies elsewhere keeps what is known about it. The paths are passed over from
    now on, and sources are not asked any more. The caller holds the lock.
    """
    count = "SELECT count(*) FROM pictures WHERE video IS NULL"
    with catalogue.transaction() as db:
        before = catalogue.one(count)
        for path in paths:
            if not path:
                raise BadInput("the whole collection is removed with --everything")
            folder, _, name = path.rpartition("/")
            condition = "(folder = ? AND name = ?) OR folder = ? OR folder LIKE ? ESCAPE '\\'"
            values = (folder, name, path, below_pattern(path))
            gone = db.execute(f"DELETE FROM places WHERE {condition}", values).rowcount
            gone += db.execute(f"DELETE FROM skipped WHERE {condition}", values).rowcount
            gone += db.execute("DELETE FROM places WHERE listed = ?", (path,)).rowcount
            gone += db.execute(
                "DELETE FROM sources WHERE location = ? OR location LIKE ? ESCAPE '\\'",
                (path, below_pattern(path)),
            ).rowcount
            if not gone:
                raise BadInput(f"{path} is not in the collection, so it cannot be removed")
            db.execute("INSERT OR IGNORE INTO excluded VALUES (?)", (path,))
        db.execute(
            """DELETE FROM pictures WHERE video IS NULL
                AND id NOT IN (SELECT picture FROM places)"""
        )
        return int(before - catalogue.one(count))


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
