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
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from visterm.collection.ingest.plan import READ, IngestTask
from visterm.collection.sources.opening import AT_ONCE, Unavailable, fetch, fetch_sidecars
from visterm.collection.store.location import is_unchanged
from visterm.errors import VistermError
from visterm.features.picture_batches import CRASHES
from visterm.pictures.capture import Capture, file_capture, name_capture
from visterm.pictures.reader import Reading, Wanted
from visterm.pictures.sandbox import NEVER_READY, readers

if TYPE_CHECKING:
    from visterm.features import Extractor
    from visterm.features.extractor import Rows

CHANGES = "it changes while it is read"


class Asked(NamedTuple):
    """A task, and the hashes (hexadecimal) of contents of its file's size that have vectors."""

    task: IngestTask
    known: tuple[str, ...] = ()


@dataclass
class FileDescription:
    """What was read of a task's file, or the reason why it is skipped; its vectors are apart."""

    task: IngestTask
    path: Path
    """Where its bytes lie on this machine, be it for a while."""
    digest: bytes | None = None
    is_known: bool = False
    """Whether its content has a vector already."""
    size: tuple[int, int] | None = None
    """Width and height."""
    captions: list[tuple[str, str]] = field(default_factory=list)
    capture: Capture | None = None
    """When and where it was taken; None where its bytes are not needed."""
    problems: list[str] = field(default_factory=list)
    reason: str | None = None
    is_passing: bool = False
    """Whether the reason says nothing about the picture, so that it is tried another time."""

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
    """Files, what a visit to each brought, and the folder of those that were copied for it."""

    files: list[FileDescription]
    readings: list[Reading]
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
    """

    def __init__(self, root: Path, extractor: Extractor, folder: Path | None = None) -> None:
        self.root, self.extractor, self.gpus = root, extractor, extractor.gpus
        self._folder = folder

    def __call__(self, asked: list[Asked]) -> Described:
        """Read and describe, in another process than the collection's."""
        return self.describe(self.read(asked))

    def lost(self, asked: list[Asked]) -> Described:
        """What is known of a file that ends the process which describes it."""
        return Described(
            [FileDescription(one.task, self.root / one.task.path, reason=CRASHES) for one in asked]
        )

    def read(self, asked: Sequence[Asked], n_threads: int = 1) -> ReadBatch:
        """Visit every file, by so many threads; what lies elsewhere is copied until `describe`."""
        files, copies = self.fetched([task for task, _ in asked])
        try:
            known = [one.known for one in asked]
            if n_threads == 1:
                readings = list(map(self._read, known, files))
            else:
                with ThreadPoolExecutor(n_threads) as several:
                    readings = list(several.map(self._read, known, files))
        except BaseException:
            delete_copies(copies)
            raise
        return ReadBatch(files, readings, copies)

    def describe(self, batch: ReadBatch) -> Described:
        """Descriptions of files, and vectors of what they show, each content once."""
        found, shown = Described(batch.files), list[NDArray]()
        given = self.extractor.given_rows([str(one.path) for one in batch.files])
        for number, (one, reading) in enumerate(zip(batch.files, batch.readings, strict=True)):
            _take(one, reading, needs_pixels=given is None)
            if one.digest is None or one.is_known or one.reason is not None:
                continue
            row = None if given is None else given[number]
            if isinstance(row, str):
                one.reason = row
            elif one.digest not in found.digests:
                frames = zip(reading.seconds, reading.pixels, strict=True)
                for second, pixels in frames if row is None else [(None, row)]:
                    found.digests.append(_noted(found, one.digest, second))
                    shown.append(pixels)
        if shown:
            found.vectors = self.extractor.rows(shown) if given is None else np.stack(shown)
        for one in batch.files:  # not to be taken for what lies there now
            if one.digest is not None and one.reason is None and not one.is_unchanged:
                one.reason = CHANGES
        delete_copies(batch.copies)
        return found

    def _read(self, known: tuple[str, ...], one: FileDescription) -> Reading:
        task = one.task
        if one.reason is not None or not task.is_opened:
            return Reading()
        is_new = task.what == READ
        wanted = Wanted(
            digest=is_new,
            metadata=True,
            json=task.file.offset is not None,
            size=is_new,
            pixels=is_new and self.extractor.given_rows([]) is None,
            frames=True,
            max_side=self.extractor.max_side,
            known=known,
        )
        reading = readers().read(one.path, wanted)
        one.is_known = reading.digest is not None and reading.digest.hex() in known
        return reading

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
        distant = [one for one in files if one.task.is_opened and not one.task.is_here]
        with ThreadPoolExecutor(AT_ONCE) as several:
            list(several.map(self._fetch, distant))
        if len(distant) >= AT_ONCE and all(one.is_passing for one in distant):
            # Thousands of pictures are not asked for one by one of a server that has gone away.
            delete_copies(copies)
            raise VistermError(
                f"{distant[0].task.path}: {distant[0].reason}, and so it is with the "
                f"{len(distant) - 1} after it; what was added before is kept, visterm add goes on "
                "there"
            )
        return files, copies

    def _fetch(self, one: FileDescription) -> None:
        path, file = one.task.path, one.task.file
        try:
            fetch(self.root, path, file.size, file.offset, one.path)
            fetch_sidecars(self.root, path, file.sidecars, file.offset, one.path)
        except Unavailable as reason:
            one.reason, one.is_passing = str(reason), reason.passing
        except OSError as error:
            one.reason, one.is_passing = error.strerror or "it cannot be copied", True


def describe_here(
    work: FileDescriber, batches: Iterable[list[Asked]]
) -> Generator[Described, None, None]:
    """Descriptions of batches by this process: while one is described, the next is read."""
    n_threads = readers().children
    waiting: deque[Future[ReadBatch]] = deque()
    with ThreadPoolExecutor(1) as ahead:
        for asked in batches:
            waiting.append(ahead.submit(work.read, asked, n_threads))
            if len(waiting) > 1:
                yield work.describe(waiting.popleft().result())
        while waiting:
            yield work.describe(waiting.popleft().result())


def _take(one: FileDescription, reading: Reading, *, needs_pixels: bool) -> None:
    """Note what a visit to a file brought."""
    task, written = one.task, reading.metadata
    if one.reason is not None or not task.is_opened:
        return
    one.digest, one.size = reading.digest, reading.size
    one.captions = [(caption.source, caption.text) for caption in written.captions]
    one.problems = written.problems
    one.capture = written.capture | name_capture(task.file.name) | written.recorded
    if task.is_here:
        one.capture |= file_capture(task.file.mtime_ns)
    if task.what == READ and (needs_pixels or reading.digest is None):
        one.reason, one.is_passing = reading.reason, reading.reason == NEVER_READY
    elif reading.reason is not None and not one.problems:
        one.problems = [f"{one.path}: {reading.reason}"]


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
