"""Does a Ray cluster describe pictures as fast as this machine's processes, whatever dies?

    python -m benchmarks.cluster_add --json [--pictures 2000] [--memory 20000]

``visterm add`` runs as a process of its own on drawn pictures, in turns with two processes and on a
Ray cluster of two nodes of one core each, on the same two cores. ``ratio_local`` is pictures a
second on Ray over those of the processes, whole commands; ``ratio_processor`` is processor seconds
of the processes over those on Ray. ``equal_after_kill``: on ``--killed`` pictures, a node is
killed by SIGKILL in the middle of one run, and the driver in the middle of another, which is
then run again; whether both catalogues equal an undisturbed one, row for row and bit for bit.
``extracted_twice`` are pictures that the second driver described although they had been committed.
With ``--memory`` so many pictures are added on Ray, and ``driver_mb`` is the driver's memory, a
value for each quarter of the pictures, and ``mapping_mb`` while it then maps all of them by the
model, 4,096 at a time; ``driver_ms_a_picture`` is the processor time that it takes
for each, so that no cluster adds more pictures a second than go into a second by that.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np

from benchmarks.common import say, show
from benchmarks.ray_nodes import RayNodes, child_processes, two_nodes

DRAWN = 200
TABLES = ("pictures", "places", "rows", "skipped", "segments")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster_add", description=__doc__)
    parser.add_argument("--pictures", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--killed", type=int, default=1500, help="pictures of the runs with kills")
    parser.add_argument("--memory", type=int, default=0, help="pictures to watch the driver over")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, _on_two_cores(), two_nodes() as nodes:
        most = max(given.pictures, given.killed, given.memory)
        adding = Adding(Path(folder), nodes, min(DRAWN, most))
        result = compare(adding, given.pictures, given.rounds) if given.rounds else {}
        if given.killed:
            result |= survive(adding, given.killed)
        if given.memory:
            result |= watch(adding, given.memory)
    show(result, as_json=given.json)


@contextlib.contextmanager
def _on_two_cores() -> Iterator[None]:
    """Keep this process, and all that it begins, on two cores."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:2])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Adding:
    """Folders of drawn pictures, and ``visterm add`` over them."""

    def __init__(self, folder: Path, nodes: RayNodes, drawn: int) -> None:
        from visterm.datasets.scenes import draw_scenes

        self.folder, self.nodes = folder, nodes
        self.drawn = [path.read_bytes() for path, _ in draw_scenes(folder / "drawn", drawn)]

    def put(self, name: str, count: int) -> Path:
        """A folder of so many pictures: bytes after a JPEG's end make it another file."""
        folder = self.folder / name
        for number in range(count):
            path = folder / f"{number // 1000:03}" / f"{number:06}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.drawn[number % len(self.drawn)] + number.to_bytes(8, "big"))
        return folder

    def begin(self, folder: Path, *, ray: bool) -> subprocess.Popen[str]:
        where = ["--ray", self.nodes.address] if ray else ["--workers", "2"]
        command = [sys.executable, "-m", "visterm", "add", "--features", "cnn", "--json", *where]
        return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)

    def run(self, folder: Path, *, ray: bool) -> dict[str, float]:
        """Add all pictures of a folder to a new collection: its seconds."""
        with ProcessorClock() as clock:
            began = time.perf_counter()
            report = finished(self.begin(folder, ray=ray))
            seconds = time.perf_counter() - began
        rate = report["extracted"] / seconds
        say(f"{'Ray' if ray else 'processes'}: {rate:.1f} pictures a second")
        return {"rate": rate, "processor": clock.seconds}


class ProcessorClock:
    """Processor seconds of all processes that this one has begun, the nodes' workers among them.

    They are looked at all the time: those that have ended are in nobody's account, as Ray's nodes
    do not wait for their workers.
    """

    _OFTEN = 0.1

    def __enter__(self) -> Self:
        self._before = self._look()
        self._last: dict[int, int] = {}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._done.set()
        self._thread.join()

    @property
    def seconds(self) -> float:
        ticks = sum(now - self._before.get(one, 0) for one, now in self._last.items())
        return ticks / os.sysconf("SC_CLK_TCK")

    def _watch(self) -> None:
        while True:
            over = self._done.wait(self._OFTEN)
            self._last |= self._look()
            if over:
                return

    @staticmethod
    def _look() -> dict[int, int]:
        found = {one: processor_ticks(one) for one in child_processes(os.getpid())}
        return {process: ticks for process, ticks in found.items() if ticks}


