"""An index without a folder: the same files as bytes in memory, while the object lives."""

from __future__ import annotations

import threading
from collections.abc import Callable
from io import BytesIO
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from visterm.index.manifest import Manifest, Record


class IndexMemory:
    """What :class:`~visterm.index.index_folder.IndexFolder` does on disk, in memory.

    The bytes are those a folder would hold, so a search gives the same ids and scores.
    """

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._files: dict[str, npt.NDArray[np.uint8]] = {}
        self._lock = threading.Lock()

    def __str__(self) -> str:
        return "memory"

    def manifest(self) -> Manifest:
        return self._manifest

    def commit(self, manifest: Manifest) -> None:
        self._manifest = manifest

    def writing(self) -> threading.Lock:
        return self._lock

    def write(self, name: str, fill: Callable[[BinaryIO], None]) -> None:
        file = BytesIO()
        fill(file)
        self._files[name] = np.frombuffer(file.getbuffer(), np.uint8)

    def map(self, name: str, record: Record) -> npt.NDArray[np.uint8]:
        return self._files[name]

    def sweep(self, manifest: Manifest) -> None:
        for name in self._files.keys() - manifest.files.keys():
            del self._files[name]

    def problem(self, name: str, record: Record) -> None:
        """Memory does not decay."""
