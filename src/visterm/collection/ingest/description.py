"""Describing the files of tasks: each is read once, for its hash, its metadata and its vector.

The same work is done in this process, in others of this machine, or by the workers of a cluster;
files that lie elsewhere are copied to where it is done, for as long as their batch takes.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections import deque
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from visterm.collection.ingest.survey import READ, IngestTask
from visterm.collection.sources.opening import AT_ONCE, fetch, fetch_sidecars
from visterm.collection.store.location import is_unchanged
from visterm.errors import VistermError
from visterm.features.picture_batches import CRASHES
from visterm.pictures.formats import Refused
from visterm.pictures.metadata import Capture, file_capture, name_capture
from visterm.pictures.reader import Reading, Wanted
from visterm.pictures.sandbox import NEVER_READY, readers

if TYPE_CHECKING:
    from visterm.features import Extractor
    from visterm.features.extractor import Rows

CHANGES = "it changes while it is read"


@dataclass
class FileDescription:
    """What was read of a task's file, or the reason why it is skipped; its vectors are apart."""

    task: IngestTask
    path: Path
    """Where its bytes lie on this machine, be it for a while."""
    reading: Reading = field(default_factory=Reading)
    reason: str | None = None
    is_passing: bool = False
    """Whether the reason says nothing about the picture, so that it is tried another time."""

    @property
    def is_new(self) -> bool:
        """Whether it can be read and has no vector yet."""
        digest = self.reading.digest
        return self.reason is None and digest is not None and digest.hex() not in self.task.known

    @property
    def capture(self) -> Capture:
        """When and where it was taken."""
        written, file = self.reading.metadata, self.task.file
        capture = written.capture | name_capture(file.name) | written.recorded
        return capture | file_capture(file.mtime_ns) if self.task.is_here else capture

    @property
    def is_unchanged(self) -> bool:
        """Whether a file is still as it was when its folder was listed; a copy always is."""
        file = self.task.file
        return not self.task.is_here or is_unchanged(self.path, file.size, file.mtime_ns)


@dataclass
class Described:
    """Descriptions of files, and vectors of their contents with the hashes in the same order.

    Further frames of a video have hashes of their own, after that of the video; ``videos`` says
    whose they are, and ``seconds`` when each frame, the first one too, is shown.
    """

    files: list[FileDescription] = field(default_factory=list)
    vectors: Rows | None = None
    digests: list[bytes] = field(default_factory=list)
    videos: dict[bytes, bytes] = field(default_factory=dict)
    seconds: dict[bytes, float] = field(default_factory=dict)


class ReadBatch(NamedTuple):
    """Files that were visited, and the folder of those that were copied for it."""

    files: list[FileDescription]
    copies: Path | None


