"""The server's one writer: a child that does changes, adds pictures and trains, one after another.

    python -m visterm.web.writer FOLDER STORE

reads tasks and writes what comes of them, a line of JSON each way, until nobody asks any more. Its
priority is lower than the server's, so searches wait neither for the interpreter nor for a core. A
job is a task that reports its progress; the child ends after it, which gives its memory back, and
another one begins. A kill leaves the collection as it was last committed.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self

from visterm.child_process import child_environment
from visterm.collection import (
    Collection,
    Judgement,
    Locked,
    NotTrained,
    Queued,
    RoundReport,
    UndoneStep,
    UnknownPicture,
    UnknownWords,
)
from visterm.errors import BadInput, NotAllowed, UnreadablePicture, VistermError
from visterm.progress import Progress, silent
from visterm.web.thread_pool import Busy, ThreadPool

log = logging.getLogger("visterm.web")

Kind = Literal["train", "add", "duplicates"]
_DOING = {
    "train": "learning",
    "add": "looking for pictures",
    "duplicates": "looking for near-duplicates",
}
RESULTS = {kind.__name__: kind for kind in (Judgement, Queued, RoundReport, UndoneStep)}
"""What changes return besides numbers and nothing."""
ERRORS: dict[str, type[VistermError]] = {
    kind.__name__: kind
    for kind in (
        *(UnknownPicture, UnknownWords, NotTrained, Locked),
        *(UnreadablePicture, NotAllowed, BadInput),
    )
}
"""Errors that the API tells apart, the narrower ones first."""
_LESS_URGENT = 5
"""Searches come before changes by so much, and those before jobs: somebody waits for them."""
_PATIENCE = 10.0
"""Seconds in which a child finishes what it is doing, once the server has ended."""
_REPORT_EVERY = 0.1


class Interrupted(VistermError):
    """Whoever did a change ended in the middle of it: it is done, or it is not."""

    def __init__(self) -> None:
        super().__init__(
            "this was interrupted, and is done or not done; look, and say it again if it is not"
        )


@dataclass(frozen=True)
class Job:
    """Work in the background, as it stands now."""

    id: int
    kind: Kind
    state: Literal["running", "done", "failed", "stopped"] = "running"
    what: str = ""
    """What is being done, or was last."""
    done: int = 0
    total: int = 0
    result: dict[str, Any] | None = None
    error: str | None = None

    @property
    def is_over(self) -> bool:
        return self.state != "running"


class WriterProcess:
    """The child, begun when it is needed; one thread asks it.

    Parameters
    ----------
    folder, store
        As for `Collection.open`.
    """

    def __init__(self, folder: Path, store: Path) -> None:
        self._command = [sys.executable, "-m", __name__, str(folder), str(store)]
        self._child: subprocess.Popen[bytes] | None = None
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        """End the child once it has done what it is doing."""
        self._is_closed = True
        self._end(_PATIENCE)

    def begin(self) -> subprocess.Popen[bytes]:
        """The child; a new one where there is none, or it has ended."""
        if self._child is not None and self._child.poll() is None:
            return self._child
        self._end(0.0)
        if self._is_closed:
            raise Interrupted
        pipe = subprocess.PIPE
        self._child = subprocess.Popen(
            self._command, stdin=pipe, stdout=pipe, env=child_environment()
        )
        return self._child

    def ask(
        self,
        verb: str,
        values: dict[str, Any] | None = None,
        progress: Progress = silent,
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> Any:
        """What a task returns, or raises; `Interrupted` where the child is killed on the way."""
        task = json.dumps([verb, values or {}]).encode() + b"\n"
        try:
            child = self.begin()
            assert child.stdin is not None
            assert child.stdout is not None
            if is_stopped():  # before the child could be killed for it
                raise Interrupted
            child.stdin.write(task)
            child.stdin.flush()
            while "progress" in (answer := json.loads(child.stdout.readline())):
                progress(*answer["progress"])
        except (OSError, ValueError):  # a line that is half there is none
            self._end(0.0)
            raise Interrupted from None
        if verb in _DOING:
            self._end(_PATIENCE)
        return _result(answer)

    def kill(self) -> None:
        """End what the child is doing, from another thread; what it has committed stays."""
        if self._child is not None:
            self._child.terminate()

    def _end(self, patience: float) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        try:
            child.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()


def _result(answer: dict[str, Any]) -> Any:
    """What the child's task returned; its error is raised here."""
    if "mistake" in answer:
        raise RuntimeError(f"in the writer: {answer['mistake']}")
    if "error" in answer:
        kind = ERRORS.get(answer["kind"], VistermError)
        error = kind.__new__(kind, answer["error"])  # what it is made from is in its fields
        vars(error).update(answer["fields"])
        raise error
    if "kind" in answer:
        return RESULTS[answer["kind"]](**answer["fields"])
    return answer["result"]


