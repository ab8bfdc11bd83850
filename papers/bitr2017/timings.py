"""Figures 3 and 4 of the BITR paper: how long training and ranking take, by size."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from visterm.evaluation import Table
from visterm.experiments.protocol import Source
from visterm.experiments.tables import Entry, Report
from visterm.matrices import unit_rows
from visterm.models import Bitr, Wsabie
from visterm.progress import Progress, silent

Rows = NDArray[np.float32]
PAIRS, WIDTHS = (5_000, 20_000, 100_000), (50, 100, 150)
STRENGTHS = tuple(10.0**power for power in range(-5, 6))
PASSES = 20  # of WSABIE, as the paper stops it
SAMPLES, QUERY_WIDTH = tuple(10**power for power in range(1, 8)), 100
QUERY_WIDTHS = (10, 20, 50, 100, 200)
_BLOCK = 1_000_000  # samples in memory; more of them are the same block again
_MOST = {"each by its joint vector": 10_000, "each by two products": 100_000}


def drawn_pairs(pairs: int, numbers: int, seed: int, *, skew: float = 0.0) -> tuple[Rows, Rows]:
    """Unit vectors of pictures, and of texts that partly follow from them.

    The j-th number of either side deviates by ``j^−skew``: 0 makes all alike, which is easy to
    learn; real vectors are skewed, and take more iterations.

    >>> x, y = drawn_pairs(5, 3, seed=0)
    >>> np.linalg.norm(y, axis=1).round(4).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """
    rng = np.random.default_rng(seed)
    scale = np.arange(1, numbers + 1, dtype=np.float32) ** np.float32(-skew)
    x = unit_rows(rng.standard_normal((pairs, numbers), dtype=np.float32) * scale)
    turned = x @ rng.standard_normal((numbers, numbers), dtype=np.float32)
    noise = rng.standard_normal((pairs, numbers), dtype=np.float32)
    return x, unit_rows((turned + noise) * scale)


def bitr_fig3(
    entry: Entry, data: Source = None, seed: int = 0, progress: Progress = silent
) -> Report:
    """Seconds of training by pairs, numbers a side and C; data are drawn, none are read."""
    Bitr().fit(*drawn_pairs(100, 5, seed))  # compile
    Wsabie(outputs="texts", max_iter=1).fit(*drawn_pairs(100, 5, seed))
    rows: dict[str, list[float | int | str | None]] = {}
    gaps, wsabie = {}, {}
    total = len(PAIRS) * len(WIDTHS)
    for number, (pairs, width) in enumerate((n, d) for n in PAIRS for d in WIDTHS):
        progress("timing", number, total)
        x, y = drawn_pairs(pairs, width, seed)
        name = f"{pairs:,} pairs of {width} + {width}"
        rows[name] = []
        for C in STRENGTHS:
            model = Bitr(C=C, max_iter=5000)
            rows[name].append(_seconds(lambda m=model: m.fit(x, y)))  # type: ignore[misc]  # noqa: B023
            gaps[f"{name}, C = {C:g}"] = model.gap_
        one_pass = Wsabie(outputs="texts", max_iter=1)
        wsabie[name] = PASSES * _seconds(lambda m=one_pass: m.fit(x, y))  # type: ignore[misc]  # noqa: B023
        rows[name].append(wsabie[name])
    progress("timing", total, total)
    columns = [*(f"C = {C:g}" for C in STRENGTHS), "WSABIE"]
    theirs = entry.published
    title = entry.titled(
        f", seconds to train BITR-C to a gap of 0.1 %, and {PASSES} passes of WSABIE; the paper's "
        f"BITR took {theirs['1e-05']} to {theirs['100000']} for 100,000 pairs of 150 + 150"
    )
    return Report(
        Table(title, columns, rows, plain=columns),
        {"published": theirs, "seconds": rows, "gaps": gaps, "wsabie_seconds": wsabie},
    )


def bitr_fig4(
    entry: Entry, data: Source = None, seed: int = 0, progress: Progress = silent
) -> Report:
    """Seconds to rank samples for one query, three ways; data are drawn, none are read.

    First by the number of samples, then by how many numbers each has.
    """
    sizes = [(n, QUERY_WIDTH) for n in SAMPLES]
    widths = [(SAMPLES[-1], width) for width in QUERY_WIDTHS if width != QUERY_WIDTH]
    columns = [f"{n:,} of {width}" for n, width in sizes + widths]
    ways = ("each by its joint vector", "each by two products", "all at once")
    seconds: dict[str, list[float | int | str | None]] = {f"{way}, ours": [] for way in ways}
    for number, (n, width) in enumerate(sizes + widths):
        progress("timing", number, len(columns))
        ranking = _Ranking(n, width, seed)
        for way in ways:
            # The slow ways are timed where they take seconds, not hours.
            fits = n <= _MOST.get(way, n) and (width == QUERY_WIDTH or way == "all at once")
            spent = _seconds(lambda r=ranking, w=way: r.rank(w)) if fits else None  # type: ignore[misc]
            seconds[f"{way}, ours"].append(spent)
    progress("timing", len(columns), len(columns))
    for way in ways:
        by_width = {int(w): one.get(way) for w, one in entry.published.items()}
        seconds[f"{way}, published"] = [
            by_width.get(width) if n == SAMPLES[-1] else None for n, width in sizes + widths
        ]
    title = entry.titled(", seconds to rank so many samples of so many numbers")
    return Report(
        Table(title, columns, seconds, plain=columns),
        {"published": entry.published, "columns": columns, "seconds": seconds},
    )


class _Ranking:
    """A query, W and samples, drawn; ``rank`` scores and sorts all of them."""

    def __init__(self, samples: int, width: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.W = rng.standard_normal((width, width), dtype=np.float32)
        self.x = rng.standard_normal(width, dtype=np.float32)
        self.block = rng.standard_normal((min(samples, _BLOCK), width), dtype=np.float32)
        self.scores = np.empty((samples // len(self.block), len(self.block)), np.float32)

    def rank(self, way: str) -> NDArray[np.int64]:
        for part in self.scores:
            if way == "all at once":
                np.matmul(self.block, self.x @ self.W, out=part)
            elif way == "each by two products":
                part[:] = [self.x @ self.W @ y for y in self.block]
            else:
                part[:] = _jointly(self.x, self.W, self.block)
        return np.argsort(-self.scores.ravel())


def _jointly(x: Rows, W: Rows, samples: Rows) -> Rows:
    weights = W.ravel()
    return np.array([weights @ np.outer(x, y).ravel() for y in samples])


def _seconds(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return round(time.perf_counter() - begin, 3)
