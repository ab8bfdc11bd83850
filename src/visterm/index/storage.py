"""Where an index keeps its files: what a folder and plain memory both offer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import Thread
from typing import BinaryIO, Protocol

import numpy as np
import numpy.typing as npt

from visterm.index.manifest import Manifest, Record

_LARGE = 1 << 18
"""Bytes from which on hashing takes longer than starting a thread for it."""


class Hashed:
    """A file that remembers the size and hash of what went into it.

    Large arrays are hashed while they are written and synced; nobody may change them meanwhile.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self._size = 0
        self._hashing: Thread | None = None

    def write(self, data: npt.NDArray[np.generic]) -> None:
        """Append the bytes of a contiguous array."""
        raw = np.ascontiguousarray(data).reshape(-1).view(np.uint8).data
        self._wait()
        if raw.nbytes < _LARGE or not self._begun(Thread(target=self._hash.update, args=(raw,))):
            self._hash.update(raw)
        self._file.write(raw)
        self._size += raw.nbytes

    def record(self) -> Record:
        self._wait()
        return Record(self._size, self._hash.hexdigest())

    def _begun(self, hashing: Thread) -> bool:
        """Whether a thread hashes now: a system that is out of threads gives none."""
        try:
            hashing.start()
        except RuntimeError:
            return False
        self._hashing = hashing
        return True

    def _wait(self) -> None:
        if self._hashing is not None:
            self._hashing.join()
            self._hashing = None


class Storage(Protocol):
    """Files that are written once, and one manifest that names those that count."""

    def manifest(self) -> Manifest:
        """The last committed state."""

    def commit(self, manifest: Manifest) -> None:
        """From here on, this is what the index holds."""

    def writing(self) -> AbstractContextManager[object]:
        """Hold the writer's lock; another writer waits until it is free."""

    def write(self, name: str, fill: Callable[[BinaryIO], None]) -> None:
        """Write one new file, whole or not at all."""

    def map(self, name: str, record: Record) -> npt.NDArray[np.uint8]:
        """The bytes of a file."""

    def sweep(self, manifest: Manifest) -> None:
        """Delete the files that a manifest does not name."""

    def problem(self, name: str, record: Record) -> str | None:
        """What is wrong with a file, in one line; nothing if it is as it was written."""


class Draft:
    """The files of one change, written but not yet named by a manifest."""

    def __init__(self, storage: Storage, version: int) -> None:
        self.version = version
        self.files: dict[str, Record] = {}
        self._storage = storage

    def add(self, kind: str, write: Callable[[Hashed], None]) -> str:
        """Write one new file; its name is the version and a number, so no name is used twice."""
        name = f"v{self.version:06d}-{len(self.files)}.{kind}"

        written: list[Hashed] = []

        def fill(file: BinaryIO) -> None:
            written.append(Hashed(file))
            write(written[0])

        self._storage.write(name, fill)
        self.files[name] = written[0].record()
        return name
