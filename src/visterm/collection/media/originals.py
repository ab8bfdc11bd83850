"""The pictures themselves on this machine: files where they lie, or copies in a bounded cache.

Copies are called by the hash of their content, so a copy is never out of date and two collections
may share it. They can always be fetched again, so nothing is synced.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from visterm.collection.media.records import PictureFile, PictureRecord
from visterm.collection.sources.opening import Unavailable, fetch, is_local
from visterm.collection.store.location import is_unchanged, may_write
from visterm.errors import UnreadablePicture

LIMIT = 1 << 30
"""Bytes that copies may take on the disk."""
FOLDER = "originals"
_PART = ".part"


class Originals:
    """The files of pictures of a collection.

    Parameters
    ----------
    root, store
        The folder of the pictures, and the one that knows about them; where that cannot be written
        copies lie in the user's cache.
    limit
        Bytes of copies; those that were not needed for longest go when they are more.
    """

    def __init__(self, root: Path, store: Path, *, limit: int = LIMIT) -> None:
        self.root, self.limit = root, limit
        self._store = store
        self._unseen = limit  # bytes written since the copies were last counted

    @contextlib.contextmanager
    def opened(self, record: PictureRecord, file: PictureFile) -> Iterator[tuple[Path, bool]]:
        """A file with a picture's bytes, and whether they are surely those that were added.

        Raises `UnreadablePicture` where it cannot be had.
        """
        if is_local(file.path, file.offset):
            path = self.root / file.path
            yield path, is_unchanged(path, file.size, file.mtime_ns)
            return
        copy = self._copy(record)
        if copy.exists():
            with contextlib.suppress(OSError):
                os.utime(copy)
            yield copy, True
            return
        part = self._fetched(file)
        try:
            with part.open("rb") as read:
                sure = hashlib.file_digest(read, "sha256").hexdigest() == record.digest
            if not sure:
                yield part, False
                return
            size = part.stat().st_size
            os.replace(part, copy)
            self._forget_oldest(size)
            yield copy, True
        finally:
            part.unlink(missing_ok=True)

    @property
    def folder(self) -> Path:
        """Where copies lie."""
        if may_write(self._store):
            return self._store / FOLDER
        from platformdirs import user_cache_path

        return user_cache_path("visterm", appauthor=False) / FOLDER

    def _copy(self, record: PictureRecord) -> Path:
        return self.folder / record.digest

    def _fetched(self, file: PictureFile) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(_PART, dir=self.folder)
        os.close(handle)
        try:
            fetch(self.root, file.path, file.size, file.offset, Path(name))
        except (Unavailable, OSError) as error:
            os.unlink(name)
            reason = getattr(error, "strerror", None) or str(error)
            raise UnreadablePicture(file.path, reason) from None
        return Path(name)

    def _forget_oldest(self, size: int) -> None:
        """Keep within the limit; other threads and processes write as well, so count sometimes."""
        self._unseen += size
        if self._unseen < self.limit // 16:
            return
        self._unseen = 0
        copies = []
        for one in os.scandir(self.folder):
            with contextlib.suppress(OSError):
                about = one.stat()
                copies.append((about.st_mtime_ns, about.st_size, one.path))
        total = sum(bytes_ for _, bytes_, _ in copies)
        for _, bytes_, path in sorted(copies)[:-1]:  # the newest is about to be read
            if total <= self.limit:
                return
            with contextlib.suppress(OSError):
                os.unlink(path)
            total -= bytes_