def processor_ticks(process: int) -> int:
    """What a process has had of processors; 0 where it has ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def compare(adding: Adding, pictures: int, rounds: int) -> dict[str, Any]:
    folder = adding.put("compared", pictures)
    runs: dict[bool, list[dict[str, float]]] = {False: [], True: []}
    for _ in range(rounds):
        for ray, done in runs.items():
            done.append(adding.run(folder, ray=ray))
            shutil.rmtree(folder / ".visterm")

    def middle(ray: bool, what: str) -> float:
        return statistics.median(run[what] for run in runs[ray])

    return {
        "pictures": pictures,
        "pictures_a_second_local": round(middle(False, "rate"), 1),
        "pictures_a_second_ray": round(middle(True, "rate"), 1),
        "ratio_local": round(middle(True, "rate") / middle(False, "rate"), 3),
        "ratio_processor": round(middle(False, "processor") / middle(True, "processor"), 3),
    }


def survive(adding: Adding, pictures: int) -> dict[str, Any]:
    """The catalogue after a node and after the driver were killed, against an undisturbed one."""
    folder = adding.put("killed", pictures)
    finished(adding.begin(folder, ray=False))
    expected = known(folder)

    running = adding.begin(folder, ray=True)
    at = _wait_for(folder, pictures // 4, running)
    adding.nodes.kill_second()
    say(f"killed a node after {at} of {pictures} pictures")
    report = finished(running)
    after_node = same(known(folder), expected)
    adding.nodes.bring_back()

    running = adding.begin(folder, ray=True)
    at = _wait_for(folder, pictures // 2, running)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    committed = _committed(folder)
    say(f"killed the driver after {committed} of {pictures} pictures")
    again = finished(adding.begin(folder, ray=True))
    after_driver = same(known(folder), expected)
    return {
        "equal_after_kill": after_node and after_driver,
        "equal_after_node": after_node,
        "equal_after_driver": after_driver,
        "retries": report["retries"],
        "extracted_twice": again["extracted"] + committed - len(expected[1]),
    }


def watch(adding: Adding, pictures: int) -> dict[str, Any]:
    """The driver's memory over many pictures."""
    folder = adding.put("watched", pictures)
    running, samples = adding.begin(folder, ray=True), []
    while running.poll() is None:
        about = _resident_megabytes(running.pid), processor_ticks(running.pid)
        samples.append((_committed(folder), *about))
        time.sleep(1)
    finished(running)
    under_way = [sample for sample in samples if sample[0] and sample[2]]
    quarters = [
        [mb for done, mb, _ in under_way if pictures * n // 4 <= done < pictures * (n + 1) // 4]
        for n in range(4)
    ]
    mapping = [mb for done, mb, _ in under_way if done == pictures]
    # From the first commit to the last: what is made of all pictures in the end is not counted.
    first, _, before = min(under_way, default=(0, 0.0, 0), key=lambda one: (one[0], -one[2]))
    last, _, after = max(under_way, default=(0, 0.0, 0), key=lambda one: (one[0], -one[2]))
    spent = 1000 * (after - before) / os.sysconf("SC_CLK_TCK")
    return {
        "memory_pictures": pictures,
        "driver_mb": [round(max(some)) if some else None for some in quarters],
        "mapping_mb": round(max(mapping)) if mapping else None,
        "driver_ms_a_picture": round(spent / max(last - first, 1), 2),
    }


def finished(running: subprocess.Popen[str]) -> dict[str, Any]:
    """What a command printed in the end."""
    out, _ = running.communicate()
    if running.returncode:
        raise SystemExit(f"visterm add failed with {running.returncode}")
    found: dict[str, Any] = json.loads(out)
    return found


def known(folder: Path) -> tuple[dict[str, list[Any]], Any]:
    """All rows of the catalogue, and all vectors; the store is deleted."""
    from visterm.collection import Collection
    from visterm.collection.store.feature_rows import findable, vectors_of

    with Collection.open(folder) as collection:
        db = collection.catalogue.db
        rows = {name: list(map(tuple, db.execute(f"SELECT * FROM {name}"))) for name in TABLES}
        key = collection.catalogue.get("extractor") or ""
        numbers = findable(collection.catalogue, key).tolist()
        vectors = np.array(vectors_of(collection.catalogue, key, numbers))
    shutil.rmtree(folder / ".visterm")
    return rows, vectors


def same(found: tuple[dict[str, Any], Any], expected: tuple[dict[str, Any], Any]) -> bool:
    return found[0] == expected[0] and bool(np.array_equal(found[1], expected[1]))


def _wait_for(folder: Path, pictures: int, running: subprocess.Popen[str]) -> int:
    """Wait until so many pictures are committed."""
    while (done := _committed(folder)) < pictures and running.poll() is None:
        time.sleep(0.05)
    return done


def _committed(folder: Path) -> int:
    try:
        with sqlite3.connect(f"file:{folder}/.visterm/catalogue.sqlite?mode=ro", uri=True) as db:
            return int(db.execute("SELECT count(*) FROM rows").fetchone()[0])
    except sqlite3.Error:
        return 0


def _resident_megabytes(process: int) -> float:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGESIZE") / 1e6


if __name__ == "__main__":
    main()
