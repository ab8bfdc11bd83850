"""What has changed in sources since they were last listed, found without opening a picture.

The plan lies in temporary tables, which SQLite keeps on disk when they grow: a million new pictures
cost no more memory than ten.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from visterm.collection.sources import FILE, TABLE, kind_of, listings, look_at
from visterm.collection.sources.contents import is_local
from visterm.collection.sources.listing import File, Listing, join
from visterm.collection.sources.unavailable import Unavailable
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.urls import is_url, is_within, shard_of
from visterm.errors import BadInput
from visterm.progress import Progress, silent

READ = "read"
CAPTIONS = "captions"
LISTED = "listed"
RETURNED = "returned"
_TICK_NS = 50_000_000
_COARSE_TICK_NS = 2_000_000_000
_FACTS = "folder, name, size, mtime_ns, sidecars, offset, caption, listed"

OnSkip = Callable[[str, str], None]
"""Called with a path and the reason why it is skipped."""


@dataclass(frozen=True, slots=True)
class IngestTask:
    """A file to look into: ``what`` is to read it all, its captions only, or nothing but to say
    that it is back or what a table says of it."""

    folder: str
    file: File
    what: str

    @property
    def path(self) -> str:
        return join(self.folder, self.file.name)

    @property
    def is_here(self) -> bool:
        """Whether it is a file of the collection's folder, which is read where it lies."""
        return is_local(self.path, self.file.offset)

    @property
    def is_opened(self) -> bool:
        """Whether its bytes are needed."""
        return self.what in (READ, CAPTIONS)


class Survey:
    """The differences between sources and catalogue, gathered by `survey`."""

    def __init__(self, catalogue: Catalogue, root: Path, progress: Progress) -> None:
        self.catalogue = catalogue
        self.root = root
        self._progress, self._seen = progress, 0
        self.scopes: list[str] = []
        """Folders, prefixes and shards that were listed, each with all it contains."""
        self.tables: list[str] = []
        self.shards: set[str] = set()
        db = catalogue.db
        self.excluded = {path for (path,) in db.execute("SELECT path FROM excluded")}
        self.named = {path for (path,) in db.execute("SELECT location FROM sources WHERE named")}
        db.executescript("""
            DROP TABLE IF EXISTS temp.todo; DROP TABLE IF EXISTS temp.gone;
            DROP TABLE IF EXISTS temp.listed; DROP TABLE IF EXISTS temp.mended;
            DROP TABLE IF EXISTS temp.stamped; DROP TABLE IF EXISTS temp.table_rows;
            DROP TABLE IF EXISTS temp.missing; DROP TABLE IF EXISTS temp.unlisted;
            CREATE TEMP TABLE todo (number INTEGER PRIMARY KEY, folder TEXT, name TEXT,
                size INTEGER, mtime_ns INTEGER, sidecars TEXT, offset INTEGER, caption TEXT,
                listed TEXT, what TEXT);
            CREATE TEMP TABLE gone (place INTEGER PRIMARY KEY);
            CREATE TEMP TABLE listed (folder TEXT PRIMARY KEY, mtime_ns INTEGER);
            CREATE TEMP TABLE stamped (location TEXT PRIMARY KEY, stamp INTEGER);
            CREATE TEMP TABLE mended (folder TEXT, name TEXT);
            CREATE TEMP TABLE table_rows (folder TEXT, name TEXT, caption TEXT, listed TEXT,
                PRIMARY KEY (folder, name)) WITHOUT ROWID;
            CREATE TEMP TABLE missing (folder TEXT, name TEXT, size INTEGER, mtime_ns INTEGER,
                reason TEXT);
            CREATE TEMP TABLE unlisted (place INTEGER PRIMARY KEY);
        """)

    def __len__(self) -> int:
        return int(self.catalogue.one("SELECT count(*) FROM temp.todo"))

    def tasks(self, size: int) -> Iterator[list[IngestTask]]:
        """What is to be done, in batches, in the order of paths."""
        last = 0
        while True:
            found = self.catalogue.db.execute(
                "SELECT * FROM temp.todo WHERE number > ? ORDER BY number LIMIT ?", (last, size)
            ).fetchall()
            if not found:
                return
            last = found[-1][0]
            yield [_task(*row[1:]) for row in found]

    def sample(self, size: int) -> list[IngestTask]:
        """Evenly spread files among those to be read."""
        step = max(1, len(self) // size)
        found = self.catalogue.db.execute(
            f"SELECT {_FACTS}, what FROM temp.todo WHERE what = ? AND number % ? = 0 LIMIT ?",
            (READ, step, size),
        )
        return [_task(*row) for row in found]

    def drop(self, path: str) -> None:
        """Leave a file out."""
        folder, _, name = path.rpartition("/")
        self.catalogue.db.execute(
            "DELETE FROM temp.todo WHERE folder = ? AND name = ?", (folder, name)
        )

    def heard(self, path: str, files: int) -> None:
        """Say how many files have been listed, where that may take long."""
        if is_url(path) or shard_of(path):
            self._seen += files
            self._progress("listing", self._seen, self._seen)

    def doubt(self, path: str) -> None:
        """Something could not be had this time: its shard is to be listed again the next time."""
        self.catalogue.db.execute(
            "UPDATE temp.stamped SET stamp = -1 WHERE location = ?", (shard_of(path),)
        )


def _task(folder: str, *rest: object) -> IngestTask:
    *facts, what = rest
    return IngestTask(folder, File(*facts), str(what))  # type: ignore[arg-type]


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
        if listing.problem is not None:
            on_skip(listing.folder or ".", listing.problem)
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
        f"""SELECT {_FACTS}, EXISTS (SELECT 1 FROM rows WHERE extractor = ?
                AND rows.picture = places.picture) AS described
            FROM places WHERE {inside} AND (vanished OR NOT described)
            AND (folder, name) NOT IN (SELECT folder, name FROM skipped)""",
        (extractor, *within),
    ).fetchall():
        task = _task(*row[:-1], RETURNED if row[-1] else READ)
        if not any(is_within(task.path, path) for path in plan.excluded):
            _put(plan, task)
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
    described: int


