"""The state that all routes of the API share: threads that read, one writer, a watched folder."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Concatenate, ParamSpec

from pydantic_core import PydanticSerializationError, to_json
from starlette.responses import Response

from visterm.collection import Collection, Queued, SharedState, Watcher
from visterm.errors import VistermError
from visterm.json_text import json_text, plain
from visterm.web.thread_pool import Busy, ThreadPool
from visterm.web.writer import Writer

log = logging.getLogger("visterm.web")
Values = ParamSpec("Values")

_MOST_WAITING = 10_000
"""Changes in the log that wait for a job to end."""
_ASKING_SHARDS = 16
"""Threads that ask shards on a cluster: while they wait, they leave the interpreter to others."""


class Server:
    """An open collection: threads that read it, and the one writer that changes it.

    Pictures have threads of their own, so that a page full of large ones delays no search.

    Parameters
    ----------
    folder, store
        As for `Collection.open`.
    shared
        What all threads share.
    """

    def __init__(self, folder: Path, store: Path, shared: SharedState) -> None:
        self.folder, self.store, self._shared = folder, store, shared
        cores = max(2, os.cpu_count() or 2)
        asking = cores if shared.replicas is None else _ASKING_SHARDS
        self.questions = ThreadPool(self._opened, threads=asking)
        self.pictures = ThreadPool(self._opened, threads=cores, max_waiting=1024)
        self.writer = Writer(folder, store)
        self.watch: FolderWatch | None = None
        """What notices changes of the folder, where anything does."""
        self.watchers = 0
        """How many streams show the progress of a job."""
        shared.catch_up_later = self.writer.catch_up_later

    def _opened(self) -> Collection:
        return Collection.open(self.folder, store=self.store, shared=self._shared)

    async def answer(
        self,
        question: Callable[Concatenate[Collection, Values], object],
        *values: Values.args,
        **named: Values.kwargs,
    ) -> Response:
        """What ``question(collection, ...)`` returns, as JSON; schemas describe it, and check
        nothing: that would take longer than a search."""

        def answered(collection: Collection) -> Response:
            return json_response(question(collection, *values, **named))

        return await self.questions.ask(answered)

    async def change(
        self,
        verb: str,
        shown: Callable[[Any], object] = lambda result: result,
        status: int = 200,
        **values: Any,
    ) -> Response:
        """What a change of the collection returns, as JSON; 202 where it waits for a job to end."""
        changing = self.writer.submit(verb, values)
        if changing is None:
            await self.questions.ask(_put, verb, values)
            self.writer.catch_up_later()  # should the job have ended meanwhile
            result: Any = Queued()
        else:
            result = await asyncio.wrap_future(changing)
        if isinstance(result, Queued):
            return json_response({"queued": True}, 202)
        return json_response(shown(result), status)

    def close(self) -> None:
        if self.watch is not None:
            self.watch.stop()
        self.writer.close()
        self.questions.close()
        self.pictures.close()
        self._shared.close()


def _put(collection: Collection, verb: str, values: dict[str, Any]) -> None:
    if collection.log.waiting >= _MOST_WAITING:
        raise Busy(f"{_MOST_WAITING:,} changes wait for a job to end; try again when it has")
    collection.log.put(verb, **values)


class FolderWatch:
    """A thread that starts jobs when files change, and when enough has changed to learn again.

    Parameters
    ----------
    learns
        Whether training may start by itself.
    """

    def __init__(self, folder: Path, store: Path, writer: Writer, *, learns: bool) -> None:
        self._folder, self._store, self._writer, self._learns = folder, store, writer, learns
        self._watcher = Watcher(folder)
        self._thread = threading.Thread(target=self._run, name="folder-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._watcher.stop()

    @property
    def is_watching(self) -> bool:
        """Whether changes are noticed now."""
        return self._thread.is_alive() and self._watcher.is_watching

    def _run(self) -> None:
        waiting: set[str] = set()
        begun: tuple[int, set[str]] = (0, set())
        try:
            with Collection.open(self._folder, store=self._store) as collection:
                for folders in self._watcher.changes() if collection.is_writable else ():
                    waiting |= folders
                    job = self._writer.job
                    if self._writer.is_at_work:
                        continue
                    if job is not None and job.id == begun[0] and job.state != "done":
                        waiting |= begun[1]  # somebody else was writing: again
                    try:
                        if waiting:
                            begun = (self._writer.start("add", changed=waiting).id, waiting)
                            waiting = set()
                        elif self._learns and collection.is_worth_training:
                            self._writer.start("train")
                    except VistermError:  # busy, or the catalogue cannot be read just now
                        continue
        except Exception:
            log.exception("changes of %s are not noticed any more", self._folder)


def json_response(value: object, status: int = 200) -> Response:
    """A value of the collection as the API returns it."""
    try:
        text: str | bytes = to_json(value, inf_nan_mode="null", fallback=plain)
    except PydanticSerializationError:  # a name that is no text
        text = json_text(value)
    return Response(text, status, media_type="application/json")
