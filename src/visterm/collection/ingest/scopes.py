"""Which sources a collection follows, and what they were like when they were last listed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from visterm.collection.sources import FILE, FOLDER, kind_of
from visterm.collection.sources.folders import list_folder
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.urls import is_url, is_within

if TYPE_CHECKING:
    from visterm.collection.ingest.plan import Survey


def begin(catalogue: Catalogue, root: Path, paths: Iterable[str]) -> None:
    """Note which sources are about to be listed, so that a stop half-way is noticed later."""
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
    db.execute("DELETE FROM skipped WHERE (folder, name) IN (SELECT * FROM temp.mended)")
    db.execute("INSERT OR REPLACE INTO skipped SELECT * FROM temp.missing")
    db.execute(
        """UPDATE places SET listed = NULL, caption = NULL
            WHERE id IN (SELECT place FROM temp.unlisted)"""
    )


def scopes(catalogue: Catalogue, *, remote: bool = True) -> list[str]:
    """What was asked for, each with all it contains; nothing in a new collection.

    Without ``remote`` only what lies below the collection's folder.
    """
    found: list[str] = []
    for (folder,) in catalogue.db.execute("SELECT folder FROM folders ORDER BY folder"):
        if not any(is_within(folder, outer) for outer in found):
            found.append(folder)
    named = catalogue.db.execute("SELECT location FROM sources WHERE named ORDER BY location")
    return found + [path for (path,) in named if remote or not is_url(path)]


def changed_scopes(catalogue: Catalogue, root: Path, folders: Iterable[str]) -> list[str]:
    """What is to be listed again where these folders have changed: of what is followed, and there.

    A folder that is gone is one of what its outer folder holds.
    """
    followed = scopes(catalogue, remote=False)
    found: set[str] = set()
    for folder in folders:
        while folder and not os.path.isdir(os.path.join(root, folder)):
            folder = folder.rpartition("/")[0]
        if any(is_within(folder, outer) for outer in followed):
            found.add(folder)
        else:
            found.update(outer for outer in followed if is_within(outer, folder))
    return sorted(one for one in found if not any(one != o and is_within(one, o) for o in found))


def edited(catalogue: Catalogue, root: Path, most: int) -> bool:
    """Whether a file, or a sidecar, was changed in its place: its folder does not show that.

    Every file is looked at, so it is asked only where there are not more than so many.
    """
    count = "SELECT count(*) FROM (SELECT 1 FROM places WHERE offset IS NULL LIMIT ?)"
    if catalogue.one(count, most + 1) > most:
        return False
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
