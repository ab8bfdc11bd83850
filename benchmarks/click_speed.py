"""How long does somebody wait who clicks, in a collection of 100,000 pictures?

    python -m benchmarks.click_speed --json

A click is answered when it is logged, learnt, told to the index, synced to the disk, and the new
ranking found: `Collection.judge` and `Collection.search`, as the server calls them, in a process
that has been prepared. The limit beside it is one reading of all vectors, 1,280 numbers of one byte
a picture, because whom a click lifts depends on all of them: the time of that alone, with the same
threads, is measured between the clicks, and so is the time the disk takes for the syncs. Processor
time is given too, for machines that are busy with other things.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import show
from benchmarks.drawn_collection import WIDTH, make
from visterm.collection import Collection
from visterm.collection.feedback.feature_matrix import feature_matrix
from visterm.collection.store.versions import current

WORDS = 300
BAR_MS = 100
SYNCS = 5
"""Times that a click waits for the disk: two files and their folders, and the log."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--pictures", type=int, default=100_000)
    parser.add_argument("--clicks", type=int, default=20, help="clicks of each kind")
    parser.add_argument("--folder", type=Path, help="keep the collection here, or use the one here")
    parser.add_argument("--width", type=int, default=WIDTH, help="numbers of a vector")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.folder or Path(temporary)
        if not (folder / ".visterm").exists():
            folder.mkdir(parents=True, exist_ok=True)
            make(folder, asked.pictures, words=WORDS, width=asked.width)
        with Collection.open(folder) as collection:
            show(measure(collection, asked.clicks), as_json=asked.json)
    return 0


def measure(collection: Collection, clicks: int) -> dict[str, Any]:
    version = current(collection.catalogue)
    assert version is not None  # it has just been trained
    everything = feature_matrix(collection.catalogue, version.extractor)
    width = everything.blocks[0][1].width
    size = sum(block.arrays["codes"].nbytes for _, block in everything.blocks)
    begin = time.perf_counter()
    collection.prepare()
    prepared = time.perf_counter() - begin
    direction = np.ones((1, width), np.float32)
    kinds = {"one_word": ("word{0:03d}",), "two_words": ("word{0:03d} word{1:03d}",)}
    waits: dict[str, list[float]] = {name: [] for name in (*kinds, "read", "sync")}
    works: dict[str, list[float]] = {name: [] for name in kinds}
    for number in range(clicks + 1):
        for name, (query,) in kinds.items():
            text = query.format(7 * number % WORDS, (7 * number + 3) % WORDS)
            found = collection.search(text, k=50).results
            chosen, relevant = found[10 + number % 30].picture, number % 2 == 0

            def click(text: str = text, chosen: int = chosen, relevant: bool = relevant) -> None:
                collection.judge(text, chosen, relevant)
                collection.search(text, k=50)

            worked = time.process_time()
            waits[name].append(_ms(click))
            works[name].append(1000 * (time.process_time() - worked))
        waits["read"].append(_ms(lambda: everything.multiply(direction, lambda *_: None)))
        waits["sync"].append(_ms(lambda: syncs(collection.store)))
    # The first round warms up.
    median = {name: statistics.median(times[1:]) for name, times in waits.items()}
    slowest = {name: max(waits[name][1:]) for name in kinds}
    collection.forget_judgements()
    return {
        "pictures": len(collection),
        "bytes_of_vectors": size,
        "prepared_s": round(prepared, 2),
        "click_to_ranking_ms": {name: round(median[name], 1) for name in kinds},
        "processor_ms": {
            name: round(statistics.median(times[1:]), 1) for name, times in works.items()
        },
        "slowest_ms": {name: round(slowest[name], 1) for name in kinds},
        "limit_read_all_vectors_ms": round(median["read"], 1),
        "limit_syncs_ms": round(median["sync"], 1),
        "times_the_limit": round(median["one_word"] / (median["read"] + median["sync"]), 2),
        "bar_ms": BAR_MS,
        "under_100_ms": max(median[name] for name in kinds) < BAR_MS,
    }


def syncs(store: Path) -> None:
    """As many small synced writes as a click makes."""
    path = store / "sync.part"
    for _ in range(SYNCS):
        with path.open("wb") as file:
            file.write(b"0" * 4096)
            file.flush()
            os.fsync(file.fileno())
    path.unlink()


def _ms(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - begin)


if __name__ == "__main__":
    raise SystemExit(main())
