"""Does adding pictures cost the same in a large collection as in an empty one, and stay small?

    python -m benchmarks.ingest --json [--new 1000 --already 100000] [--memory 20000]

``visterm add`` runs as a process of its own on drawn pictures, in turns into an empty collection
and into one of ``--already`` pictures that has a model and an index, so that both meet the same
machine, and both have all their folders walked.
``ratio`` is wall seconds a picture in the large one over those in the empty one (what the machine
does besides is in it), ``ratio_processor`` the same in processor seconds. With ``--memory`` so many
pictures are added to an empty collection, and the memory of the process and all its children is
watched: ``peak_mb`` is the largest sum of their proportional sets.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.common import say, show
from benchmarks.drawn_collection import make
from benchmarks.ray_nodes import child_processes

DRAWN = 200


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ingest", description=__doc__)
    parser.add_argument("--new", type=int, default=1000)
    parser.add_argument("--already", type=int, default=100_000)
    parser.add_argument("--words", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--workers", type=int, help="processes of visterm add")
    parser.add_argument("--memory", type=int, default=0, help="pictures to watch the memory over")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        adding = _Adding(Path(folder), min(DRAWN, arguments.new), arguments.workers)
        result: dict[str, Any] = {"features": "cnn"}
        if arguments.rounds:
            result |= compare(adding, arguments)
        if arguments.memory:
            result |= watch(adding, arguments.memory)
        show(result, as_json=arguments.json)


class _Adding:
    """Folders of drawn pictures, and ``visterm add`` over them."""

    def __init__(self, folder: Path, drawn: int, workers: int | None) -> None:
        from visterm.datasets.scenes import draw_scenes

        self.folder = folder
        self.options = ["--features", "cnn", "--json"]
        if workers:
            self.options += ["--workers", str(workers)]
        self.drawn = [path for path, _ in draw_scenes(folder / "drawn", drawn)]
        self.made = 0

    def put(self, folder: Path, count: int) -> None:
        """Pictures that no collection has seen: bytes after a JPEG's end make it another file."""
        folder.mkdir(parents=True)
        for _ in range(count):
            self.made += 1
            content = self.drawn[self.made % len(self.drawn)].read_bytes() + self.made.to_bytes(
                8, "big"
            )
            (folder / f"new-{self.made:07d}.jpg").write_bytes(content)

    def run(self, folder: Path) -> dict[str, float]:
        """Add what is new in a folder: pictures, seconds, processor seconds and memory."""
        before, began = os.times(), time.perf_counter()
        adding = subprocess.Popen(
            [sys.executable, "-m", "visterm", "add", *self.options],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
        )
        peak = 0.0
        while adding.poll() is None:
            peak = max(peak, megabytes(adding.pid))
            time.sleep(0.5)
        seconds, after = time.perf_counter() - began, os.times()
        assert adding.stdout is not None
        report = json.loads(adding.stdout.read())
        processor = after.children_user + after.children_system
        processor -= before.children_user + before.children_system
        pictures = report["extracted"]
        say(f"{pictures:,} pictures added in {seconds:.1f} s, {processor:.1f} of the processor")
        return {"pictures": pictures, "seconds": seconds, "processor": processor, "peak": peak}


def compare(adding: _Adding, arguments: argparse.Namespace) -> dict[str, Any]:
    large = adding.folder / "large"
    large.mkdir()
    make(large, arguments.already, words=arguments.words)
    _put_files(large)
    runs: dict[str, list[dict[str, float]]] = {"empty": [], "large": []}
    for number in range(arguments.rounds):
        empty = adding.folder / f"empty-{number}"
        adding.put(empty / "new", arguments.new)
        runs["empty"].append(adding.run(empty))
        adding.put(large / f"new-{number}", arguments.new)
        runs["large"].append(adding.run(large))
        shutil.rmtree(empty)

    def middle(where: str, what: str) -> float:
        return statistics.median(run[what] / run["pictures"] for run in runs[where])

    return {
        "new": arguments.new,
        "already": arguments.already,
        "ms_a_picture_empty": round(1000 * middle("empty", "seconds"), 2),
        "ms_a_picture_large": round(1000 * middle("large", "seconds"), 2),
        "ratio": round(middle("large", "seconds") / middle("empty", "seconds"), 3),
        "ratio_processor": round(middle("large", "processor") / middle("empty", "processor"), 3),
        "peak_mb_large": round(max(run["peak"] for run in runs["large"])),
    }


def watch(adding: _Adding, pictures: int) -> dict[str, Any]:
    folder = adding.folder / "watched"
    for first in range(0, pictures, 1000):
        adding.put(folder / f"{first:07d}", min(1000, pictures - first))
    run = adding.run(folder)
    return {
        "memory_pictures": run["pictures"],
        "pictures_a_second": round(run["pictures"] / run["seconds"], 1),
        "peak_mb": round(run["peak"]),
    }


def _put_files(large: Path) -> None:
    """Give the made pictures files of the size and time that the catalogue knows: holes."""
    import sqlite3

    db = sqlite3.connect(large / ".visterm" / "catalogue.sqlite")
    for path in large.glob("folder-*"):
        for (name,) in db.execute("SELECT name FROM places WHERE folder = ?", (path.name,)):
            (path / name).touch()
            os.truncate(path / name, 100_000)
            os.utime(path / name, ns=(1, 1))
    db.close()


def megabytes(process: int) -> float:
    """Proportional memory of a process and all its children."""
    total = 0.0
    for number in [process, *child_processes(process)]:
        try:
            text = Path(f"/proc/{number}/smaps_rollup").read_text()
        except OSError:
            continue
        found = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
        total += int(found[1]) / 1000 if found else 0.0
    return total


if __name__ == "__main__":
    main()