class Writer:
    """Whatever changes a served collection: changes in the order of the clicks, one job at a time.

    Parameters
    ----------
    folder, store
        As for `Collection.open`.
    """

    def __init__(self, folder: Path, store: Path) -> None:
        self.process = WriterProcess(folder, store)
        self._thread = ThreadPool(lambda: self.process, threads=1)
        self._deciding = threading.Lock()
        self._is_catching_up = False
        self._is_stopped = threading.Event()
        self._is_at_job = False
        self.is_closed = False
        self.job: Job | None = None
        """The last job; None where there was none since the server began."""

    def begin(self) -> None:
        """Begin the child now, so that the first click finds it ready."""
        self._thread.submit(WriterProcess.begin)

    def submit(self, verb: str, values: dict[str, Any]) -> Future[Any] | None:
        """Do a change, as `Collection.submit`; None while a job is at work: the log takes it."""
        with self._deciding:
            return None if self.is_at_work else self._thread.submit(_changed, verb, values)

    def catch_up_later(self) -> None:
        """Have finished what a killed writer left, unless that is being done."""
        with self._deciding:
            if self._is_catching_up or self.is_at_work:
                return
            self._is_catching_up = True  # before the thread may say that it is not any more
            try:
                self._thread.submit(self._catch_up)
            except Busy:
                self._is_catching_up = False

    def _catch_up(self, process: WriterProcess) -> None:
        self._is_catching_up = False  # what comes from here on may not be seen
        process.ask("catch_up")

    @property
    def is_at_work(self) -> bool:
        """Whether a job is running."""
        return self.job is not None and not self.job.is_over

    def start(self, kind: Kind, space: str = "words", changed: Iterable[str] | None = None) -> Job:
        """Begin a job, unless one is running: `Locked` says so at once.

        ``space`` is the text space to be trained, ``changed`` the folders to be listed again.
        """
        values = {"space": space, "changed": None if changed is None else sorted(changed)}
        with self._deciding:
            if self.job is not None and not self.job.is_over:
                doing = _DOING[self.job.kind]
                raise Locked(f"visterm is {doing} just now; try again when that is done")
            before, job = self.job, Job(1 if self.job is None else self.job.id + 1, kind)
            self._is_stopped.clear()
            self.job = job  # before the thread may say how it stands
            try:
                self._thread.submit(self._run, job, values)
            except Busy:
                self.job = before
                raise
            return job

    def stop(self) -> Job | None:
        """End the running job; what it had committed stays."""
        self._is_stopped.set()
        if self._is_at_job:
            self.process.kill()
        return self.job

    def end(self) -> None:
        """Stop the job, and begin no other."""
        self.is_closed = True
        self.stop()

    def close(self) -> None:
        """Stop the job, finish the changes, and end the child."""
        self.end()
        self._thread.close()

    def _run(self, process: WriterProcess, job: Job, values: dict[str, Any]) -> None:
        def report(what: str, done: int, total: int) -> None:
            nonlocal job
            self.job = job = replace(job, what=what, done=done, total=total)

        self._is_at_job = True
        try:
            result = process.ask(job.kind, values, report, self._is_stopped.is_set)
            job = replace(job, state="done", result=result)
        except Interrupted:
            job = replace(job, state="stopped")
        except VistermError as error:
            job = replace(job, state="failed", error=str(error))
        except Exception:
            log.exception("the job %s failed", job.kind)
            job = replace(job, state="failed", error="the job ended unexpectedly; see the terminal")
        self._is_at_job = False
        if not self.is_closed:  # what was said meanwhile is done, even if the job was killed
            # It is still at work, for whoever says more: nobody waits until all that is done.
            self.job = replace(job, state="running", what="doing what was said meanwhile")
            with contextlib.suppress(VistermError):
                process.ask("catch_up")
        self.job = job
        if not self.is_closed:
            process.ask("catch_up")  # what was said at the very end


