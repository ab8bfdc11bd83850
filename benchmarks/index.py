"""How fast is an exact search, against reading the columns it touches and against its peers?

    python -m benchmarks.index --json [--pictures 10000000 --words 256]
    python -m benchmarks.index --scores real --json [--pictures 4000000 --words 64]

Scores are drawn as :mod:`benchmarks.index_scores` says, or, ``--scores real``, from photographs as
:mod:`benchmarks.index_real_scores` does; ``distinct`` is then the same for the photographs alone.
The photographs are those of the data sets in ``--data``, or ``--vectors`` gives their vectors.

The rows are stored in a temporary folder, and the exact best 20 are asked for by queries of 1, 2, 3
and 5 words, on one thread, warm (every query was asked before). ``ratio_read`` is our time over
that of a plain sum of all 8-bit codes of the words; ``ratio_read_unpruned`` is the same when
every block is scanned. The other ratios are a peer's time over ours. Times are medians of the
processor time of the one thread that works, which on an idle machine is the time that passes, and
on a busy one leaves out what others take; ``wall_ms`` is the median of the time that passed for
our searches, one after the other.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from benchmarks.common import median_ms, say, show
from benchmarks.index_peers import (
    K,
    Peer,
    bm25s_peer,
    faiss_peer,
    numpy_peer,
    scipy_peer,
    words_of,
)
from benchmarks.index_real_scores import RealScores, photographs
from benchmarks.index_scores import draw, popularity
from visterm.index import Index
from visterm.index._loops import integers_at
from visterm.index.layout import BLOCK
from visterm.index.score import Floats, Integers, best, scores

LENGTHS = (1, 2, 3, 5)
POOL = 24
"""Queries draw their words from so many: more columns than any cache holds."""

Query = tuple[Integers, Floats]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.index", description=__doc__)
    parser.add_argument("--scores", choices=["drawn", "real"], default="drawn")
    parser.add_argument("--pictures", type=int, help="10 million, or of real scores 4 million")
    parser.add_argument("--words", type=int, help="256, or of real scores 64")
    parser.add_argument("--queries", type=int, default=40, help="of each length")
    parser.add_argument("--vectors", type=Path, nargs="*", default=[], help="of photographs, .npy")
    parser.add_argument("--data", type=Path, help="the folder of the data sets")
    parser.add_argument("--folder", help="where to keep the index (used again if it is there)")
    parser.add_argument("--keep", action="store_true", help="do not delete the index")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    folder = Path(given.folder or tempfile.mkdtemp(prefix="visterm-index-"))
    try:
        answer = measure_real if given.scores == "real" else measure_drawn
        show(answer(given, folder), as_json=given.json)
    finally:
        if not given.keep:
            shutil.rmtree(folder, ignore_errors=True)


def measure_drawn(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    words = given.words or 256
    pictures = given.pictures or 10_000_000
    index = stored(folder, pictures, words, lambda count, rng: draw(count, words, rng))
    return measure(index, folder, queries(words, given.queries), peers=True)


def measure_real(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    words, pictures = given.words or 64, given.pictures or 4_000_000
    real = RealScores(photographs(given.vectors, given.data), words, pictures)
    # A score is a sum of log-probabilities, so every word counts once.
    asked = {
        length: [(one, np.ones_like(weights)) for one, weights in many]
        for length, many in queries(words, given.queries).items()
    }
    distinct = real.index(folder / "distinct", None)
    alone = measure(distinct, folder / "distinct", asked, peers=False)
    index = real.index(folder, pictures)
    return {**measure(index, folder, asked, peers=False), "distinct": alone}


def stored(
    folder: Path, pictures: int, words: int, drawn: Callable[[int, np.random.Generator], Floats]
) -> Index:
    """The index of drawn scores, made segment by segment so that memory stays bounded."""
    if (folder / "manifest.json").exists():
        return Index.open(folder)
    index = Index.create(folder, words=words)
    while len(index) < pictures:
        count = min(pictures - len(index), index.segment_size)
        index.append(drawn(count, np.random.default_rng(len(index))))
        say(f"drawn {len(index):,} of {pictures:,} pictures")
    return index


def queries(words: int, count: int) -> dict[int, list[Query]]:
    """By length: words by popularity, weighted as inverse document frequencies and normalised."""
    return {length: _queries(words, length, count) for length in LENGTHS}


def _queries(words: int, length: int, count: int) -> list[Query]:
    rng = np.random.default_rng(length)
    share = popularity(words)
    pool = np.random.default_rng(0).choice(words, POOL, replace=False, p=share / share.sum())
    asked = [np.sort(rng.choice(pool, length, replace=False)) for _ in range(count)]
    weights = [np.log(1 / share[one]) for one in asked]
    return [
        (one, (weight / np.linalg.norm(weight)).astype(np.float32))
        for one, weight in zip(asked, weights, strict=True)
    ]


def measure(
    index: Index, folder: Path, asked: dict[int, list[Query]], *, peers: bool
) -> dict[str, Any]:
    """The whole result."""
    words = np.unique(np.concatenate([one for many in asked.values() for one, _ in many]))
    opened = opening(folder)
    index.prepare()
    ours = {length: search_times(index, many) for length, many in asked.items()}
    columns = words_of(index, words)
    exact = all(right(index, columns, words, query) for many in asked.values() for query in many)
    notes = compared(index, columns, words, asked, ours) if peers else {}
    return {
        "pictures": len(index),
        "words": index.words,
        "k": K,
        "queries_each": len(asked[LENGTHS[0]]),
        "exact": exact,
        "ratio_read": {length: one["ratio_read"] for length, one in ours.items()},
        "lengths": ours,
        **opened,
        "peers": notes,
        "load": os.getloadavg()[0],
    }


def compared(
    index: Index,
    columns: Floats,
    words: Integers,
    asked: dict[int, list[Query]],
    ours: dict[int, dict[str, float]],
) -> dict[str, str]:
    """Add the times of the peers to ours; returns what there is to say about each."""
    say("searched; now the peers")
    notes = {}
    makers: dict[str, Callable[[], Peer]] = {
        "numpy": functools.partial(numpy_peer, columns, words),
        "scipy": functools.partial(scipy_peer, columns, words),
        "bm25s": functools.partial(bm25s_peer, columns, words),
        "faiss": functools.partial(faiss_peer, index),
    }
    for name, make in makers.items():
        try:
            peer = make()
        except ImportError:
            notes[name] = "missing: pip install -r benchmarks/index_requirements.txt"
            say(f"{name} is {notes[name]}")
            continue
        notes[name] = peer.note
        for length, many in asked.items():
            ms = peer.times * peer_time(peer, many)
            ours[length][f"ms_{name}"] = round(ms, 3)
            ours[length][f"ratio_{name}"] = round(ms / ours[length]["ms"], 1)
        say(f"measured {name}: {peer.note}")
    return notes


def search_times(index: Index, many: list[Query]) -> dict[str, float]:
    """Our times for queries of one length, beside the time to read their columns."""
    addresses = [index._state[1].of_words(words) for words, _ in many]
    reads = [functools.partial(read, t.columns, t.places[:, 4], t.sizes) for t in addresses]
    plain = [functools.partial(index.search, query, K) for query in many]
    whole = [functools.partial(index._search, *query, K, None, 1, skip=False) for query in many]
    for call in (*reads, *plain, *whole):
        call()
    (read_ms, ms, whole_ms), wall_ms = in_turns(reads, plain, whole), median_ms(plain)
    length = many[0][0].size
    columns = length * len(index)
    touched = statistics.median(bytes_touched(index, query) for query in many)
    return {
        "ms": round(ms, 4),
        "wall_ms": round(wall_ms, 4),
        "bytes": touched,
        "gb_per_s": round(touched / ms / 1e6, 2),
        "ratio_read": round(ms / read_ms, 3),
        "ms_unpruned": round(whole_ms, 4),
        "bytes_unpruned": columns,
        "gb_per_s_unpruned": round(columns / whole_ms / 1e6, 2),
        "ratio_read_unpruned": round(whole_ms / read_ms, 3),
        "ms_read": round(read_ms, 4),
    }


def in_turns(*families: Sequence[Callable[[], object]], rounds: int = 5) -> list[float]:
    """The median times of families of calls, made in turns so that all meet the same machine.

    Each family is at another query, so that none finds its columns in the cache for another's sake.
    """
    count = len(families[0])
    times: list[list[float]] = [[] for _ in families]
    for turn in range(rounds * count):
        for number, family in enumerate(families):
            call = family[(turn + number * count // len(families)) % count]
            times[number].append(thread_ms(call))
    return [statistics.median(one) for one in times]


def thread_ms(call: Callable[[], object]) -> float:
    """The processor time that a call takes of this thread, in milliseconds."""
    begin = time.thread_time()
    call()
    return 1000 * (time.thread_time() - begin)


def bytes_touched(index: Index, query: Query) -> int:
    """Bounds of all blocks, codes of the blocks scanned, and values of the pictures scored."""
    blocks, scored = index._search(*query, K, None, 1, skip=True)[2].tolist()
    bounds = sum(-(-part.segment.pictures // BLOCK) for part in index._parts)
    return int(query[0].size * (bounds + BLOCK * blocks + 4 * scored))


@njit(nogil=True)
def read(columns, places, sizes):  # type: ignore[no-untyped-def]
    """Sum all codes of some columns, eight at a time: no search that reads them can be faster."""
    total = 0
    for segment in range(sizes.size):
        for word in range(columns.shape[1]):
            total += _sum(columns[segment, word] + places[segment], sizes[segment] // 8)
    return total


@njit(nogil=True)
def _sum(address, count):  # type: ignore[no-untyped-def]
    total = 0
    for number in integers_at(address, count):
        total += number
    return total


def peer_time(peer: Peer, many: list[Query]) -> float:
    """A peer's median time; its first query is asked once before, to load and compile."""
    peer.search(*many[0])
    return in_turns([functools.partial(peer.search, *query) for query in many], rounds=1)[0]


def right(index: Index, columns: Floats, words: Integers, query: Query) -> bool:
    """Whether an answer is that of sorting the full product."""
    asked, weights = query
    full = scores(weights, columns[np.searchsorted(words, asked)], len(index))
    expected = best(np.arange(full.size), full, K)
    found = index.search(query, K)
    return np.array_equal(found[0], expected[0]) and np.array_equal(found[1], expected[1])


_OPEN = """
import sys, time, json
from visterm.index import Index
def private():
    lines = open("/proc/self/smaps_rollup").read().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024
before = private()
begin = time.perf_counter()
index = Index.open(sys.argv[1])
ms = 1000 * (time.perf_counter() - begin)
after = private()
print(json.dumps({"open_ms": round(ms, 2), "open_private_mb": round(after, 1),
                  "open_added_mb": round(after - before, 2)}))
"""


def opening(folder: Path) -> dict[str, float]:
    """Time and private memory of opening the index in a fresh process.

    ``open_private_mb`` is all of the process, Python and NumPy too; ``open_added_mb`` what opening
    added to it.
    """
    command = [sys.executable, "-c", _OPEN, str(folder)]
    found: dict[str, float] = json.loads(subprocess.check_output(command))
    return found


if __name__ == "__main__":
    main()
