"""Which modules does a picture, a query and a click pass, and what is asked of the catalogue?

    python -m benchmarks.ways --json

``stops`` counts the modules of visterm in which a function is called, by `sys.setprofile` over all
threads, once everything is loaded: adding one picture, a search of two words, and a click with the
search after it, each by `Collection`, which holds a few dozen drawn pictures and was trained.
``statements`` counts the SQL of a search as SQLite traces it, of a collection that has just been
opened (``cold``) and of one that was searched before (``warm``). ``opened`` is how often the file
of a new picture is opened to add it, by this process or by the children that read pictures.
``--modules`` lists the stops.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sqlite3
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

from benchmarks.common import show
from visterm.collection import Collection
from visterm.datasets.scenes import draw_scenes

PICTURES = 40
_OPENED = """
import os, sys

def note(event, given):
    if event != "open" or not str(given[0]).endswith(os.environ["NEW_PICTURE"]):
        return
    if os.path.exists(os.environ["OPENED"]):  # a hook outlives the folder of its notes
        notes = os.open(os.environ["OPENED"], os.O_WRONLY | os.O_APPEND)
        os.write(notes, b"opened\\n")
        os.close(notes)

sys.addaudithook(note)
"""
"""Notes in a file when a process opens the new picture; each child runs it as it starts."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ways", description=__doc__)
    parser.add_argument("--features", default="blocks", help="what describes pictures")
    parser.add_argument("--modules", action="store_true", help="list the modules")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        show(measure(Path(folder), given.features, given.modules), as_json=given.json)
    return 0


def measure(folder: Path, features: str, with_modules: bool) -> dict[str, Any]:
    drawn = draw_scenes(folder / "drawn", PICTURES + 2, seed=1, size=(96, 64))
    pictures = folder / "pictures"
    pictures.mkdir()
    opened = folder / "opened"
    _watch_opened(folder / "hook", opened, f"{PICTURES + 1:02d}.jpg")
    words = sorted({word for _, some in drawn for word in some})
    query = " ".join(words[:2])

    def put(number: int) -> Path:
        return Path(shutil.copy(drawn[number][0], pictures / f"{number:02d}.jpg"))

    for number in range(PICTURES):
        put(number)
    with Collection.open(pictures) as collection:
        collection.add(features=features)
        for number in range(PICTURES):
            collection.caption(pictures / f"{number:02d}.jpg", " ".join(drawn[number][1]))
        collection.train(max_iter=2000, force=True)
        put(PICTURES)
        collection.add()  # whatever is loaded or made once
        put(PICTURES + 1)
        opened.write_text("")  # copying has opened it, too
        stops = {"picture": _stops(collection.add)}
        times_opened = len(opened.read_text().splitlines())
        shown = collection.search(query).results

        def click(place: int) -> None:
            collection.judge(query, shown[place].picture, True)
            collection.search(query)

        click(0)
        stops["query"] = _stops(lambda: collection.search(query))
        stops["click"] = _stops(lambda: click(1))
        collection.search(query)
        with _traced(collection.catalogue.db) as warm:
            collection.search(query)
    with _tracing_all() as cold, Collection.open(pictures) as collection:
        collection.search(query)
    found: dict[str, Any] = {
        "stops": {name: len(modules) for name, modules in stops.items()},
        "statements": {"cold": len(cold), "warm": len(warm)},
        "opened": times_opened,
    }
    return found | ({"modules": stops, "warm": warm} if with_modules else {})


def _watch_opened(hook: Path, notes: Path, name: str) -> None:
    """Have this process and its children note in a file when they open a picture of this name."""
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(_OPENED)
    os.environ |= {"OPENED": str(notes), "NEW_PICTURE": name}
    sys.path.insert(0, str(hook))
    exec(_OPENED, {})


def _stops(call: Callable[[], object]) -> list[str]:
    """The modules of visterm whose functions a call passes."""
    modules: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_globals.get("__name__", "")
        if event == "call" and name.startswith("visterm.") and frame.f_code.co_name != "<module>":
            modules.add(name)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return sorted(modules)


@contextmanager
def _traced(db: sqlite3.Connection) -> Iterator[list[str]]:
    """The statements of a connection; those that triggers run are comments in a trace."""
    statements: list[str] = []

    def note(statement: str) -> None:
        if not statement.startswith("--"):
            statements.append(" ".join(statement.split()))

    db.set_trace_callback(note)
    try:
        yield statements
    finally:
        db.set_trace_callback(None)


@contextmanager
def _tracing_all() -> Iterator[list[str]]:
    """The statements of all connections that are opened meanwhile."""
    statements: list[str] = []
    connect = sqlite3.connect

    def traced(*given: Any, **options: Any) -> sqlite3.Connection:
        db: sqlite3.Connection = connect(*given, **options)
        db.set_trace_callback(lambda one: None if one.startswith("--") else statements.append(one))
        return db

    with patch.object(sqlite3, "connect", traced):
        yield statements


if __name__ == "__main__":
    raise SystemExit(main())
