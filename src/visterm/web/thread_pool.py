"""A few threads, each with a tool of its own, and the line before them.

SQLite's connections belong to a thread. Threads share the interpreter, and two that are busy slow
each other down: so one answers for as long as there is something in line, and others help it only
where a question takes long. A line that grows too long is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from visterm.errors import VistermError

Tool = TypeVar("Tool")
Answer = TypeVar("Answer")
Values = ParamSpec("Values")


_PATIENCE = 0.005
"""Seconds after which a question is answered beside another one."""


class Busy(VistermError):
    """More is asked than can be answered now."""


class ThreadPool(Generic[Tool]):
    """A few threads and the line before them.

    Parameters
    ----------
    opened
        Opens what a thread works with, such as a collection, when the thread first needs it.
    threads
        How many answer at the same time.
    max_waiting
        Questions that may wait; one more is refused with `Busy`.
    """

    def __init__(
        self,
        opened: Callable[[], AbstractContextManager[Tool]],
        *,
        threads: int,
        max_waiting: int = 256,
    ) -> None:
        self._opened, self._max_waiting = opened, max_waiting
        self._line: queue.SimpleQueue[tuple[Future[Any], Callable[[Tool], Any]] | None] = (
            queue.SimpleQueue()
        )
        self._threads = [
            threading.Thread(target=self._work, name=f"reader-{number}", daemon=True)
            for number in range(threads)
        ]
        self._is_closed = False
        self._turn = threading.Lock()
        for thread in self._threads:
            thread.start()

    def submit(
        self,
        question: Callable[Concatenate[Tool, Values], Answer],
        *values: Values.args,
        **named: Values.kwargs,
    ) -> Future[Answer]:
        """Have ``question(tool, ...)`` called by whichever thread is free first."""
        if self._is_closed:  # nobody would ever answer
            raise Busy("the server is ending; ask again when it is back")
        if self._line.qsize() >= self._max_waiting:
            raise Busy("too many questions at once; try again in a second")
        future: Future[Answer] = Future()
        self._line.put((future, lambda tool: question(tool, *values, **named)))
        return future

    async def ask(
        self,
        question: Callable[Concatenate[Tool, Values], Answer],
        *values: Values.args,
        **named: Values.kwargs,
    ) -> Answer:
        """The answer of whichever thread is free first."""
        return await asyncio.wrap_future(self.submit(question, *values, **named))

    def close(self) -> None:
        """Answer what is in line, and close."""
        self._is_closed = True
        for _ in self._threads:
            self._line.put(None)
        for thread in self._threads:
            thread.join(timeout=10)

    def _work(self) -> None:
        tool: Tool | None = None
        has_turn = False
        with contextlib.ExitStack() as until_the_end:
            while True:
                try:
                    waiting = self._line.get(block=not has_turn)
                except queue.Empty:
                    self._turn.release()
                    has_turn = False
                    continue
                if waiting is None:
                    break
                has_turn = has_turn or self._turn.acquire(timeout=_PATIENCE)
                future, question = waiting
                if not future.set_running_or_notify_cancel():
                    continue  # whoever asked has gone
                try:
                    if tool is None:
                        tool = until_the_end.enter_context(self._opened())
                    future.set_result(question(tool))
                except BaseException as error:
                    future.set_exception(error)
            if has_turn:
                self._turn.release()
