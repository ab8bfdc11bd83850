"""The folder of an index: new files under new names, one writer at a time, rubbish swept."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Iterator
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from visterm.errors import VistermError
from visterm.files import PART, reason, sync_folder, write_whole
from visterm.index.manifest import NAME, Manifest, Record, read_manifest, write_manifest

try:
    import fcntl
except ImportError:  # Windows: there the collection's own lock is the only one.
    fcntl = None  # type: ignore[assignment]

_OURS = re.compile(r"v\d{6,}-\d+\.(columns|rows|ids|alive|order)")


class IndexFolder:
    """A folder with the files of an index, memory-mapped: nothing is read until it is touched."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._has_new_names = False
        self._is_lasting = False
        """Whether the manifest that is there will surely be there after a power cut."""

    def __str__(self) -> str:
        return str(self.path)

    def manifest(self) -> Manifest:
        return read_manifest(self.path)

    def commit(self, manifest: Manifest) -> None:
        """Name the files that were written, once all their names will last."""
        if self._has_new_names:
            try:
                sync_folder(self.path)
            except OSError as error:
                raise VistermError(f"cannot write in {self.path}: {reason(error)}") from error
            self._has_new_names = False
        before = self._manifest_inode()
        try:
            write_manifest(self.path, manifest)
        except BaseException:
            # It may have its name already, and only the sync of the folder have failed.
            self._is_lasting &= self._manifest_inode() == before
            raise
        self._is_lasting = True

    def _manifest_inode(self) -> int | None:
        try:
            return os.stat(self.path / NAME).st_ino
        except OSError:
            return None

    def write(self, name: str, fill: Callable[[BinaryIO], None]) -> None:
        self._has_new_names = True
        write_whole(self.path / name, fill, is_named_later=True)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the folder's writer lock; another writer, of any process, waits until it is free."""
        if fcntl is None:
            yield
            return
        try:
            handle = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise VistermError(f"cannot write in {self.path}: {error.strerror}") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def sweep(self, manifest: Manifest) -> None:
        """Delete what no manifest names: files of states that are gone, and of changes that died.

        A reader that still has an old state open keeps its maps: an unlinked file stays readable.
        """
        rubbish = [
            path
            for path in self.path.iterdir()
            if path.name not in manifest.files
            and (_OURS.fullmatch(path.name) or path.name.endswith(PART))
        ]
        if rubbish and not self._is_lasting:
            sync_folder(self.path)  # or the manifest before might come back, and find nothing
            self._is_lasting = True
        for path in rubbish:
            path.unlink(missing_ok=True)

    def map(self, name: str, record: Record) -> npt.NDArray[np.uint8]:
        """The bytes of a file, read only when touched."""
        path = self.path / name
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size != record.size:
                raise VistermError(
                    f"{path} has {size} bytes instead of {record.size}; build the index again"
                )
            # As `numpy.memmap`, which looks every folder of the path up.
            return np.frombuffer(mmap(file.fileno(), 0, access=ACCESS_READ), np.uint8)

    def problem(self, name: str, record: Record) -> str | None:
        """What is wrong with a file, in one line; nothing if its bytes are as they were."""
        path = self.path / name
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
