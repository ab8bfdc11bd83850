"""What has changed in sources since they were last listed, found without opening a picture."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from visterm.collection.ingest.plan import (
    AWAY,
    CAPTIONS,
    FACTS,
    LISTED,
    READ,
    RETURNED,
    IngestTask,
    OnSkip,
    Survey,
    task_of,
)
from visterm.collection.sources import FILE, TABLE, kind_of, listings, look_at
from visterm.collection.sources.listing import File, Listing, join
from visterm.collection.sources.opening import Unavailable
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.urls import is_url, is_within, shard_of
from visterm.errors import BadInput
from visterm.progress import Progress, silent

_EXTRAS = {"heic": "pillow_heif", "raw": "rawpy", "video": "av"}
"""What extras that read files bring."""
_TICK_NS = 50_000_000
_COARSE_TICK_NS = 2_000_000_000


def survey(
    catalogue: Catalogue,
    root: Path,
    paths: Iterable[str],
    extractor: str | None,
    on_skip: OnSkip,
    progress: Progress = silent,
) -> Survey:
    """Compare sources with the catalogue.

    Parameters
    ----------
    paths
        Folders, pictures, shards or tables below the root, with slashes, "" being all of it; and
        URLs of prefixes, pictures, shards or tables.
    extractor
        The key of the extractor of which every picture shall have a vector.
    on_skip
        Called for folders and files that cannot be read.
    """
    plan = Survey(catalogue, root, progress)
    tables = []
    for path in paths:
        kind = kind_of(root, path)
        if kind == FILE:
            _survey_file(plan, path, extractor or "", on_skip)
        elif kind == TABLE:
            tables.append(path)
        elif path not in plan.shards:
            _survey_folder(plan, path, extractor or "", on_skip)
    if tables:
        from visterm.collection.ingest.table_diff import survey_tables

        survey_tables(plan, tables, extractor or "", on_skip)
    return plan


def _survey_file(plan: Survey, path: str, extractor: str, on_skip: OnSkip) -> None:
    folder, _, name = path.rpartition("/")
    file = look_at(plan.root, folder, [name])[name]
    if not isinstance(file, Unavailable):
        compare(plan, folder, file, known_files(plan, folder, extractor).get(name), None)
    elif is_url(path):
        on_skip(path, str(file))
    else:
        raise BadInput(f"there is no picture {plan.root / path}")


def _survey_folder(plan: Survey, scope: str, extractor: str, on_skip: OnSkip) -> None:
    plan.scopes.append(scope)
    visited: set[str] = set()
    closed: list[str] = []
    stamps = dict(plan.catalogue.db.execute("SELECT location, stamp FROM sources"))
    for listing in listings(plan.root, scope, stamps, plan.shards):
        if any(is_within(listing.folder, path) for path in plan.excluded):
            continue
        problem = listing.problem or (AWAY if plan.is_away(listing) else None)
        if problem is not None:
            on_skip(listing.folder or ".", problem)
            closed.append(listing.folder)
            continue
        for name, reason in listing.unusable:
            on_skip(join(listing.folder, name) if name else listing.folder, reason)
        visited.add(listing.folder)
        plan.heard(listing.folder, len(listing.files))
        if listing.is_known:
            visited.update(_survey_known(plan, listing, extractor))
        else:
            _survey_listing(plan, listing, extractor)
    for (old,) in plan.catalogue.db.execute(
        "SELECT DISTINCT folder FROM places WHERE NOT vanished AND listed IS NULL"
    ).fetchall():
        # What lies behind a folder that cannot be listed may still be there.
        if old in visited or not is_within(old, scope) or any(is_within(old, c) for c in closed):
            continue
        # A shard that somebody named is listed for itself.
        if shard_of(old) in plan.named and shard_of(old) != scope:
            continue
        plan.catalogue.db.execute(
            """INSERT OR IGNORE INTO temp.gone SELECT id FROM places
                WHERE folder = ? AND NOT vanished AND listed IS NULL""",
            (old,),
        )


def _survey_known(plan: Survey, listing: Listing, extractor: str) -> set[str]:
    """A shard that is as it was: what lacks a vector or was away; returns the folders in it."""
    db, shard = plan.catalogue.db, listing.folder
    within = (shard, shard + "/", shard + "0")  # "0" is what follows "/"
    inside = "(folder = ? OR (folder > ? AND folder < ?))"
    for row in db.execute(
        f"""SELECT {FACTS}, EXISTS (SELECT 1 FROM rows WHERE extractor = ?
                AND rows.picture = places.picture) AS described
            FROM places WHERE {inside} AND (vanished OR NOT described)
            AND (folder, name) NOT IN (SELECT folder, name FROM skipped)""",
        (extractor, *within),
    ).fetchall():
        task = task_of(*row[:-1], RETURNED if row[-1] else READ)
        if not any(is_within(task.path, path) for path in plan.excluded):
            plan.put(task)
    _stamp(plan, listing)
    found = db.execute(f"SELECT DISTINCT folder FROM places WHERE {inside}", within)
    return {folder for (folder,) in found}


def _survey_listing(plan: Survey, listing: Listing, extractor: str) -> None:
    db = plan.catalogue.db
    known = known_files(plan, listing.folder, extractor)
    bad = skipped_files(plan, listing.folder)
    for file in listing.files:
        if join(listing.folder, file.name) in plan.excluded:
            continue
        compare(plan, listing.folder, file, known.pop(file.name, None), bad.get(file.name))
    there = {file.name for file in listing.files} | {name for name, _ in listing.unusable}
    db.executemany(
        "INSERT INTO temp.mended VALUES (?, ?)",
        ((listing.folder, name) for name in bad if name not in there),
    )
    db.executemany(
        "INSERT OR IGNORE INTO temp.gone VALUES (?)",
        (
            (old.place,)
            for name, old in known.items()
            if not old.vanished and name not in there and old.listed is None
        ),
    )
    _stamp(plan, listing)


def _stamp(plan: Survey, listing: Listing) -> None:
    """Note what a folder was like, and shards and prefixes in a table of their own."""
    if listing.is_source:
        table = "temp.stamped"
    elif is_url(listing.folder) or shard_of(listing.folder):
        return
    else:
        table = "temp.listed"
    stamp = listing.mtime_ns
    if not is_url(listing.folder) and not is_settled(stamp):
        stamp = -1
    plan.catalogue.db.execute(
        f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", (listing.folder, stamp)
    )


def is_settled(mtime_ns: int) -> bool:
    """Whether the next change of a folder or file is sure to give it another time than this.

    One that changed just now may change again within the same tick of the file system's clock;
    where times are whole seconds, that clock is a coarse one.
    """
    tick = _TICK_NS if mtime_ns % 1_000_000_000 else _COARSE_TICK_NS
    return time.time_ns() - mtime_ns > tick


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file as the catalogue knows it."""

    place: int
    size: int
    mtime_ns: int
    sidecars: str
    vanished: int
    caption: str | None
    listed: str | None
    taken_from: str | None
    described: int


