"""What an ``add`` has to do: what has changed in sources since they were last listed.

Sources are compared with the catalogue without opening a picture. Tasks lie in temporary tables,
which SQLite keeps on disk when they grow: a million new pictures cost no more memory than ten.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from visterm.collection.sources.folders import FILE, TABLE, kind_of, listings, look_at
from visterm.collection.sources.opening import File, Listing, is_local, join
from visterm.collection.store.caption_words import OCR
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.urls import is_url, is_within, shard_of
from visterm.errors import BadInput
from visterm.pictures import ocr
from visterm.pictures.formats import Refused
from visterm.progress import Progress, silent

READ = "read"
CAPTIONS = "captions"
LISTED = "listed"
RETURNED = "returned"
FACTS = "folder, name, size, mtime_ns, sidecars, offset, caption, listed"
"""What a task's file is made of, as columns of ``places``."""

_FIRST = 1 << 40
"""More than there are files: what is taken off the numbers of those that come first."""

OnSkip = Callable[[str, str], None]
"""Called with a path and the reason why it is skipped."""
_EXTRAS = {"heic": "pillow_heif", "raw": "rawpy", "video": "av"}
"""What extras that read files bring."""
_TICK_NS = 50_000_000
_COARSE_TICK_NS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class IngestTask:
    """A file to look into: ``what`` is to read it all, its captions only, or nothing but to say
    that it is back or what a table says of it."""

    folder: str
    file: File
    what: str
    known: tuple[str, ...] = ()
    """Hashes (hexadecimal) of contents of its file's size that have vectors."""

    @classmethod
    def of(cls, folder: str, *facts: Any) -> IngestTask:
        """From `FACTS` and what is to be done."""
        return cls(folder, File(*facts[:-1]), facts[-1])

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


_DESCRIBED = """EXISTS (SELECT 1 FROM rows JOIN pictures ON pictures.id = rows.picture
    WHERE extractor = ? AND rows.picture = places.picture AND (NOT ? OR ocr IS NOT NULL))"""
"""Whether a file has a vector, and was read where text is."""

