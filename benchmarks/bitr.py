"""How long does BITR train, and how long does one query rank ten million samples?

    python -m benchmarks.bitr --json [--pairs 100000 --numbers 150 --samples 10000000]

Training: pairs of unit vectors, the texts a noisy linear image of the pictures, BITR-C until the
duality gap is 0.1 % of the objective, for C = 1 and C = 100,000; once with all numbers alike, and
once skewed, the j-th number deviating by j^-0.7, as real vectors are, which takes more rounds.
``seconds`` is wall-clock time on all cores that BLAS takes; ``gap`` and ``rounds`` say how far it
came; ``peak_mb`` is the most memory the process ever held while it trained. The paper (Verma and
Jawahar, CVIU 2017, figure 3) took from 15 minutes (small C) to 18 hours (C = 100,000) on a Xeon.

Ranking: rows of 100 numbers in an `Index` in memory; ``ratio_read`` is the time of an exact best 20
over that of one plain sum of the same bytes, both on one thread, by its own processor time, and
taken in turns. The paper's figure 4 gives 1.7 s for ten million samples, 0.5 s for the scores.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from papers.bitr2017.timings import drawn_pairs
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks.common import say, show
from visterm.index.memory_index import Index
from visterm.models import Bitr

SKEW = 0.7


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bitr", description=__doc__)
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--numbers", type=int, default=150, help="of each side of a pair")
    parser.add_argument("--samples", type=int, default=10_000_000, help="to rank; 0 leaves it out")
    parser.add_argument("--width", type=int, default=100, help="numbers of a sample")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    found: dict[str, Any] = {"training": training(given.pairs, given.numbers)}
    if given.samples:
        found["ranking"] = ranking(given.samples, given.width)
    show(found, as_json=given.json)


def training(pairs: int, numbers: int) -> dict[str, Any]:
    found: dict[str, Any] = {"pairs": pairs, "numbers": numbers}
    for name, skew in (("even", 0.0), ("skewed", SKEW)):
        say(f"drawing {pairs:,} pairs of {numbers} + {numbers} numbers, {name}")
        x, y = drawn_pairs(pairs, numbers, seed=0, skew=skew)
        few = slice(0, 1000)
        Bitr(C=1.0).fit(x[few], y[few])  # compile
        for C in (1.0, 1e5):
            begin = time.perf_counter()
            model = Bitr(C=C, max_iter=5000).fit(x, y)
            seconds = time.perf_counter() - begin
            say(f"C = {C:g}: {seconds:.1f} s, {model.n_iter_} rounds, gap {model.gap_:.1e}")
            found[f"{name}, C={C:g}"] = {
                "seconds": round(seconds, 2),
                "rounds": model.n_iter_,
                "gap": float(f"{model.gap_:.2e}"),
            }
    found["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return found


def ranking(samples: int, width: int, queries: int = 7) -> dict[str, Any]:
    rows = np.random.default_rng(0).standard_normal((samples, width), dtype=np.float32)
    index = Index(rows)
    asked = np.random.default_rng(1).standard_normal((queries, width)).astype(np.float32)
    with threadpool_limits(1):
        index.search(asked[0], 20)
        rows.sum()
        ours, plain = [], []
        for query in asked:
            ours.append(_seconds(lambda query=query: index.search(query, 20)))  # type: ignore[misc]
            plain.append(_seconds(rows.sum))
    search, read = statistics.median(ours), statistics.median(plain)
    say(f"search {search:.2f} s, plain sum {read:.2f} s")
    return {
        "samples": samples,
        "width": width,
        "seconds": round(search, 3),
        "read_seconds": round(read, 3),
        "ratio_read": round(search / read, 2),
    }


def _seconds(call: Callable[[], object]) -> float:
    """Time of the one thread that works, so that a busy machine changes no ratio."""
    begin = time.thread_time()
    call()
    return time.thread_time() - begin


if __name__ == "__main__":
    main()