def known_files(plan: Survey, folder: str, extractor: str) -> dict[str, KnownFile]:
    found = plan.catalogue.db.execute(
        """SELECT name, id, size, mtime_ns, sidecars, vanished, caption, listed, taken_from,
            EXISTS (SELECT 1 FROM rows WHERE extractor = ? AND rows.picture = places.picture)
            FROM places WHERE folder = ?""",
        (extractor, folder),
    )
    return {name: KnownFile(*rest) for name, *rest in found}


def skipped_files(plan: Survey, folder: str) -> dict[str, tuple[int, int]]:
    """Size and stamp of the files of a folder that could not be read, and still cannot be."""
    found = plan.catalogue.db.execute(
        "SELECT name, size, mtime_ns, reason FROM skipped WHERE folder = ?", (folder,)
    )
    return {
        name: (size, mtime_ns)
        for name, size, mtime_ns, reason in found
        if not _is_installed(reason)
    }


def _is_installed(reason: str) -> bool:
    """Whether a file was skipped for want of an extra that has been installed since."""
    named = re.search(r"visterm\[(heic|raw|video)\]", reason)
    return named is not None and find_spec(_EXTRAS[named[1]]) is not None


def compare(
    plan: Survey, folder: str, file: File, old: KnownFile | None, bad: tuple[int, int] | None
) -> None:
    stamp = (file.size, file.mtime_ns)
    if bad == stamp:
        return
    if old is None or stamp != (old.size, old.mtime_ns) or not old.described:
        what = READ
    elif old.sidecars != file.sidecars or (old.taken_from is None and not is_url(folder)):
        what = CAPTIONS  # a collection of before does not know yet when and where it was taken
    elif file.listed is not None and (file.caption, file.listed) != (old.caption, old.listed):
        what = LISTED
    elif old.vanished:
        what = RETURNED
    else:
        return
    plan.put(IngestTask(folder, file, what))