class FileDescriber:
    """Reads and describes batches of files.

    Parameters
    ----------
    root
        The folder of the collection.
    extractor
        What makes vectors of pixels.
    folder
        For copies of what lies elsewhere; a temporary one where none is given.
    reads_text
        Whether text in pictures is read.
    """

    def __init__(
        self,
        root: Path,
        extractor: Extractor,
        folder: Path | None = None,
        *,
        reads_text: bool = False,
    ) -> None:
        self.root, self.extractor, self.gpus = root, extractor, extractor.gpus
        self._folder, self._reads_text = folder, reads_text

    def __call__(self, tasks: list[IngestTask]) -> Described:
        """Read and describe, in another process than the collection's."""
        return self.describe(self.read(tasks))

    def lost(self, tasks: list[IngestTask]) -> Described:
        """What is known of a file that ends the process which describes it."""
        return Described(
            [FileDescription(task, self.root / task.path, reason=CRASHES) for task in tasks]
        )

    def read(self, tasks: Sequence[IngestTask], n_threads: int = 1) -> ReadBatch:
        """Visit every file, by so many threads; what lies elsewhere is copied until `describe`."""
        files, copies = self.fetched(tasks)
        try:
            with ThreadPoolExecutor(n_threads) as several:
                list(several.map(self._read, files))
        except BaseException:
            delete_copies(copies)
            raise
        return ReadBatch(files, copies)

    def describe(self, batch: ReadBatch) -> Described:
        """Descriptions of files, and vectors of what they show, each content once."""
        described, shown = Described(batch.files), list[NDArray]()
        given = self.extractor.given_rows([str(file.path) for file in batch.files])
        for number, file in enumerate(batch.files):
            pixels, file.reading.pixels = file.reading.pixels, []
            digest = file.reading.digest
            if digest is None or not file.is_new:
                continue
            row = None if given is None else given[number]
            if isinstance(row, str):
                file.reason = row
            elif digest not in described.digests:
                frames = zip(file.reading.seconds, pixels, strict=True)
                for second, frame in frames if row is None else [(None, row)]:
                    described.digests.append(_noted(described, digest, second))
                    shown.append(frame)
        if shown:
            described.vectors = self.extractor.rows(shown) if given is None else np.stack(shown)
        for file in batch.files:  # not to be taken for what lies there now
            if file.reading.digest is not None and file.reason is None and not file.is_unchanged:
                file.reason = CHANGES
        delete_copies(batch.copies)
        return described

    def _read(self, file: FileDescription) -> None:
        task = file.task
        if file.reason is not None or not task.is_opened:
            return
        is_read = task.what == READ
        needs_pixels = is_read and self.extractor.given_rows([]) is None
        wanted = Wanted(
            digest=is_read,
            metadata=True,
            json=task.file.offset is not None,
            size=is_read,
            pixels=needs_pixels,
            frames=True,
            max_side=self.extractor.max_side,
            text=is_read and self._reads_text,
            known=task.known,
        )
        reading = readers().read(file.path, wanted)
        if wanted.text and reading.text is None:  # what is written in it must not cost the picture
            reading = replace(readers().read(file.path, replace(wanted, text=False)), text="")
        file.reading = reading
        if needs_pixels or (is_read and reading.digest is None):
            file.reason, file.is_passing = reading.reason, reading.reason == NEVER_READY
        elif reading.reason is not None and not reading.metadata.problems:
            reading.metadata.problems = [f"{file.path}: {reading.reason}"]

    def fetched(self, tasks: Sequence[IngestTask]) -> tuple[list[FileDescription], Path | None]:
        """Every task with its file, or the reason why it cannot be had, and the folder of copies
        that were made of what lies elsewhere."""
        if all(task.is_here or not task.is_opened for task in tasks):
            return [FileDescription(task, self.root / task.path) for task in tasks], None
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
        copies = Path(tempfile.mkdtemp(prefix="visterm-", dir=self._folder))
        files = [
            FileDescription(
                task, self.root / task.path if task.is_here else copies / f"{number}.picture"
            )
            for number, task in enumerate(tasks)
        ]
        distant = [file for file in files if file.task.is_opened and not file.task.is_here]
        with ThreadPoolExecutor(AT_ONCE) as several:
            list(several.map(self._fetch, distant))
        if len(distant) >= AT_ONCE and all(file.is_passing for file in distant):
            # Thousands of pictures are not asked for one by one of a server that has gone away.
            delete_copies(copies)
            raise VistermError(
                f"{distant[0].task.path}: {distant[0].reason}, and so it is with the "
                f"{len(distant) - 1} after it; what was added before is kept, visterm add goes on "
                "there"
            )
        return files, copies

    def _fetch(self, described: FileDescription) -> None:
        path, file = described.task.path, described.task.file
        try:
            fetch(self.root, path, file.size, file.offset, described.path)
            fetch_sidecars(self.root, path, file.sidecars, file.offset, described.path)
        except Refused as reason:
            described.reason, described.is_passing = str(reason), reason.passing
        except OSError as error:
            described.reason, described.is_passing = error.strerror or "it cannot be copied", True


def describe_here(
    work: FileDescriber, batches: Iterable[list[IngestTask]]
) -> Generator[Described, None, None]:
    """Descriptions of batches by this process: while one is described, the next is read."""
    n_threads = readers().children
    waiting: deque[Future[ReadBatch]] = deque()
    with ThreadPoolExecutor(1) as ahead:
        for tasks in batches:
            waiting.append(ahead.submit(work.read, tasks, n_threads))
            if len(waiting) > 1:
                yield work.describe(waiting.popleft().result())
        while waiting:
            yield work.describe(waiting.popleft().result())


def delete_copies(copies: Path | None) -> None:
    """Delete the folder that files were copied to, if any were."""
    if copies is not None:
        shutil.rmtree(copies, ignore_errors=True)


def _noted(described: Described, digest: bytes, second: float | None) -> bytes:
    """The hash under which a vector is kept: that of its content, or of one more frame of it."""
    own = digest
    if digest in described.seconds:
        own = hashlib.sha256(digest + f" at {second}".encode()).digest()
        described.videos[own] = digest
    if second is not None:
        described.seconds[own] = second
    return own
