"""Which sources a collection follows, what they were like when they were last listed, and which are
removed.

A file that was removed counts as one that has vanished; by the number it has instead, the event
that removed it is known: what is known of its picture waits for an undo.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from visterm.collection.store.catalogue import Catalogue, below_pattern
from visterm.collection.store.location import below
from visterm.collection.store.urls import is_url, is_within
from visterm.errors import BadInput

if TYPE_CHECKING:
    from visterm.collection.ingest.survey import Survey

_KNOWN = "SELECT count(DISTINCT picture) FROM places WHERE vanished >= 0"
_FREED = 1000, 0.25
"""So many vectors of removed pictures, and such a part of all, are worth the space they take."""


def scope_of(root: Path, path: str | os.PathLike[str]) -> str:
    """What somebody names, as it is followed: a path below the collection's folder, or a URL."""
    from visterm.collection.sources.folders import is_container

    inside = below(root, path)
    if inside is None and is_container(path):
        return f"file://{os.path.abspath(path)}"
    if inside is None:
        raise BadInput(f"{os.fspath(path)} is outside the collection {root}")
    return inside


def begin(catalogue: Catalogue, root: Path, paths: Iterable[str]) -> None:
    """Note which sources are about to be listed, so that a stop half-way is noticed later."""
    from visterm.collection.sources.folders import FILE, FOLDER, kind_of

    with catalogue.transaction() as db:
        for path in paths:
            kind = kind_of(root, path)
            if kind == FOLDER and not is_url(path):
                db.execute("INSERT OR REPLACE INTO folders VALUES (?, -1)", (path,))
            elif kind != FILE:
                db.execute(
                    """INSERT INTO sources VALUES (?, 1, -1)
                        ON CONFLICT (location) DO UPDATE SET named = 1""",
                    (path,),
                )


def finish(plan: Survey) -> None:
    """Remember how the sources were found, inside the transaction that ends an ``add``."""
    db = plan.catalogue.db
    for table, key in (("folders", "folder"), ("sources", "location")):
        unnamed = "" if table == "folders" else " WHERE NOT named"
        for (path,) in db.execute(f"SELECT {key} FROM {table}{unnamed}").fetchall():
            if any(is_within(path, scope) for scope in plan.scopes):
                db.execute(f"DELETE FROM {table} WHERE {key} = ?", (path,))
    plan.keep_mounts()
    db.execute("INSERT OR REPLACE INTO folders SELECT * FROM temp.listed")
    db.execute(
        """INSERT INTO sources SELECT location, 0, stamp FROM temp.stamped WHERE true
            ON CONFLICT (location) DO UPDATE SET stamp = excluded.stamp"""
    )
    db.execute("DELETE FROM skipped WHERE (folder, name) IN (SELECT * FROM temp.unskipped)")
    db.execute("INSERT OR REPLACE INTO skipped SELECT * FROM temp.missing")
    db.execute(
        """UPDATE places SET listed = NULL, caption = NULL
            WHERE id IN (SELECT place FROM temp.unlisted)"""
    )


def scopes(catalogue: Catalogue, *, remote: bool = True) -> list[str]:
    """What was asked for, each with all it contains; nothing in a new collection.

    Without ``remote`` only what lies below the collection's folder.
    """
    outermost: list[str] = []
    for (folder,) in catalogue.db.execute("SELECT folder FROM folders ORDER BY folder"):
        if not any(is_within(folder, outer) for outer in outermost):
            outermost.append(folder)
    named = catalogue.db.execute("SELECT location FROM sources WHERE named ORDER BY location")
    return outermost + [path for (path,) in named if remote or not is_url(path)]


def changed_scopes(catalogue: Catalogue, root: Path, folders: Iterable[str]) -> list[str]:
    """What is to be listed again where these folders have changed: of what is followed, and there.

    A folder that is gone is one of what its outer folder holds.
    """
    followed = scopes(catalogue, remote=False)
    changed: set[str] = set()
    for folder in folders:
        while folder and not os.path.isdir(os.path.join(root, folder)):
            folder = folder.rpartition("/")[0]
        if any(is_within(folder, outer) for outer in followed):
            changed.add(folder)
        else:
            changed.update(outer for outer in followed if is_within(outer, folder))
    return sorted(s for s in changed if not any(s != o and is_within(s, o) for o in changed))


def edited(catalogue: Catalogue, root: Path, most: int) -> bool:
    """Whether a file, or a sidecar, was changed in its place: its folder does not show that.

    Every file is looked at, so it is asked only where there are not more than so many.
    """
    count = "SELECT count(*) FROM (SELECT 1 FROM places WHERE offset IS NULL LIMIT ?)"
    if catalogue.one(count, most + 1) > most:
        return False
    from visterm.collection.sources.folders import list_folder

    known = {
        (folder, name): rest
        for folder, name, *rest in catalogue.db.execute(
            """SELECT folder, name, size, mtime_ns, sidecars FROM places
                WHERE NOT vanished AND offset IS NULL AND instr(folder, '://') = 0"""
        )
    }
    for folder in {folder for folder, _ in known}:
        for file in list_folder(root, folder):
            old = known.get((folder, file.name))
            if old is not None and old != [file.size, file.mtime_ns, file.sidecars]:
                return True
    return False


def unchanged(catalogue: Catalogue, root: Path) -> bool:
    """Whether every folder is as it was when last listed: no picture came, went or was renamed.

    So are shards and tables below the collection's folder; nobody else is asked.
    """
    question = "SELECT folder, mtime_ns FROM folders UNION ALL SELECT location, stamp FROM sources"
    for path, mtime_ns in catalogue.db.execute(question):
        if is_url(path):
            continue
        try:
            if os.stat(os.path.join(root, path)).st_mtime_ns != mtime_ns:
                return False
        except OSError:
            return False
    return True


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