def _changed(process: WriterProcess, verb: str, values: dict[str, Any]) -> Any:
    try:
        return process.ask(verb, values)
    except Interrupted:
        with contextlib.suppress(VistermError):  # whoever looks then sees what it will be
            process.ask("catch_up")
        raise


def answer_to(
    task: bytes, opened: Callable[[], Collection], progress: Progress = silent
) -> dict[str, Any]:
    """Do a task in the child; returns what came of it."""
    verb, values = json.loads(task)
    try:
        result = _done(opened(), verb, values, progress)
    except VistermError as error:
        kind = next((name for name in ERRORS if isinstance(error, ERRORS[name])), "")
        return {"error": str(error), "kind": kind, "fields": vars(error) if kind else {}}
    except BrokenPipeError:  # the server has gone
        raise
    except Exception:  # our own mistake: the server's log says it, and the next task is done
        return {"mistake": traceback.format_exc()}
    name = type(result).__name__
    return {"kind": name, "fields": vars(result)} if name in RESULTS else {"result": result}


def _done(collection: Collection, verb: str, values: dict[str, Any], progress: Progress) -> Any:
    if verb == "catch_up":
        return collection.catch_up()
    if verb not in _DOING:
        return collection.submit(verb, **values)
    if hasattr(os, "nice"):
        os.nice(_LESS_URGENT)
    if verb == "add":
        return _add(collection, values["changed"], progress)
    if verb == "duplicates":
        return {"groups": len(collection.near_duplicates(progress=progress))}
    if values["space"] == "words":
        return asdict(collection.train(progress=progress))
    return {"trained": collection.train_space(values["space"], progress=progress)}


def _add(collection: Collection, changed: list[str] | None, progress: Progress) -> dict[str, Any]:
    """Look for pictures; learn from their captions, if nothing has been learnt yet."""
    added = collection.add(changed=changed, progress=progress)
    result: dict[str, Any] = {**asdict(added), "skipped": len(added.skipped), "trained": False}
    if collection.awaits_training:
        try:
            reason = collection.train_first(progress=progress)
        except VistermError as error:  # too few captions are no failure of adding
            reason = str(error)
        result |= {"trained": True} if reason is None else {"not_trained": reason}
    return result


def main(folder: str, store: str) -> None:
    """Do tasks until nobody asks any more, or one of them was a job."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the server's, which lets this end
    if hasattr(os, "nice"):
        os.nice(_LESS_URGENT)
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what a library prints must not be taken for an answer
    reported: tuple[str, float] = ("", 0.0)

    def write(answer: dict[str, Any]) -> None:
        answers.write(json.dumps(answer).encode() + b"\n")

    def progress(what: str, done: int, total: int) -> None:
        nonlocal reported
        now = time.monotonic()
        if done >= total or what != reported[0] or now - reported[1] >= _REPORT_EVERY:
            reported = (what, now)
            write({"progress": [what, done, total]})

    with contextlib.ExitStack() as until_the_end, contextlib.suppress(BrokenPipeError):

        @cache
        def opened() -> Collection:
            return until_the_end.enter_context(Collection.open(folder, store=store, create=False))

        with contextlib.suppress(VistermError):  # whoever asks gets it as the answer
            opened()
        for task in sys.stdin.buffer:
            write(answer_to(task, opened, progress))
            if json.loads(task)[0] in _DOING:
                return


if __name__ == "__main__":
    main(*sys.argv[1:3])
