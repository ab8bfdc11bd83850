"""Pictures' files on this machine, and a cache of thumbnails that never exceeds a limit.

What lies elsewhere is fetched for as long as it is needed. Thumbnails can always be made again, so
nothing is synced, and a damaged file of them is thrown away.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import sqlite3
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from visterm.collection.media.records import PictureFile, PictureRecord
from visterm.collection.sources.opening import fetch, is_local
from visterm.collection.store.location import is_unchanged, may_write
from visterm.errors import BadInput, UnreadablePicture
from visterm.pictures.formats import Refused

SIDES = (160, 320, 640, 1280, 2048)
"""The longer sides that can be asked for: few, so that what was made once serves often."""
LIMIT = 512 << 20
"""Bytes that thumbnails may take on the disk."""
FILE = "thumbnails.sqlite"
_MEMORY = ":memory:"
_LIMIT_IN_MEMORY = 16 << 20
_TABLES = """
CREATE TABLE IF NOT EXISTS thumbnails (
    id INTEGER PRIMARY KEY,                 -- in the order in which they were made
    digest TEXT NOT NULL,
    side INTEGER NOT NULL,
    jpeg BLOB NOT NULL,
    UNIQUE (digest, side)
);
"""


@contextlib.contextmanager
def original(root: Path, record: PictureRecord, file: PictureFile) -> Iterator[tuple[Path, bool]]:
    """A file with a picture's bytes, and whether they are surely those that were added.

    Raises `UnreadablePicture` where it cannot be had.
    """
    if is_local(file.path, file.offset):
        path = root / file.path
        yield path, is_unchanged(path, file.size, file.mtime_ns)
        return
    with tempfile.TemporaryDirectory(prefix="visterm-") as folder:
        copy = Path(folder, "picture")
        try:
            fetch(root, file.path, file.size, file.offset, copy)
        except (Refused, OSError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise UnreadablePicture(file.path, reason) from None
        with copy.open("rb") as read:
            digest = hashlib.file_digest(read, "sha256").hexdigest()
        yield copy, digest == record.digest


@dataclass(frozen=True)
class Thumbnail:
    """A JPEG, and whether it is surely of the content that the catalogue knows."""

    jpeg: bytes
    sure: bool


class Thumbnails:
    """The thumbnails of a collection; an object belongs to one thread.

    Parameters
    ----------
    root, store
        The folder of the pictures, and the one that knows about them. Where that cannot be written
        only the latest are kept, in memory.
    limit
        Bytes on the disk; the oldest tenth goes when they are more.
    """

    def __init__(self, root: Path, store: Path, *, limit: int = LIMIT) -> None:
        self.limit, self._root = limit, root
        self._db = _connect(store / FILE)
        if not self._db.execute("PRAGMA database_list").fetchone()[2]:
            self.limit = min(limit, _LIMIT_IN_MEMORY)

    def close(self) -> None:
        self._db.close()

    def of(self, record: PictureRecord, side: int) -> Thumbnail:
        """A picture shrunk so that its longer side has at most ``side`` pixels.

        Raises
        ------
        UnreadablePicture
            Where none of its files can be read, with the reason.
        """
        if side not in SIDES:
            raise BadInput(f"a thumbnail's side is one of {', '.join(map(str, SIDES))}, not {side}")
        key = (record.digest, side)
        # Another thread may be writing, or the disk be full: then it is made again next time.
        with contextlib.suppress(sqlite3.Error):
            question = "SELECT jpeg FROM thumbnails WHERE digest = ? AND side = ?"
            kept = self._db.execute(question, key).fetchone()
            if kept is not None:
                return Thumbnail(kept[0], sure=True)
        jpeg, sure = self._make(record, side)
        if sure:
            with contextlib.suppress(sqlite3.Error):
                statement = "INSERT OR IGNORE INTO thumbnails VALUES (NULL, ?, ?, ?)"
                self._db.execute(statement, (*key, jpeg))
            self._forget_oldest()
        return Thumbnail(jpeg, sure)

    def _make(self, record: PictureRecord, side: int) -> tuple[bytes, bool]:
        from PIL import Image

        from visterm.pictures.sandbox import read_picture

        reason = "no file of it is left"
        for file in record.files:
            try:
                with original(self._root, record, file) as (path, sure):
                    pixels = read_picture(path, max_side=side, second=record.second)
            except UnreadablePicture as problem:
                reason = problem.reason
                continue
            jpeg = io.BytesIO()
            Image.fromarray(pixels).save(jpeg, "JPEG", quality=84, optimize=side <= 640)
            return jpeg.getvalue(), sure
        raise UnreadablePicture(record.files[0].path if record.files else "the picture", reason)

    def _forget_oldest(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            page, pages, free = (
                self._db.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("page_size", "page_count", "freelist_count")
            )
            if page * (pages - free) > self.limit:
                self._db.execute(
                    """DELETE FROM thumbnails WHERE id IN (SELECT id FROM thumbnails ORDER BY id
                        LIMIT (SELECT 1 + count(*) / 10 FROM thumbnails))"""
                )


def _connect(path: Path) -> sqlite3.Connection:
    """A file that is damaged is made anew; where it cannot be written, memory serves."""
    for place in (path, path, _MEMORY) if may_write(path.parent) else (_MEMORY,):
        db = sqlite3.connect(place, timeout=1, isolation_level=None)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = OFF")
            db.executescript(_TABLES)
            break
        except sqlite3.DatabaseError as error:
            db.close()
            if not isinstance(error, sqlite3.OperationalError):
                for end in ("", "-wal", "-shm"):
                    Path(f"{path}{end}").unlink(missing_ok=True)
    return db
