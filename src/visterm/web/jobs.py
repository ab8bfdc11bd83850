"""Work in the background, one job at a time, and those who watch it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from visterm.child_process import child_environment
from visterm.collection import Locked

Kind = Literal["train", "add", "duplicates"]
_DOING = {
    "train": "learning",
    "add": "looking for pictures",
    "duplicates": "looking for near-duplicates",
}
_WATCHERS = 32
_ALIVE = 15.0
"""Seconds after which a quiet stream says that it is still there."""


@dataclass(frozen=True)
class Job:
    """A job as it stands now."""

    id: int
    kind: Kind
    state: Literal["running", "done", "failed", "stopped"] = "running"
    what: str = ""
    done: int = 0
    total: int = 0
    result: dict[str, Any] | None = None
    error: str | None = None

    @property
    def is_over(self) -> bool:
        return self.state != "running"


class Jobs:
    """Starts jobs, follows what they say, and stops them."""

    def __init__(self, folder: Path, store: Path) -> None:
        self._folder, self._store = folder, store
        self._job: Job | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._changing = threading.Lock()
        self._watchers: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._closed = False
        self.on_end: Callable[[Job], None] = lambda job: None
        """Called, in a thread of the jobs, with each job that has ended."""

    @property
    def last(self) -> Job | None:
        return self._job

    def refuse_while_running(self) -> None:
        """Say at once what waiting for the lock would say much later."""
        job = self._job
        if job is not None and not job.is_over:
            doing = _DOING[job.kind]
            raise Locked(f"visterm is {doing} just now; try again when that is done")

    @property
    def is_running(self) -> bool:
        return self._job is not None and not self._job.is_over

    def start(self, kind: Kind, space: str = "words", changed: Iterable[str] | None = None) -> Job:
        """Begin a job, unless one is running.

        ``space`` is the text space to be trained, ``changed`` the folders to be listed again.
        """
        folders = "" if changed is None else json.dumps(sorted(changed))
        with self._changing:
            self.refuse_while_running()
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "visterm.web.job_process"),
                    *(kind, self._folder, self._store, space, folders),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                env=child_environment(),
            )
            number = 1 if self._job is None else self._job.id + 1
            self._job = Job(number, kind)
            follower = threading.Thread(
                target=self._follow, args=(self._process, self._job), daemon=True
            )
            follower.start()
            return self._job

    def stop(self) -> Job | None:
        """End the running job; what it had committed stays."""
        process = self._process
        if process is not None and process.poll() is None:
            process.terminate()
        return self._job

    def close(self) -> None:
        self._closed = True
        self.stop()
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=10)
        self._wake()

    async def watch(self) -> AsyncIterator[Job | None]:
        """Every state of the job from now on, the last one included; None is a sign of life."""
        watcher = (asyncio.get_running_loop(), asyncio.Event())
        self._watchers.add(watcher)
        try:
            reported: Job | None = None
            while not self._closed:
                job = self._job
                if job is not reported and job is not None:
                    reported = job
                    yield job
                if job is None or job.is_over:
                    return
                watcher[1].clear()
                if self._job is not reported:
                    continue
                try:
                    await asyncio.wait_for(watcher[1].wait(), _ALIVE)
                except TimeoutError:
                    yield None
        finally:
            self._watchers.discard(watcher)

    @property
    def has_many_watchers(self) -> bool:
        return len(self._watchers) >= _WATCHERS

    def _follow(self, process: subprocess.Popen[bytes], job: Job) -> None:
        stream = process.stdout
        if stream is None:
            return
        with stream:
            for line in stream:
                with contextlib.suppress(ValueError, TypeError):
                    job = replace(job, **json.loads(line))
                    self._set(job)
        code = process.wait()
        if code == 0:
            job = replace(job, state="done")
        elif job.error is not None:
            job = replace(job, state="failed")
        elif code < 0 or code == 130:
            job = replace(job, state="stopped")
        else:
            job = replace(job, state="failed", error="the job ended unexpectedly; see the terminal")
        self._set(job)
        if not self._closed:
            self.on_end(job)

    def _set(self, job: Job) -> None:
        self._job = job
        self._wake()

    def _wake(self) -> None:
        for loop, event in tuple(self._watchers):
            with contextlib.suppress(RuntimeError):  # its loop has ended
                loop.call_soon_threadsafe(event.set)
