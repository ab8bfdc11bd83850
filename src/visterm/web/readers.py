"""Threads that answer from a collection, each with a catalogue of its own.

SQLite's connections belong to a thread, and a few threads answer more than many: they share the
interpreter. Questions wait in line, and a line that grows too long is told to come back later.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from visterm.collection import Collection
from visterm.collection.search.active_model import OpenVersions, share
from visterm.collection.thumbnails import Thumbnails
from visterm.errors import VistermError

Found = TypeVar("Found")


class Busy(VistermError):
    """More is asked than can be answered now."""


@dataclass(frozen=True)
class Desk:
    """What a thread has open."""

    collection: Collection
    thumbnails: Thumbnails


class Readers:
    """A few threads and the line before them.

    Parameters
    ----------
    folder, store
        As for `Collection.open`.
    threads
        How many answer at the same time.
    opened
        The index and vocabulary, shared by all threads of a server.
    longest_line
        Questions that may wait; one more is refused with `Busy`.
    """

    def __init__(
        self,
        folder: Path,
        store: Path | None,
        *,
        threads: int,
        opened: OpenVersions,
        longest_line: int = 256,
    ) -> None:
        self._folder, self._store, self._opened = folder, store, opened
        self._longest_line = longest_line
        self._line: queue.SimpleQueue[tuple[Future[Any], Callable[[Desk], Any]] | None] = (
            queue.SimpleQueue()
        )
        self._threads = [
            threading.Thread(target=self._work, name=f"reader-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    async def ask(self, question: Callable[[Desk], Found]) -> Found:
        """The answer of whichever thread is free first."""
        if self._line.qsize() >= self._longest_line:
            raise Busy("too many questions at once; try again in a second")
        future: Future[Found] = Future()
        self._line.put((future, question))
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Answer what is in line, and close."""
        for _ in self._threads:
            self._line.put(None)
        for thread in self._threads:
            thread.join(timeout=10)

    def _work(self) -> None:
        desk: Desk | None = None
        while (waiting := self._line.get()) is not None:
            future, question = waiting
            if not future.set_running_or_notify_cancel():
                continue  # whoever asked has gone
            try:
                if desk is None:
                    desk = self._sit_down()
                future.set_result(question(desk))
            except BaseException as error:
                future.set_exception(error)
        if desk is not None:
            with contextlib.suppress(Exception):
                desk.thumbnails.close()
                desk.collection.close()

    def _sit_down(self) -> Desk:
        collection = Collection.open(self._folder, store=self._store)
        share(collection.catalogue, self._opened)
        return Desk(collection, Thumbnails(collection.root, collection.store))


class Rooms:
    """The threads of a server: for questions, for pictures, and one for changes.

    Thumbnails have their own, so that a page full of large pictures delays no search; changes have
    one, so that they come in the order of the clicks.
    """

    def __init__(self, folder: Path, store: Path | None) -> None:
        cores = os.cpu_count() or 2
        opened = OpenVersions()
        self.questions = Readers(folder, store, threads=max(2, cores), opened=opened)
        self.pictures = Readers(
            folder, store, threads=max(2, cores), opened=opened, longest_line=1024
        )
        self.changes = Readers(folder, store, threads=1, opened=opened, longest_line=32)
        self._opened = opened

    def close(self) -> None:
        for readers in (self.questions, self.pictures, self.changes):
            readers.close()
        self._opened.close()
