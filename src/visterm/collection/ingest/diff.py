"""What has changed in folders since they were last listed, found without opening a picture.

The plan lies in temporary tables, which SQLite keeps on disk when they grow: a million new pictures
cost no more memory than ten.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from visterm.collection.ingest.scan import File, Listing, join, look, walk
from visterm.collection.store.catalogue import Catalogue
from visterm.errors import BadInput

READ = "read"
CAPTIONS = "captions"
RETURNED = "returned"
_TICK_NS = 50_000_000
_COARSE_TICK_NS = 2_000_000_000

OnSkip = Callable[[str, str], None]
"""Called with a path and the reason why it is skipped."""


@dataclass(frozen=True, slots=True)
class IngestTask:
    """A file to look into: ``what`` is to read it all, its captions only, or nothing but to say
    that it is back."""

    folder: str
    file: File
    what: str

    @property
    def path(self) -> str:
        return join(self.folder, self.file.name)


class Survey:
    """The differences between folders and catalogue, gathered by `survey`."""

    def __init__(self, catalogue: Catalogue, root: Path) -> None:
        self.catalogue = catalogue
        self.root = root
        self.scopes: list[str] = []
        self.excluded = {path for (path,) in catalogue.db.execute("SELECT path FROM excluded")}
        catalogue.db.executescript("""
            DROP TABLE IF EXISTS temp.todo; DROP TABLE IF EXISTS temp.gone;
            DROP TABLE IF EXISTS temp.listed; DROP TABLE IF EXISTS temp.mended;
            CREATE TEMP TABLE todo (number INTEGER PRIMARY KEY, folder TEXT, name TEXT,
                size INTEGER, mtime_ns INTEGER, sidecars TEXT, what TEXT);
            CREATE TEMP TABLE gone (place INTEGER PRIMARY KEY);
            CREATE TEMP TABLE listed (folder TEXT PRIMARY KEY, mtime_ns INTEGER);
            CREATE TEMP TABLE mended (folder TEXT, name TEXT);
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
            yield [IngestTask(row[1], File(*row[2:6]), row[6]) for row in found]

    def sample(self, size: int) -> list[Path]:
        """Evenly spread files among those to be read."""
        step = max(1, len(self) // size)
        found = self.catalogue.db.execute(
            "SELECT folder, name FROM temp.todo WHERE what = ? AND number % ? = 0 LIMIT ?",
            (READ, step, size),
        )
        return [self.root / folder / name for folder, name in found]

    def drop(self, path: str) -> None:
        """Leave a file out."""
        folder, _, name = path.rpartition("/")
        self.catalogue.db.execute(
            "DELETE FROM temp.todo WHERE folder = ? AND name = ?", (folder, name)
        )


def survey(
    catalogue: Catalogue, root: Path, paths: Iterable[str], extractor: str | None, on_skip: OnSkip
) -> Survey:
    """Compare folders or files below ``root`` with the catalogue.

    Parameters
    ----------
    paths
        Below the root, with slashes; "" is all of it.
    extractor
        The key of the extractor of which every picture shall have a vector.
    on_skip
        Called for folders and files that cannot be read.
    """
    plan = Survey(catalogue, root)
    for path in paths:
        if os.path.isdir(root / path):
            _survey_folder(plan, path, extractor or "", on_skip)
        else:
            folder, _, name = path.rpartition("/")
            file = look(root, folder, name)
            if file is None:
                raise BadInput(f"there is no picture {root / path}")
            known = _known(plan, folder, extractor or "")
            _compare(plan, folder, file, known.get(name), None)
    return plan


def begin(catalogue: Catalogue, root: Path, paths: Iterable[str]) -> None:
    """Note which folders are about to be listed, so that a stop half-way is noticed later."""
    with catalogue.transaction() as db:
        db.executemany(
            "INSERT OR REPLACE INTO folders VALUES (?, -1)",
            ((path,) for path in paths if os.path.isdir(root / path)),
        )


def finish(plan: Survey) -> None:
    """Remember how the folders were found, inside the transaction that ends an ``add``."""
    db = plan.catalogue.db
    for (folder,) in db.execute("SELECT folder FROM folders").fetchall():
        if any(_within(folder, scope) for scope in plan.scopes):
            db.execute("DELETE FROM folders WHERE folder = ?", (folder,))
    db.execute("INSERT OR REPLACE INTO folders SELECT * FROM temp.listed")
    db.execute("DELETE FROM skipped WHERE (folder, name) IN (SELECT * FROM temp.mended)")


def scopes(catalogue: Catalogue) -> list[str]:
    """The folders that were asked for, each with all it contains; none in a new collection."""
    found: list[str] = []
    for (folder,) in catalogue.db.execute("SELECT folder FROM folders ORDER BY folder"):
        if not any(_within(folder, outer) for outer in found):
            found.append(folder)
    return found


def unchanged(catalogue: Catalogue, root: Path) -> bool:
    """Whether every folder is as it was when last listed: no picture came, went or was renamed."""
    for folder, mtime_ns in catalogue.db.execute("SELECT folder, mtime_ns FROM folders"):
        try:
            if os.stat(os.path.join(root, folder)).st_mtime_ns != mtime_ns:
                return False
        except OSError:
            return False
    return True


def _survey_folder(plan: Survey, folder: str, extractor: str, on_skip: OnSkip) -> None:
    plan.scopes.append(folder)
    visited: set[str] = set()
    closed: list[str] = []
    for listing in walk(plan.root, folder):
        if any(_within(listing.folder, path) for path in plan.excluded):
            continue
        if listing.problem is not None:
            on_skip(listing.folder or ".", listing.problem)
            closed.append(listing.folder)
            continue
        for name, reason in listing.unusable:
            on_skip(join(listing.folder, name), reason)
        visited.add(listing.folder)
        _survey_listing(plan, listing, extractor)
    for (old,) in plan.catalogue.db.execute(
        "SELECT DISTINCT folder FROM places WHERE NOT vanished"
    ).fetchall():
        # What lies behind a folder that cannot be listed may still be there.
        if old not in visited and _within(old, folder) and not any(_within(old, c) for c in closed):
            plan.catalogue.db.execute(
                "INSERT INTO temp.gone SELECT id FROM places WHERE folder = ? AND NOT vanished",
                (old,),
            )


def _survey_listing(plan: Survey, listing: Listing, extractor: str) -> None:
    db = plan.catalogue.db
    known = _known(plan, listing.folder, extractor)
    bad = {
        name: (size, mtime_ns)
        for name, size, mtime_ns in db.execute(
            "SELECT name, size, mtime_ns FROM skipped WHERE folder = ?", (listing.folder,)
        )
    }
    for file in listing.files:
        if join(listing.folder, file.name) in plan.excluded:
            continue
        _compare(plan, listing.folder, file, known.pop(file.name, None), bad.get(file.name))
    there = {file.name for file in listing.files}
    db.executemany(
        "INSERT INTO temp.mended VALUES (?, ?)",
        ((listing.folder, name) for name in bad if name not in there),
    )
    unusable = {name for name, _ in listing.unusable}
    db.executemany(
        "INSERT INTO temp.gone VALUES (?)",
        ((old.place,) for name, old in known.items() if not old.vanished and name not in unusable),
    )
    mtime_ns = listing.mtime_ns if _is_settled(listing.mtime_ns) else -1
    db.execute("INSERT OR REPLACE INTO temp.listed VALUES (?, ?)", (listing.folder, mtime_ns))


def _is_settled(mtime_ns: int) -> bool:
    """Whether a folder's next change is sure to give it another time than this.

    One that changed just now may change again within the same tick of the file system's clock;
    where times are whole seconds, that clock is a coarse one.
    """
    tick = _TICK_NS if mtime_ns % 1_000_000_000 else _COARSE_TICK_NS
    return time.time_ns() - mtime_ns > tick


@dataclass(frozen=True, slots=True)
class _Known:
    place: int
    size: int
    mtime_ns: int
    sidecars: str
    vanished: int
    described: int


def _known(plan: Survey, folder: str, extractor: str) -> dict[str, _Known]:
    found = plan.catalogue.db.execute(
        """SELECT name, id, size, mtime_ns, sidecars, vanished,
            EXISTS (SELECT 1 FROM rows WHERE extractor = ? AND rows.picture = places.picture)
            FROM places WHERE folder = ?""",
        (extractor, folder),
    )
    return {name: _Known(*rest) for name, *rest in found}


def _compare(
    plan: Survey, folder: str, file: File, old: _Known | None, bad: tuple[int, int] | None
) -> None:
    stamp = (file.size, file.mtime_ns)
    if bad == stamp:
        return
    if old is None or stamp != (old.size, old.mtime_ns) or not old.described:
        what = READ
    elif old.sidecars != file.sidecars:
        what = CAPTIONS
    elif old.vanished:
        what = RETURNED
    else:
        return
    plan.catalogue.db.execute(
        "INSERT INTO temp.todo VALUES (NULL, ?, ?, ?, ?, ?, ?)",
        (folder, file.name, *stamp, file.sidecars, what),
    )


def _within(folder: str, outer: str) -> bool:
    return not outer or folder == outer or folder.startswith(outer + "/")
