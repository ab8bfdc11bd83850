"""A process that does work on a collection in children of its own, so that tests can kill them.

Importing takes seconds and forking takes none, so thirty kills are affordable. Lines on stdin are
jobs; for each, the child's number is printed, and after one more line, how it ended. What a child
has committed it appends to a journal, line by line, right after the commit; captions it announces
too.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from thumbnails import Thumbnails

# What a child needs is loaded before it is born.
import visterm.collection.feedback._kernels
import visterm.collection.feedback.service
import visterm.collection.training.trainer
import visterm.models.pamir._solvers  # noqa: F401
from visterm.collection import Collection
from visterm.collection.ingest import pipeline as ingest_module
from visterm.collection.store import feature_rows as rows_module
from visterm.features import EXTRACTORS

EXTRACTORS[Thumbnails.name] = Thumbnails


def do(job: dict[str, object], root: Path, journal: int) -> None:
    """One job, as a command would do it."""

    def note(**what: object) -> None:
        os.write(journal, (json.dumps(what) + "\n").encode())

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
            trained = collection.train(force=True, max_iter=300)
            note(version=trained.version)
        elif job["do"] == "judge":
            for query, name, relevant in job["clicks"]:  # type: ignore[attr-defined]
                said = collection.judge(query, root / name, relevant)
                note(judged=said.id)
            if job["undo"]:
                note(undone=collection.undo().id)
        elif job["do"] == "merge":
            # Small batches and small runs: every few pictures something is written together.
            ingest_module.BATCH, rows_module.RUN = 2, 4
            collection.add(features="thumbnails", n_jobs=1)
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
    serve(Path(sys.argv[1]), Path(sys.argv[2]))
