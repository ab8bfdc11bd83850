"""A process that does work on a collection in children of its own, so that tests can kill them.

Importing takes seconds and forking takes none, so thirty kills are affordable. Lines on stdin are
jobs; for each, the child's number is printed, and after one more line, how it ended. What a child
has committed it appends to a journal, line by line, right after the commit; captions it announces
too.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from thumbnails import Thumbnails

# What a child needs is loaded before it is born.
import visterm.collection.feedback.changes
import visterm.collection.training.trainer
import visterm.index._kernels
import visterm.models.pamir._solvers  # noqa: F401
from visterm.collection import Collection
from visterm.collection.ingest import pipeline as ingest_module
from visterm.collection.store import feature_rows as rows_module
from visterm.collection.store.catalogue import Catalogue
from visterm.features import EXTRACTORS
from visterm.files import append_synced
from visterm.index import columns as columns_module
from visterm.index import feature_file as file_module


class Fault:
    """Dies at the ``number``-th time that a point is reached; before or after what it is about.

    ``append_synced`` dies with half of the bytes written, ``commit`` with all that a transaction
    wrote, ``committed`` right after its end.
    """

    def __init__(self, point: str, number: int) -> None:
        self.point, self.number = point, number

    def reached(self, point: str) -> bool:
        self.number -= point == self.point
        return point == self.point and self.number < 0

    @staticmethod
    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def lay(self) -> None:
        transaction = Catalogue.transaction

        def append(path: Any, size: int, content: Any) -> None:
            if self.reached("append_synced"):
                append_synced(path, size, bytes(content)[: len(content) // 2])
                self.die()
            append_synced(path, size, content)

        @contextlib.contextmanager
        def watched(catalogue: Catalogue, **how: Any) -> Iterator[Any]:
            with transaction(catalogue, **how) as db:
                yield db
                if self.reached("commit"):
                    self.die()
            if self.reached("committed"):
                self.die()

        file_module.append_synced = append
        Catalogue.transaction = watched  # type: ignore[method-assign]


def do(job: dict[str, object], root: Path, journal: int) -> None:
    """One job, as a command would do it."""

    def note(**what: object) -> None:
        os.write(journal, (json.dumps(what) + "\n").encode())

    if "die_at" in job:
        Fault(*job["die_at"]).lay()  # type: ignore[misc]
    with Collection.open(root) as collection:
        if job["do"] == "add":
            report = collection.add(features="thumbnails", n_jobs=1)
            note(added=len(collection), extracted=report.extracted)
        elif job["do"] == "caption":
            for name, text in job["captions"].items():  # type: ignore[attr-defined]
                note(begun=name, text=text)
                collection.caption(root / name, text)
                note(captioned=name, text=text)
        elif job["do"] == "train":
            trained = collection.train(force=True)
            note(version=trained.version)
        elif job["do"] == "judge":
            for query, name, relevant in job["clicks"]:  # type: ignore[attr-defined]
                said = collection.judge(query, root / name, relevant)
                note(judged=said.id)
            if job["undo"]:
                note(undone=collection.undo().id)
        elif job["do"] == "compact":
            # Small batches, columns in files, and rows written anew as soon as one is dead.
            ingest_module.BATCH, rows_module._DEAD_ROWS = 2, (1, 0.0)
            columns_module._KEPT_FROM = 0
            collection.add(features="thumbnails", n_jobs=1)
            collection.search("sky tree")
            note(added=len(collection))


def serve(root: Path, journal: Path) -> None:
    print("ready", flush=True)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                do(json.loads(line), root, os.open(journal, os.O_WRONLY | os.O_APPEND))
            except BaseException as error:
                print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
                os._exit(1)
            os._exit(0)
        print(child, flush=True)
        sys.stdin.readline()  # until it is waited for, its number is nobody else's
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    EXTRACTORS[Thumbnails.name] = Thumbnails
    serve(Path(sys.argv[1]), Path(sys.argv[2]))
