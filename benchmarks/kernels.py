"""How fast is the match kernel between all of Corel's pictures, against a double loop in NumPy?

    python -m benchmarks.kernels --data DATA/corel5k --json

4,500 pictures of 77 blocks, each a histogram of 59 texture and 50 colour bins, square-rooted; the
minor kernel is RBF, the paper's best. Ours computes the whole table. The loops are timed on all
pairs of some pictures, before and after ours, and extrapolated to the table; like ours, they visit
each pair once. ``ratio`` is against the formula as one writes it down: the minor kernel of all
pairs of blocks, then maxima and means. ``ratio_product_loop`` is against a loop that already gets
distances from a matrix product a pair. Both loops run on one core, as they are; ours on all, and
``ratio_processor_time`` sets that aside. ``peak_mb`` is of the whole process, descriptors included.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks.common import say, show
from visterm.datasets import read_corel5k
from visterm.errors import VistermError
from visterm.features.blocks.block_descriptor import BlockDescriptor
from visterm.features.codebook import learn_codebook
from visterm.features.picture_batches import Pixels, over_pictures
from visterm.kernels import Match

BAR_RATIO = 20
BAR_MB = 2_000
SIDE, COLOURS, LONG_SIDE = 32, 50, 192

Bags = NDArray[np.float32]
Pair = Callable[[NDArray[np.float32], NDArray[np.float32], float], float]


class Spent(NamedTuple):
    """Seconds by the clock, and of the processor."""

    wall: float
    work: float

    def __add__(self, other: object) -> Spent:
        if not isinstance(other, Spent):
            return NotImplemented
        return Spent(self.wall + other.wall, self.work + other.work)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="the corel5k folder")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--pictures", type=int, help="only so many of the pictures")
    parser.add_argument("--sample", type=int, default=50, help="pictures whose pairs the loops do")
    asked = parser.parse_args()
    try:
        paths = read_corel5k(asked.data).development.paths[: asked.pictures]
        bags = described(paths)
    except VistermError as error:
        say(f"benchmarks.kernels: {error}")
        return 1
    show(measure(bags, asked.sample), as_json=asked.json)
    return 0


def described(paths: list[Path]) -> Bags:
    """Square-rooted block histograms, pictures × blocks × bins."""
    say(f"describing {len(paths):,} pictures")
    rng = np.random.default_rng(0)

    def pixels(pictures: list[Pixels]) -> NDArray[np.uint8]:
        flat = (picture.reshape(-1, 3) for picture in pictures)
        return np.concatenate([some[rng.integers(len(some), size=200)] for some in flat])

    colours = learn_codebook(
        np.concatenate(collected(pixels, paths[::10])).astype(np.float32),
        COLOURS,
        points_per_centre=2000,
    )
    descriptor = BlockDescriptor(colours, [SIDE])
    histograms = collected(
        lambda pictures: np.stack([descriptor(picture)[0] for picture in pictures]), paths
    )
    return np.sqrt(np.concatenate(histograms), dtype=np.float32)


def collected(work: Callable[[list[Pixels]], NDArray[Any]], paths: list[Path]) -> list[NDArray]:
    batches = list(over_pictures(work, paths, max_side=LONG_SIDE))
    for skip in (skip for batch in batches for skip in batch.skipped):
        raise VistermError(f"{skip.picture}: {skip.reason}; a benchmark needs all pictures")
    return [batch.result for batch in batches if batch.result is not None]


def measure(bags: Bags, sample: int) -> dict[str, Any]:
    kernel = Match("rbf", gamma=2.0).fit(bags)
    rate = kernel.gamma / kernel.scale_
    some = bags[np.linspace(0, len(bags) - 1, min(sample, len(bags))).astype(int)]
    for loop in (as_written, by_product):
        if not np.allclose(double_loop(loop, some[:8], rate), kernel(some[:8]), atol=1e-4):
            raise SystemExit(
                f"the loop {loop.__name__} gives another kernel: the comparison is void"
            )
    kernel(bags[:100])  # compiled and warm
    say(f"loops over the pairs of {len(some)} pictures")
    before = timed_loops(some, rate)
    say(f"now our table of {len(bags):,} × {len(bags):,} pictures")
    ours = timed(lambda: kernel(bags))
    say("and the loops again")
    after = timed_loops(some, rate)
    share = len(bags) * (len(bags) + 1) / (2 * len(some) * (len(some) + 1))  # of both times
    written, product = (
        Spent(*(share * seconds for seconds in first + second))
        for first, second in zip(before, after, strict=True)
    )
    ratio, peak = written.wall / ours.wall, peak_mb()
    return {
        "ratio": round(ratio, 1),
        "peak_mb": round(peak),
        "bar_reached": ratio >= BAR_RATIO and peak < BAR_MB,
        "ratio_product_loop": round(product.wall / ours.wall, 1),
        "ratio_processor_time": round(written.work / ours.work, 1),
        "ratio_product_loop_processor_time": round(product.work / ours.work, 1),
        "seconds_ours": round(ours.wall, 1),
        "seconds_loop_extrapolated": round(written.wall),
        "seconds_product_loop_extrapolated": round(product.wall),
        "pairs": len(bags) * (len(bags) + 1) // 2,
        "pairs_the_loops_did": len(some) * (len(some) + 1),
        "pictures": len(bags),
        "blocks": bags.shape[1],
        "numbers_a_block": bags.shape[2],
        "gflops": round(
            len(bags) ** 2 * bags.shape[1] ** 2 * (bags.shape[2] + 2) / ours.wall / 1e9
        ),
        "cores": cpu_count(),
        "load": round(os.getloadavg()[0], 1),
    }


def as_written(p: Bags, other: Bags, rate: float) -> float:
    """½ (mean_i max_j k_l + mean_j max_i k_l), k_l = exp(−rate ‖d_i − d'_j‖²)."""
    k = np.exp(-rate * ((p[:, None] - other[None]) ** 2).sum(axis=2))
    return float(k.max(axis=1).mean() + k.max(axis=0).mean()) / 2


def by_product(p: Bags, other: Bags, rate: float) -> float:
    """The same, with distances from one matrix product."""
    squares = (p * p).sum(axis=1)[:, None] + (other * other).sum(axis=1) - 2 * (p @ other.T)
    k = np.exp(-rate * squares)
    return float(k.max(axis=1).mean() + k.max(axis=0).mean()) / 2


def double_loop(k: Pair, bags: Bags, rate: float) -> NDArray[np.float64]:
    table = np.empty((len(bags), len(bags)))
    for i in range(len(bags)):
        for j in range(i, len(bags)):
            table[i, j] = table[j, i] = k(bags[i], bags[j], rate)
    return table


def timed_loops(bags: Bags, rate: float) -> tuple[Spent, Spent]:
    # A thread more would only slow products of this size down.
    with threadpool_limits(limits=1):
        return (
            timed(lambda: double_loop(as_written, bags, rate)),
            timed(lambda: double_loop(by_product, bags, rate)),
        )


def timed(call: Callable[[], object]) -> Spent:
    wall, work = time.perf_counter(), time.process_time()
    call()
    return Spent(time.perf_counter() - wall, time.process_time() - work)


def peak_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


if __name__ == "__main__":
    sys.exit(main())
