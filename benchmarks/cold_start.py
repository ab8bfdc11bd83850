"""How long is the wait for ``visterm search`` on a large collection, whole process, second run?

    python -m benchmarks.cold_start --json [--pictures 100000]

Searches and ``python -c 'import numpy'`` are run in turns, so that both meet the same machine;
``ratio_numpy`` is the median search over the median import. Processor seconds are given too, for
machines that are busy with other things. ``spent`` says what the time goes into, each measured as a
process that stops there, less the one before.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.common import say, show
from benchmarks.drawn_collection import make

QUERY = "word003 word017 -word042"
NUMPY = "import numpy"
STAGES = {
    "python": "pass",
    "numpy": NUMPY,
    "the command line": "import numpy, visterm.cli.search",
    "collection, index and words": "import numpy, visterm.cli.search, visterm.collection",
}
SEARCH = (
    f"import sys; sys.argv = ['visterm', 'search', {QUERY!r}]; "
    "from visterm.cli import console; console()"
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cold_start", description=__doc__)
    parser.add_argument("--pictures", type=int, default=100_000)
    parser.add_argument("--words", type=int, default=300)
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        # Only search is measured, and it never reads vectors: short ones save a minute.
        make(Path(folder), arguments.pictures, words=arguments.words, width=64)
        show(measure(Path(folder), arguments.runs, arguments.pictures), as_json=arguments.json)


def measure(folder: Path, runs: int, pictures: int) -> dict[str, Any]:
    programs = {**STAGES, "search": SEARCH}
    wall: dict[str, list[float]] = {name: [] for name in programs}
    busy: dict[str, list[float]] = {name: [] for name in programs}
    _timed(SEARCH, folder)  # the first is the cold one that nobody promised anything about
    for run in range(runs):
        for name, program in programs.items():
            seconds, at_work = _timed(program, folder)
            wall[name].append(seconds)
            busy[name].append(at_work)
        say(f"run {run + 1} of {runs}")
    middle = {name: statistics.median(times) for name, times in wall.items()}
    processor = {name: statistics.median(times) for name, times in busy.items()}
    return {
        "pictures": pictures,
        "seconds": round(middle["search"], 3),
        "seconds_best": round(min(wall["search"]), 3),
        "seconds_numpy": round(middle["numpy"], 3),
        "ratio_numpy": round(middle["search"] / middle["numpy"], 2),
        "processor_seconds": round(processor["search"], 3),
        "ratio_numpy_processor": round(processor["search"] / processor["numpy"], 2),
        "spent": _spent(processor),
    }


def _spent(processor: dict[str, float]) -> dict[str, float]:
    """Processor seconds of each stage, less those of the stage before."""
    before, spent = 0.0, {}
    for name, seconds in processor.items():
        spent["opening, asking and printing" if name == "search" else name] = round(
            seconds - before, 3
        )
        before = seconds
    return spent


def _timed(program: str, folder: Path) -> tuple[float, float]:
    """Wall and processor seconds of a whole process."""
    began, before = time.perf_counter(), os.times()
    # An installed package is compiled; a checkout whose Python may write nothing never is.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    ran = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        capture_output=True,
        text=True,
        env=environment,
    )
    after = os.times()
    if ran.returncode:
        raise SystemExit(ran.stderr)
    processor = after.children_user + after.children_system
    processor -= before.children_user + before.children_system
    return time.perf_counter() - began, processor


if __name__ == "__main__":
    main()