_TABLES = {
    "todo": """number INTEGER PRIMARY KEY, folder TEXT, name TEXT, size INTEGER, mtime_ns INTEGER,
        sidecars TEXT, offset INTEGER, caption TEXT, listed TEXT, what TEXT""",
    "gone": "place INTEGER PRIMARY KEY",
    "listed": "folder TEXT PRIMARY KEY, mtime_ns INTEGER",
    "stamped": "location TEXT PRIMARY KEY, stamp INTEGER",
    "unskipped": "folder TEXT, name TEXT",
    "table_rows": """folder TEXT, name TEXT, caption TEXT, listed TEXT,
        PRIMARY KEY (folder, name)""",
    "missing": "folder TEXT, name TEXT, size INTEGER, mtime_ns INTEGER, reason TEXT",
    "unlisted": "place INTEGER PRIMARY KEY",
}
AWAY = "the drive that was mounted here is away; what is known of its pictures is kept"
_MOUNTS = "mounts"


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
        self.elsewhere: set[int] = set()
        """Pictures of which a file was found, or was changed, beside others that they have."""
        self._mounts_before: set[str] = set(json.loads(catalogue.get(_MOUNTS) or "[]"))
        self._mounts: set[str] = set()
        db = catalogue.db
        self.reads_text = catalogue.get(OCR) is not None and ocr.is_installed()
        self.excluded = {path for (path,) in db.execute("SELECT path FROM excluded")}
        self.named = {path for (path,) in db.execute("SELECT location FROM sources WHERE named")}
        for name, columns in _TABLES.items():
            db.execute(f"DROP TABLE IF EXISTS temp.{name}")
            db.execute(f"CREATE TEMP TABLE {name} ({columns})")

    def is_away(self, listing: Listing) -> bool:
        """Whether a folder is the empty place of a drive; notes mount points on the way.

        A network drive or a card that is not mounted leaves an empty folder. Which folders were
        mount points when they were last listed is remembered, so that an empty one is told from one
        that was emptied.
        """
        folder = listing.folder
        if is_url(folder) or shard_of(folder):
            return False
        is_mount = os.path.ismount(os.path.join(self.root, folder))
        is_away = not is_mount and folder in self._mounts_before and listing.is_bare
        if is_mount or is_away:
            self._mounts.add(folder)
        return is_away

    def keep_mounts(self) -> None:
        """Remember what is mounted now, inside a transaction."""
        before = self._mounts_before
        others = {folder for folder in before if not any(is_within(folder, s) for s in self.scopes)}
        mounts = sorted(others | self._mounts)
        self.catalogue.set(_MOUNTS, json.dumps(mounts) if mounts else None)

    def __len__(self) -> int:
        return int(self.catalogue.one("SELECT count(*) FROM temp.todo"))

    def tasks(self, size: int) -> Iterator[list[IngestTask]]:
        """What is to be done, in batches, in the order of paths but for `newest_first`."""
        last = -2 * _FIRST
        while True:
            rows = self.catalogue.db.execute(
                "SELECT * FROM temp.todo WHERE number > ? ORDER BY number LIMIT ?", (last, size)
            ).fetchall()
            if not rows:
                return
            last = rows[-1][0]
            yield [IngestTask.of(*row[1:]) for row in rows]

    def newest_first(self, size: int) -> None:
        """Do the newest so many files before all others, if all lie in the collection's folder."""
        db = self.catalogue.db
        elsewhere = "SELECT 1 FROM temp.todo WHERE offset IS NOT NULL OR folder LIKE '%://%'"
        if len(self) > size and db.execute(elsewhere).fetchone() is None:
            db.execute(
                """UPDATE temp.todo SET number = number - ? WHERE number IN
                    (SELECT number FROM temp.todo ORDER BY mtime_ns DESC, number LIMIT ?)""",
                (_FIRST, size),
            )

    def sample(self, size: int) -> list[IngestTask]:
        """Evenly spread files among those to be read."""
        step = max(1, len(self) // size)
        rows = self.catalogue.db.execute(
            f"SELECT {FACTS}, what FROM temp.todo WHERE what = ? AND number % ? = 0 LIMIT ?",
            (READ, step, size),
        )
        return [IngestTask.of(*row) for row in rows]

    def leave_out(self, task: IngestTask, reason: str | None) -> None:
        """Do not read a file, and not in later adds either where a reason is given; inside a
        transaction."""
        db, at = self.catalogue.db, (task.folder, task.file.name)
        db.execute("DELETE FROM temp.todo WHERE folder = ? AND name = ?", at)
        if reason is not None:
            self.skip(task, reason)

    def skip(self, task: IngestTask, reason: str) -> None:
        """Note that a file cannot be read, as it is now; inside a transaction."""
        file = task.file
        self.catalogue.db.execute(
            "INSERT OR REPLACE INTO skipped VALUES (?, ?, ?, ?, ?)",
            (task.folder, file.name, file.size, file.mtime_ns, reason),
        )

    def put(self, task: IngestTask) -> None:
        """One more thing to be done."""
        facts = (task.folder, *astuple(task.file), task.what)
        self.catalogue.db.execute(
            "INSERT INTO temp.todo VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)", facts
        )

    def heard(self, path: str, files: int) -> None:
        """Say how many files have been listed, where that may take long."""
        if is_url(path) or shard_of(path):
            self._seen += files
            self._progress("looking for pictures", self._seen, self._seen)

    def doubt(self, path: str) -> None:
        """Something could not be had this time: its shard is to be listed again the next time."""
        self.catalogue.db.execute(
            "UPDATE temp.stamped SET stamp = -1 WHERE location = ?", (shard_of(path),)
        )


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
        from visterm.collection.ingest.tables import survey_tables

        survey_tables(plan, tables, extractor or "", on_skip)
    return plan


def _survey_file(plan: Survey, path: str, extractor: str, on_skip: OnSkip) -> None:
    folder, _, name = path.rpartition("/")
    file = look_at(plan.root, folder, [name])[name]
    if not isinstance(file, Refused):
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
        f"""SELECT {FACTS}, {_DESCRIBED} AS described
            FROM places WHERE {inside} AND (vanished OR NOT described)
            AND (folder, name) NOT IN (SELECT folder, name FROM skipped)""",
        (extractor, plan.reads_text, *within),
    ).fetchall():
        task = IngestTask.of(*row[:-1], RETURNED if row[-1] else READ)
        if not any(is_within(task.path, path) for path in plan.excluded):
            plan.put(task)
    _stamp(plan, listing)
    folders = db.execute(f"SELECT DISTINCT folder FROM places WHERE {inside}", within)
    return {folder for (folder,) in folders}


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
        "INSERT INTO temp.unskipped VALUES (?, ?)",
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


class KnownFile(NamedTuple):
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
    rows = plan.catalogue.db.execute(
        f"""SELECT name, id, size, mtime_ns, sidecars, vanished, caption, listed, taken_from,
            {_DESCRIBED} FROM places WHERE folder = ?""",
        (extractor, plan.reads_text, folder),
    )
    return {name: KnownFile(*rest) for name, *rest in rows}


def skipped_files(plan: Survey, folder: str) -> dict[str, tuple[int, int]]:
    """Size and stamp of the files of a folder that could not be read, and still cannot be."""
    rows = plan.catalogue.db.execute(
        "SELECT name, size, mtime_ns, reason FROM skipped WHERE folder = ?", (folder,)
    )
    return {
        name: (size, mtime_ns) for name, size, mtime_ns, reason in rows if not _is_installed(reason)
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
