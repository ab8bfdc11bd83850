"""Opening the files of a batch: their SHA-256 and their metadata."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from visterm.collection.ingest.plan import READ, IngestTask, Survey
from visterm.collection.sources.contents import AT_ONCE, fetch, fetch_sidecars
from visterm.collection.sources.unavailable import Unavailable
from visterm.collection.store.location import is_unchanged
from visterm.errors import VistermError

if TYPE_CHECKING:
    from visterm.pictures.metadata.capture import Capture

CHANGES = "it changes while it is read"
INCOMING = "incoming"
"""The folder of the store with copies of what is being added from elsewhere."""


@dataclass
class Opened:
    """A file that was opened: its content hash and captions, or the reason why it is skipped."""

    task: IngestTask
    file: Path
    """Where its bytes lie on this machine, be it for a while."""
    digest: bytes | None = None
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
        return not self.task.is_here or is_unchanged(self.file, file.size, file.mtime_ns)


class Incoming:
    """The files of tasks on this machine; pictures that lie elsewhere are copied for a while.

    Parameters
    ----------
    root
        The folder of the collection.
    folder
        For the copies; a temporary one where none is given.
    """

    def __init__(self, root: Path, folder: Path | None = None) -> None:
        self.root = root
        self._given, self._count = folder, 0

    def __enter__(self) -> Incoming:
        if self._given is None:
            self._folder = Path(tempfile.mkdtemp(prefix="visterm-"))
        else:
            self._folder = self._given
            shutil.rmtree(self._folder, ignore_errors=True)  # what a killed writer left
        return self

    def __exit__(self, *error: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def opened(self, tasks: list[IngestTask]) -> list[Opened]:
        """Every task with its file, content hash and captions, or with the reason why not."""
        batch = self.take(tasks)
        for one in batch:
            if one.task.is_opened and one.reason is None:
                _open(one)
        return batch

    def take(self, tasks: list[IngestTask]) -> list[Opened]:
        """Every task with its file, in order; those that cannot be had with the reason."""
        if all(task.is_here or not task.is_opened for task in tasks):
            return [Opened(task, self.root / task.path) for task in tasks]
        self._count += 1
        copies = self._folder / str(self._count)
        copies.mkdir(parents=True)
        found = [
            Opened(task, self.root / task.path if task.is_here else copies / f"{number}.picture")
            for number, task in enumerate(tasks)
        ]
        fetched = [one for one in found if one.task.is_opened and not one.task.is_here]
        with ThreadPoolExecutor(AT_ONCE) as several:
            list(several.map(self._fetch, fetched))
        _check_reachable(fetched)
        return found

    def delete_copies(self, batch: list[Opened]) -> None:
        """Delete the copies of a batch."""
        for folder in {one.file.parent for one in batch if not one.task.is_here}:
            shutil.rmtree(folder, ignore_errors=True)

    def _fetch(self, one: Opened) -> None:
        path, file = one.task.path, one.task.file
        try:
            fetch(self.root, path, file.size, file.offset, one.file)
            fetch_sidecars(self.root, path, file.sidecars, file.offset, one.file)
        except Unavailable as reason:
            one.reason, one.is_passing = str(reason), reason.passing
        except OSError as error:
            one.reason, one.is_passing = error.strerror or "it cannot be copied", True


def opened_batches(
    plan: Survey, incoming: Incoming, size: int
) -> Generator[list[Opened], None, None]:
    """The survey's files, opened one batch ahead of whoever describes them."""
    waiting: deque[Future[list[Opened]]] = deque()
    with ThreadPoolExecutor(1) as ahead:
        for tasks in plan.tasks(size):
            waiting.append(ahead.submit(incoming.opened, tasks))
            if len(waiting) > 1:
                yield from _lent(incoming, waiting.popleft())
        while waiting:
            yield from _lent(incoming, waiting.popleft())


def _lent(incoming: Incoming, coming: Future[list[Opened]]) -> Iterator[list[Opened]]:
    batch = coming.result()
    yield batch
    incoming.delete_copies(batch)


def _open(found: Opened) -> None:
    """The content hash and the metadata of one file, as far as its task asks for them."""
    from visterm.pictures.decoding import Refused, opened
    from visterm.pictures.metadata import metadata_of
    from visterm.pictures.metadata.capture import file_capture, name_capture
    from visterm.pictures.metadata.sidecars import read_json_sidecar

    if found.task.what == READ:
        try:
            with opened(found.file) as file:
                found.digest = hashlib.file_digest(file, "sha256").digest()  # type: ignore[arg-type]
        except Refused as reason:
            found.reason = str(reason)
            return
        except OSError as error:
            found.reason = error.strerror or "it cannot be read"
            return
        if not found.is_unchanged:
            found.reason = CHANGES
            return
    written = metadata_of(found.file)
    found.problems += written.problems
    said = [(one.source, one.text) for one in written.captions]
    found.capture = written.capture | name_capture(found.task.file.name) | written.recorded
    if found.task.is_here:
        found.capture |= file_capture(found.task.file.mtime_ns)
    if found.task.file.offset is not None:
        said += read_json_sidecar(found.file.with_suffix(".json"), found.problems)
    found.captions = said


def _check_reachable(distant: list[Opened]) -> None:
    """Thousands of pictures are not asked for one by one of a server that has gone away."""
    if len(distant) >= AT_ONCE and all(one.is_passing for one in distant):
        raise VistermError(
            f"{distant[0].task.path}: {distant[0].reason}, and so it is with the "
            f"{len(distant) - 1} after it; what was added before is kept, visterm add goes on there"
        )
