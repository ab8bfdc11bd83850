"""Do damaged RAW files and videos cost their own row, and no more?

    python -m benchmarks.hostile_media --json [--files 500]

Videos of four containers and DNG files with and without a preview are cut short, scrambled in a few
places or in many, and made to lie about their lengths. Each is read as ``visterm serve`` reads it,
in a process with limits on time and memory: it gives pixels or a reason (``reasons`` counts these).
``without_reason`` counts those that gave neither, ``crashed`` and ``hung`` those that cost a
process, which was replaced. Then a collection adds them all: ``added`` and ``skipped`` must be all
of them. ``slowest_s`` is the longest that one took.
"""

from __future__ import annotations

import argparse
import io
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.common import say, show
from benchmarks.drawn_raw import dng
from benchmarks.drawn_videos import CODECS, encode
from visterm.collection import Collection
from visterm.datasets.scenes import draw_scenes
from visterm.pictures.reader import Wanted
from visterm.pictures.sandbox import CRASHES, HANGS, readers

FEATURES = "blocks(channels=((16, colours, 8),), colours=4)"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hostile_media", description=__doc__)
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--folder", type=Path, help="where they are made")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    given = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="visterm-hostile-", dir=given.folder))
    try:
        files = make(home, given.files)
        found = read_all(files)
        say("all were read")
        with Collection.open(files[0].parent) as collection:
            report = collection.add(features=FEATURES)
            added = report.new + report.duplicates
            found |= {"added": added, "skipped": len(report.skipped)}
        show({"files": len(files), **found}, as_json=given.json)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return 0


def make(home: Path, count: int) -> list[Path]:
    """Damaged files, one after another of every kind."""
    draw_scenes(home / "scenes", 3, size=(96, 64))
    scenes = sorted((home / "scenes").glob("*.jpg"))
    sound = {
        ending: encode(home / f"sound{ending}", scenes, seconds=1).read_bytes() for ending in CODECS
    }
    preview = io.BytesIO()
    Image.open(scenes[0]).resize((300, 200)).save(preview, "JPEG")
    kinds = [*sound.items(), (".dng", dng(preview.getvalue())), (".dng", dng())]
    (home / "hostile").mkdir()
    files = []
    for number in range(count):
        ending, data = kinds[number % len(kinds)]
        files.append(home / "hostile" / f"{number:05d}{ending}")
        files[-1].write_bytes(damaged(data, number // len(kinds)))
    return files


def damaged(sound: bytes, number: int) -> bytes:
    """A file with something wrong: cut, scrambled a little or much, or with lengths that lie."""
    random = np.random.default_rng(number)
    found = bytearray(sound)
    way = number % 4
    if way == 0:
        return bytes(found[: int(random.integers(12, len(found) // 2))])
    if way == 3:
        for place in random.integers(12, len(found) - 4, 6).tolist():
            found[place : place + 4] = b"\xff\xff\xff\xfe"
        return bytes(found)
    for place in random.integers(12, len(found), 1 + len(found) // (40 if way == 1 else 4)):
        found[place] = int(random.integers(256))
    return bytes(found)


def read_all(files: list[Path]) -> dict[str, Any]:
    """What each gives when it is read, and how long the slowest takes."""
    reasons: Counter[str] = Counter()
    without, slowest, read = 0, 0.0, 0
    for path in files:
        begin = time.perf_counter()
        try:
            reading = readers().read(path, Wanted(pixels=True, frames=True, max_side=256))
            read += bool(reading.pixels)
            if reading.reason is not None:
                reasons[reading.reason.split(" (")[0]] += 1
            without += not reading.pixels and not reading.reason
        except Exception as error:  # whatever comes out is what is asked for here
            say(f"{path.name}: {error!r}")
            without += 1
        slowest = max(slowest, time.perf_counter() - begin)
    return {
        "read": read,
        "reasons": dict(reasons.most_common()),
        "without_reason": without,
        "crashed": reasons[CRASHES],
        "hung": sum(n for reason, n in reasons.items() if reason.startswith(HANGS)),
        "slowest_s": round(slowest, 2),
    }


if __name__ == "__main__":
    raise SystemExit(main())
