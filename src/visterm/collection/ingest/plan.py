"""What an ``add`` has to do: tasks, gathered by comparing sources with the catalogue.

They lie in temporary tables, which SQLite keeps on disk when they grow: a million new pictures cost
no more memory than ten.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from pathlib import Path

from visterm.collection.sources.listing import File, Listing, join
from visterm.collection.sources.opening import is_local
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.urls import is_url, is_within, shard_of
from visterm.progress import Progress

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


_TABLES = {
    "todo": """number INTEGER PRIMARY KEY, folder TEXT, name TEXT, size INTEGER, mtime_ns INTEGER,
        sidecars TEXT, offset INTEGER, caption TEXT, listed TEXT, what TEXT""",
    "gone": "place INTEGER PRIMARY KEY",
    "listed": "folder TEXT PRIMARY KEY, mtime_ns INTEGER",
    "stamped": "location TEXT PRIMARY KEY, stamp INTEGER",
    "mended": "folder TEXT, name TEXT",
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
        others = {one for one in before if not any(is_within(one, s) for s in self.scopes)}
        found = sorted(others | self._mounts)
        self.catalogue.set(_MOUNTS, json.dumps(found) if found else None)

    def __len__(self) -> int:
        return int(self.catalogue.one("SELECT count(*) FROM temp.todo"))

    def tasks(self, size: int) -> Iterator[list[IngestTask]]:
        """What is to be done, in batches, in the order of paths but for `newest_first`."""
        last = -2 * _FIRST
        while True:
            found = self.catalogue.db.execute(
                "SELECT * FROM temp.todo WHERE number > ? ORDER BY number LIMIT ?", (last, size)
            ).fetchall()
            if not found:
                return
            last = found[-1][0]
            yield [task_of(*row[1:]) for row in found]

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
        found = self.catalogue.db.execute(
            f"SELECT {FACTS}, what FROM temp.todo WHERE what = ? AND number % ? = 0 LIMIT ?",
            (READ, step, size),
        )
        return [task_of(*row) for row in found]

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
            self._progress("listing", self._seen, self._seen)

    def doubt(self, path: str) -> None:
        """Something could not be had this time: its shard is to be listed again the next time."""
        self.catalogue.db.execute(
            "UPDATE temp.stamped SET stamp = -1 WHERE location = ?", (shard_of(path),)
        )


def task_of(folder: str, *rest: object) -> IngestTask:
    *facts, what = rest
    return IngestTask(folder, File(*facts), str(what))  # type: ignore[arg-type]
