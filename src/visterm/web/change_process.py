"""Changes in a process of their own: captions, clicks and undo, one after another.

    python -m visterm.web.change_process FOLDER [STORE]

reads a change and writes what came of it, a line of JSON each way, until nobody asks any more.
The fit after a click takes a processor for a tenth of a second: in the server's process, searches
would wait for the interpreter meanwhile; in one of lower priority they do not even wait for a core.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

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
from visterm.errors import BadInput, UnreadablePicture, VistermError

RESULTS = {one.__name__: one for one in (Judgement, Queued, RoundReport, UndoneStep)}
"""What changes return besides numbers and nothing."""
ERRORS: dict[str, type[VistermError]] = {
    one.__name__: one
    for one in (UnknownPicture, UnknownWords, NotTrained, Locked, UnreadablePicture, BadInput)
}
"""Errors that the API tells apart, the narrower ones first."""
_LESS_URGENT = 5
_PATIENCE = 10.0
"""Seconds in which a child finishes what it is doing, once the server has ended."""


class Interrupted(VistermError):
    """Whoever did a change ended in the middle of it: it is done, or it is not."""

    def __init__(self) -> None:
        super().__init__(
            "this was interrupted, and is done or not done; look, and say it again if it is not"
        )


class ChangeProcess:
    """The child that changes a collection, begun when it is needed; one thread asks it.

    Parameters
    ----------
    folder, store
        As for `Collection.open`.
    """

    def __init__(self, folder: Path, store: Path | None) -> None:
        where = [folder] if store is None else [folder, store]
        self._command = [sys.executable, "-m", __name__, *map(str, where)]
        self._child: subprocess.Popen[bytes] | None = None
        self._is_closed = False

    def submit(self, verb: str, **values: Any) -> Any:
        """As `Collection.submit`; `Interrupted` where the child is killed on the way."""
        asked = json.dumps([verb, values]).encode() + b"\n"
        try:
            child = self.begin()
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write(asked)
            child.stdin.flush()
            answer = json.loads(child.stdout.readline())
        except (OSError, ValueError):  # a line that is half there is none
            self._end(0.0)
            raise Interrupted from None
        return _result(answer)

    def mend(self) -> None:
        """As `Collection.mend`."""
        self.submit("mend")

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

    def close(self) -> None:
        """End the child once it has done what it is doing."""
        self._is_closed = True
        self._end(_PATIENCE)

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
    """What the child's change returned; its error is raised here."""
    if "mistake" in answer:
        raise RuntimeError(f"in the process for changes: {answer['mistake']}")
    if "error" in answer:
        kind = ERRORS.get(answer["kind"], VistermError)
        error = kind.__new__(kind, answer["error"])  # what it is made from is in its fields
        vars(error).update(answer["fields"])
        raise error
    if "kind" in answer:
        return RESULTS[answer["kind"]](**answer["fields"])
    return answer["result"]


def answer_to(line: bytes, opened: Callable[[], Collection]) -> str:
    """Do the change that a line asks for; returns the line that says what came of it."""
    try:
        verb, values = json.loads(line)
        return json.dumps(_outcome(opened, verb, values))
    except Exception:  # our own mistake: the server's log says it, and the next change is done
        return json.dumps({"mistake": traceback.format_exc()})


def _outcome(opened: Callable[[], Collection], verb: str, values: dict[str, Any]) -> dict[str, Any]:
    try:
        if verb == "mend":
            opened().mend()
            return {"result": None}
        found = opened().submit(verb, **values)
    except VistermError as error:
        kind = next((name for name, one in ERRORS.items() if isinstance(error, one)), "")
        return {"error": str(error), "kind": kind, "fields": vars(error) if kind else {}}
    name = type(found).__name__
    return {"kind": name, "fields": vars(found)} if name in RESULTS else {"result": found}


def main(folder: str, store: str | None = None) -> None:
    """Do changes until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the server's, which lets this end
    if hasattr(os, "nice"):
        os.nice(_LESS_URGENT)
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what a library prints must not be taken for an answer
    with contextlib.ExitStack() as until_the_end, contextlib.suppress(BrokenPipeError):

        @cache
        def opened() -> Collection:
            return until_the_end.enter_context(Collection.open(folder, store=store, create=False))

        with contextlib.suppress(VistermError):  # whoever asks gets it as the answer
            opened()
        for line in sys.stdin.buffer:
            answers.write(answer_to(line, opened).encode() + b"\n")


if __name__ == "__main__":
    main(*sys.argv[1:3])
