"""A job in a process of its own: its progress and outcome go to stdout, one JSON object a line.

    python -m visterm.web.job_process train FOLDER STORE [SPACE [CHANGED]]

Searches keep the interpreter to themselves meanwhile, its memory goes back when it ends, and a kill
leaves the collection as it was last committed.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict
from typing import Any

from visterm.collection import Collection
from visterm.errors import VistermError

_OFTEN = 0.1
_LESS_URGENT = 10
"""Searches come first, and captions and clicks before jobs: somebody waits for those."""


def main(kind: str, folder: str, store: str, space: str = "words", changed: str = "") -> int:
    """Do the job; 0 when it is done. ``changed`` are folders to be listed again, as JSON."""
    before: tuple[str, float] = ("", 0.0)

    def progress(what: str, done: int, total: int) -> None:
        nonlocal before
        now = time.monotonic()
        if done >= total or what != before[0] or now - before[1] >= _OFTEN:
            before = (what, now)
            _report(what=what, done=done, total=total)

    try:
        with Collection.open(folder, store=store, create=False) as collection:
            if kind == "add":
                result = _add(collection, progress, json.loads(changed) if changed else None)
            elif kind == "duplicates":
                result = {"groups": len(collection.near_duplicates(progress=progress))}
            elif space == "words":
                result = asdict(collection.train(progress=progress))
            else:
                result = {"trained": collection.train_space(space, progress=progress)}
            _report(result=result)
    except VistermError as error:
        _report(error=str(error))
        return 1
    return 0


def _add(collection: Collection, progress: Any, changed: list[str] | None) -> dict[str, Any]:
    """Look for pictures; learn from their captions, if nothing has been learnt yet."""
    added = collection.add(changed=changed, progress=progress)
    found: dict[str, Any] = {**asdict(added), "skipped": len(added.skipped), "trained": False}
    if collection.awaits_training:
        try:
            reason = collection.train_first(progress=progress)
        except VistermError as error:  # too few captions are no failure of adding
            reason = str(error)
        found |= {"trained": True} if reason is None else {"not_trained": reason}
    return found


def _report(**news: Any) -> None:
    print(json.dumps(news), flush=True)


if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(_LESS_URGENT)
    try:
        code = main(*sys.argv[1:6])
    except (KeyboardInterrupt, BrokenPipeError):
        # The server has gone, or its terminal asked it to stop: what is committed stays.
        code = 130
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - a closed pipe must not complain at exit
    sys.exit(code)
