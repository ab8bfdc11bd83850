"""Opening the files of a batch: their SHA-256 and their captions."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from visterm.collection.ingest.diff import READ, RETURNED, IngestTask, Survey
from visterm.collection.store.location import is_unchanged

CHANGES = "it changes while it is read"


@dataclass
class Opened:
    """A file that was opened: its content hash and captions, or the reason why it is skipped."""

    task: IngestTask
    digest: bytes | None = None
    captions: list[tuple[str, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    reason: str | None = None


def opened_batches(plan: Survey, size: int) -> Iterator[list[Opened]]:
    """The survey's files, opened one batch ahead of whoever describes them."""
    waiting: deque[Future[list[Opened]]] = deque()
    with ThreadPoolExecutor(1) as ahead:
        for batch in plan.tasks(size):
            waiting.append(ahead.submit(_open_all, plan.root, batch))
            if len(waiting) > 1:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def still_as(root: Path, task: IngestTask) -> bool:
    """Whether a file is still as it was when its folder was listed."""
    return is_unchanged(root / task.path, task.file.size, task.file.mtime_ns)


def _open_all(root: Path, tasks: list[IngestTask]) -> list[Opened]:
    return [open_file(root, task) for task in tasks]


def open_file(root: Path, task: IngestTask) -> Opened:
    """The content hash and the captions of one file, as far as its task asks for them."""
    from visterm.pictures import captions_of
    from visterm.pictures.decoding import Refused, opened

    found = Opened(task)
    if task.what == RETURNED:
        return found
    path = root / task.path
    if task.what == READ:
        try:
            with opened(path) as file:
                found.digest = hashlib.file_digest(file, "sha256").digest()  # type: ignore[arg-type]
        except Refused as reason:
            found.reason = str(reason)
            return found
        except OSError as error:
            found.reason = error.strerror or "it cannot be read"
            return found
        if not still_as(root, task):
            found.reason = CHANGES
            return found
    found.captions = [(one.source, one.text) for one in captions_of(path, problems=found.problems)]
    return found