def known_files(plan: Survey, folder: str, extractor: str) -> dict[str, KnownFile]:
    found = plan.catalogue.db.execute(
        """SELECT name, id, size, mtime_ns, sidecars, vanished, caption, listed,
            EXISTS (SELECT 1 FROM rows WHERE extractor = ? AND rows.picture = places.picture)
            FROM places WHERE folder = ?""",
        (extractor, folder),
    )
    return {name: KnownFile(*rest) for name, *rest in found}


def skipped_files(plan: Survey, folder: str) -> dict[str, tuple[int, int]]:
    """Size and stamp of the files of a folder that could not be read."""
    found = plan.catalogue.db.execute(
        "SELECT name, size, mtime_ns FROM skipped WHERE folder = ?", (folder,)
    )
    return {name: (size, mtime_ns) for name, size, mtime_ns in found}


def compare(
    plan: Survey, folder: str, file: File, old: KnownFile | None, bad: tuple[int, int] | None
) -> None:
    stamp = (file.size, file.mtime_ns)
    if bad == stamp:
        return
    if old is None or stamp != (old.size, old.mtime_ns) or not old.described:
        what = READ
    elif old.sidecars != file.sidecars:
        what = CAPTIONS
    elif file.listed is not None and (file.caption, file.listed) != (old.caption, old.listed):
        what = LISTED
    elif old.vanished:
        what = RETURNED
    else:
        return
    _put(plan, IngestTask(folder, file, what))


def _put(plan: Survey, task: IngestTask) -> None:
    file = task.file
    plan.catalogue.db.execute(
        "INSERT INTO temp.todo VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            task.folder,
            file.name,
            file.size,
            file.mtime_ns,
            file.sidecars,
            file.offset,
            file.caption,
            file.listed,
            task.what,
        ),
    )
