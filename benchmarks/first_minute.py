"""How long does somebody with a folder of uncaptioned pictures wait for the first answer?

    python -m benchmarks.first_minute --json [--pictures 200]

Pictures of two megapixels are drawn into a folder; ``visterm search`` is then run there, each time
a process of its own with a terminal for its stderr: the first search, which looks at every picture
and shows a progress bar, and searches after it, in turns with ``python -c 'import numpy'``. The
first is compared with decoding the same files on all cores, which any program that looks at them
must do. Before that the first answer is taken, with a store of its own: ``search --partial``, which
ends with it; its time is compared with decoding 200 of the pictures (``ratio_first_answer``).
``--query`` is asked each time. Processor seconds are given too, for machines that are
busy with other things: two idle cores wait about half as long.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.common import say, show
from visterm.datasets.scenes import draw_scenes

SIZE = (1632, 1224)
LIGHTS = (1.0, 0.8, 0.9, 1.15)
ANSWERED = 200
"""Pictures that a first answer is made of at least."""
LIMIT_FIRST, LIMIT_SECOND = 25.0, 0.8
SEARCH = [sys.executable, "-m", "visterm", "search", "--json"]
NUMPY = [sys.executable, "-c", "import numpy"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_minute", description=__doc__)
    parser.add_argument("--pictures", type=int, default=200)
    parser.add_argument("--runs", type=int, default=9, help="searches after the first")
    parser.add_argument("--query", default="beach sunset")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--folder", type=Path, help="keep the pictures here, or take those here")
    parser.add_argument("--draw", action="store_true", help="draw the pictures, and end")
    parser.add_argument("--first-answer", action="store_true", help="end with the first answer")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        if len(list(folder.glob("*.jpg"))) != arguments.pictures:
            say(f"drawing {arguments.pictures} pictures")
            _draw(folder, arguments.pictures)
        if arguments.draw:
            return
        if arguments.first_answer:
            result = _first_answer(folder, arguments.query)
        else:
            result = measure(folder, arguments.query, arguments.runs)
    show({"pictures": arguments.pictures, **result}, as_json=arguments.json)


def _draw(folder: Path, pictures: int) -> None:
    """Large pictures; drawing takes longest, so each scene is kept in four lights."""
    from PIL import Image, ImageEnhance

    draw_scenes(folder, -(-pictures // len(LIGHTS)), size=SIZE)
    (folder / "captions.tsv").unlink(missing_ok=True)
    for path in sorted(folder.glob("*.jpg")):
        with Image.open(path) as picture:
            for light in LIGHTS[1:]:
                lit = ImageEnhance.Brightness(picture).enhance(light)
                lit.save(path.with_stem(f"{path.stem}-{light}"), quality=90)
    for path in sorted(folder.glob("*.jpg"))[pictures:]:
        path.unlink()


def measure(folder: Path, query: str, runs: int) -> dict[str, Any]:
    decoding = _decoding(sorted(folder.glob("*.jpg")))
    answer = _first_answer(folder, query)
    before = os.times()
    first, shown = _timed([*SEARCH, query], folder)
    after = os.times()
    at_work = after.children_user + after.children_system
    at_work -= before.children_user + before.children_system
    say(f"first search: {first:.1f} s")
    second, numpy = [], []
    for _ in range(runs):
        second.append(_timed([*SEARCH, query], folder)[0])
        numpy.append(_timed(NUMPY, folder)[0])
    middle, imported = statistics.median(second), statistics.median(numpy)
    return {
        "cores": len(os.sched_getaffinity(0)),
        "load": round(os.getloadavg()[0], 1),
        "seconds_first": round(first, 2),
        "processor_seconds_first": round(at_work, 2),
        "first_within_limit": first <= LIMIT_FIRST,
        **answer,
        "ratio_first_to_decoding": round(first / decoding, 2),
        "progress_shown": "━" in shown,
        "seconds_second": round(middle, 3),
        "second_within_limit": middle <= LIMIT_SECOND,
        "ratio_second_to_numpy": round(middle / imported, 2),
    }


def _timed(command: list[str], folder: Path) -> tuple[float, str]:
    """Seconds of a whole process that sees a terminal on its stderr, and what it showed there."""
    ours, theirs = pty.openpty()
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the terminal goes when the process does
            break
        if not part:
            break
        shown += part
    if process.wait():
        raise SystemExit(shown.decode(errors="replace"))
    os.close(ours)
    return time.perf_counter() - began, shown.decode(errors="replace")


def _first_answer(folder: Path, query: str) -> dict[str, Any]:
    """How long the first answer takes, from how many pictures it is, and how long 200 decode."""
    some = sorted(folder.glob("*.jpg"))[:ANSWERED]
    decoding = _decoding(some)
    store = folder / "first-answer"
    began = time.perf_counter()
    command = [*SEARCH, "--partial", "--store", str(store), query]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - began
    shutil.rmtree(store)
    partial = json.loads(ran.stdout)["partial"]
    say(f"first answer: {seconds:.1f} s")
    return {
        "seconds_first_answer": round(seconds, 2),
        "seconds_decoding_200": round(decoding * ANSWERED / len(some), 2),
        "ratio_first_answer": round(seconds / (decoding * ANSWERED / len(some)), 2),
        "pictures_in_first_answer": partial["searched"]
        if partial
        else len(list(folder.glob("*.jpg"))),
    }


def _decoding(paths: Sequence[Path]) -> float:
    """Seconds to decode pictures, on all cores."""
    began = time.perf_counter()
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(_decode, paths, chunksize=8))
    return time.perf_counter() - began


def _decode(path: Path) -> tuple[int, ...]:
    from PIL import Image

    with Image.open(path) as picture:
        return picture.convert("RGB").size


if __name__ == "__main__":
    main()
