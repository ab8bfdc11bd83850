"""Threads that answer from a collection, each with a catalogue of its own.

SQLite's connections belong to a thread, and a few threads answer more than many: they share the
interpreter. Questions wait in line, and a line that grows too long is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from visterm.collection import Collection, SharedState
from visterm.errors import VistermError
from visterm.web.change_process import ChangeProcess, Interrupted

Found = TypeVar("Found")
Values = ParamSpec("Values")

_ASKING = 16
"""Threads that ask shards on a cluster."""


class Busy(VistermError):
    """More is asked than can be answered now."""


class ReaderPool:
    """A few threads and the line before them.

    Parameters
    ----------
    folder, store
        As for `Collection.open`.
    threads
        How many answer at the same time.
    shared
        Open models and indexes, shared by all threads of a server.
    max_waiting
        Questions that may wait; one more is refused with `Busy`.
    """

    def __init__(
        self,
        folder: Path,
        store: Path | None,
        *,
        threads: int,
        shared: SharedState,
        max_waiting: int = 256,
    ) -> None:
        self._folder, self._store, self._shared = folder, store, shared
        self._max_waiting = max_waiting
        self._line: queue.SimpleQueue[tuple[Future[Any], Callable[[Collection], Any]] | None] = (
            queue.SimpleQueue()
        )
        self._threads = [
            threading.Thread(target=self._work, name=f"reader-{number}", daemon=True)
            for number in range(threads)
        ]
        self._is_closed = False
        for thread in self._threads:
            thread.start()

    async def ask(
        self,
        question: Callable[Concatenate[Collection, Values], Found],
        *values: Values.args,
        **named: Values.kwargs,
    ) -> Found:
        """The answer of whichever thread is free first: it calls ``question(collection, ...)``."""
        if self._is_closed:  # nobody would ever answer
            raise Busy("the server is ending; ask again when it is back")
        if self._line.qsize() >= self._max_waiting:
            raise Busy("too many questions at once; try again in a second")
        future: Future[Found] = Future()
        self._line.put((future, lambda collection: question(collection, *values, **named)))
        return await asyncio.wrap_future(future)

    def tell(self, question: Callable[[Collection], object]) -> None:
        """Have something done by whichever thread is free first; nobody waits for it."""
        self._line.put((Future(), question))

    def close(self) -> None:
        """Answer what is in line, and close."""
        self._is_closed = True
        for _ in self._threads:
            self._line.put(None)
        for thread in self._threads:
            thread.join(timeout=10)

    def _work(self) -> None:
        collection: Collection | None = None
        while (waiting := self._line.get()) is not None:
            future, question = waiting
            if not future.set_running_or_notify_cancel():
                continue  # whoever asked has gone
            try:
                if collection is None:
                    collection = Collection.open(
                        self._folder, store=self._store, shared=self._shared
                    )
                future.set_result(question(collection))
            except BaseException as error:
                future.set_exception(error)
        if collection is not None:
            with contextlib.suppress(Exception):
                collection.close()


class ReaderPools:
    """The threads of a server: for questions, for pictures, and one for changes.

    Thumbnails have their own, so that a page full of large pictures delays no search; changes have
    one, so that they come in the order of the clicks. With ``changes_elsewhere``, that one waits
    for a process which does them.
    """

    def __init__(
        self,
        folder: Path,
        store: Path | None,
        shared: SharedState | None = None,
        *,
        changes_elsewhere: bool = False,
    ) -> None:
        cores = os.cpu_count() or 2
        self._shared = shared or SharedState()
        # Threads that wait for other machines leave the interpreter to others.
        asking = max(2, cores) if self._shared.replicas is None else _ASKING
        self.questions = ReaderPool(folder, store, threads=asking, shared=self._shared)
        self.pictures = ReaderPool(
            folder, store, threads=max(2, cores), shared=self._shared, max_waiting=1024
        )
        self.changes = ReaderPool(folder, store, threads=1, shared=self._shared, max_waiting=256)
        self.change_process = ChangeProcess(folder, store) if changes_elsewhere else None
        if self.change_process is not None:  # now, so that the first click finds it ready
            begin = self.change_process.begin
            self.changes.tell(lambda collection: begin())
        self._is_mending = threading.Lock()
        self._shared.mend_later = self.mend_later

    async def submit(self, verb: str, **values: Any) -> Any:
        """As `Collection.submit`."""
        return await self.changes.ask(self._submit, verb, values)

    def _submit(self, collection: Collection, verb: str, values: dict[str, Any]) -> Any:
        if self.change_process is None:
            return collection.submit(verb, **values)
        try:
            return self.change_process.submit(verb, **values)
        except Interrupted:
            with contextlib.suppress(VistermError):  # whoever looks then sees what it will be
                self.change_process.mend()
            raise

    def mend_later(self) -> None:
        """Let the thread for changes finish what a killed writer left, unless it is at it."""
        if self._is_mending.acquire(blocking=False):
            self.changes.tell(self._mend)

    def _mend(self, collection: Collection) -> None:
        self._is_mending.release()  # what comes from here on may not be seen
        (self.change_process or collection).mend()

    def close(self) -> None:
        for pool in (self.questions, self.pictures, self.changes):
            pool.close()
        if self.change_process is not None:
            self.change_process.close()
        self._shared.close()
