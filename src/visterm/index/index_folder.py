"""The folder of an index: new files under new names, one writer at a time, rubbish swept."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from visterm.errors import VistermError
from visterm.files import PART, write_whole
from visterm.index.manifest import Manifest, Record

try:
    import fcntl
except ImportError:  # Windows: there the collection's own lock is the only one.
    fcntl = None  # type: ignore[assignment]

_OURS = re.compile(r"v\d{6,}-\d+\.(columns|rows|ids|alive)")


class Hashed:
    """A file that remembers the size and hash of what went into it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self._size = 0

    def write(self, data: npt.NDArray[np.generic]) -> None:
        """Append the bytes of a contiguous array."""
        raw = np.ascontiguousarray(data).reshape(-1).view(np.uint8).data
        self._file.write(raw)
        self._hash.update(raw)
        self._size += raw.nbytes

    def record(self) -> Record:
        return Record(self._size, self._hash.hexdigest())


class Draft:
    """The files of one change, written but not yet named by a manifest."""

    def __init__(self, folder: Path, version: int) -> None:
        self.version = version
        self.files: dict[str, Record] = {}
        self._folder = folder

    def add(self, kind: str, write: Callable[[Hashed], None]) -> str:
        """Write one new file; its name is the version and a number, so no name is used twice."""
        name = f"v{self.version:06d}-{len(self.files)}.{kind}"

        def fill(file: BinaryIO) -> None:
            hashed = Hashed(file)
            write(hashed)
            self.files[name] = hashed.record()

        write_whole(self._folder / name, fill)
        return name


@contextlib.contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Hold the folder's writer lock; another writer, of any process, waits until it is free."""
    if fcntl is None:
        yield
        return
    try:
        handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise VistermError(f"cannot write in {folder}: {error.strerror}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def sweep(folder: Path, manifest: Manifest) -> None:
    """Delete what no manifest names: files of states that are gone, and of changes that died.

    A reader that still has an old state open keeps its maps: an unlinked file stays readable.
    """
    for path in folder.iterdir():
        rubbish = _OURS.fullmatch(path.name) or path.name.endswith(PART)
        if rubbish and path.name not in manifest.files:
            path.unlink(missing_ok=True)


def map_file(folder: Path, name: str, record: Record) -> npt.NDArray[np.uint8]:
    """The bytes of a file, read only when touched."""
    path = folder / name
    size = path.stat().st_size
    if size != record.size:
        raise VistermError(
            f"{path} has {size} bytes instead of {record.size}; build the index again"
        )
    return np.memmap(path, np.uint8, "r").view(np.ndarray)


def problem(folder: Path, name: str, record: Record) -> str | None:
    """What is wrong with a file, in one line; nothing if its bytes are those that were written."""
    path = folder / name
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size != record.size:
                return f"{path}: {size} bytes instead of {record.size}"
            if hashlib.file_digest(file, "sha256").hexdigest() != record.sha256:
                return f"{path}: its bytes have changed since they were written"
    except OSError as error:
        return f"{path}: {error.strerror}"
    return None
