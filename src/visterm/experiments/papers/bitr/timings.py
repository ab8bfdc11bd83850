"""Figures 3 and 4 of the BITR paper: how long training and ranking take, by size."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from visterm.evaluation import Table
from visterm.experiments.papers.published import published
from visterm.experiments.runner.protocol import Source
from visterm.experiments.runner.reports import Report
from visterm.matrices import unit_rows
from visterm.models import Bitr, Wsabie
from visterm.progress import Progress, silent

THEIRS = published("bitr")
SOURCE = THEIRS["source"]
Rows = NDArray[np.float32]
PAIRS, WIDTHS, STRENGTHS = (5_000, 20_000, 100_000), (50, 150), (1e-5, 1.0, 1e5)
SAMPLES, QUERY_WIDTH = (10_000, 100_000, 1_000_000, 10_000_000), 100


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


def bitr_fig3(data: Source, seed: int = 0, progress: Progress = silent) -> Report:
    """Seconds of training by pairs, numbers a side and C; data are drawn, none are read."""
    Bitr().fit(*drawn_pairs(100, 5, seed))  # compile
    rows: dict[str, list[float | int | str | None]] = {}
    gaps = {}
    total = len(PAIRS) * len(WIDTHS)
    for number, (pairs, width) in enumerate((n, d) for n in PAIRS for d in WIDTHS):
        progress("timing", number, total)
        x, y = drawn_pairs(pairs, width, seed)
        seconds: list[float | int | str | None] = []
        for C in STRENGTHS:
            model = Bitr(C=C, max_iter=5000)
            seconds.append(_seconds(lambda m=model: m.fit(x, y)))  # type: ignore[misc]  # noqa: B023
            gaps[f"{pairs} pairs of {width}, C = {C:g}"] = model.gap_
        rows[f"{pairs:,} pairs of {width} + {width}"] = seconds
    progress("timing", total, total)
    one_pass = Wsabie(outputs="texts", max_iter=1)
    Wsabie(outputs="texts", max_iter=1).fit(*drawn_pairs(100, 5, seed))
    x, y = drawn_pairs(PAIRS[0], WIDTHS[0], seed)
    wsabie = 20 * _seconds(lambda: one_pass.fit(x, y))
    columns = [f"C = {C:g}" for C in STRENGTHS]
    theirs = THEIRS["figure 3"]
    title = (
        f"BITR figure 3, seconds to train BITR-C to a gap of 0.1 % ({SOURCE}; there "
        f"{theirs['1e-05']} to {theirs['100000']} for 100,000 pairs of 150 + 150)"
    )
    return Report(
        Table(title, columns, rows, plain=columns),
        {"published": theirs, "seconds": rows, "gaps": gaps, "wsabie_5000_50_seconds": wsabie},
    )


def bitr_fig4(data: Source, seed: int = 0, progress: Progress = silent) -> Report:
    """Seconds to rank samples for one query, three ways; data are drawn, none are read."""
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((QUERY_WIDTH, QUERY_WIDTH), dtype=np.float32)
    x = rng.standard_normal(QUERY_WIDTH, dtype=np.float32)
    samples = rng.standard_normal((SAMPLES[-1], QUERY_WIDTH), dtype=np.float32)
    ways: dict[str, tuple[Callable[[Rows], Rows], int]] = {
        "each by its joint vector": (lambda Y: _jointly(x, W, Y), 10_000),
        "each by two products": (lambda Y: np.array([x @ W @ y for y in Y]), 100_000),
        "all at once": (lambda Y: Y @ (x @ W), SAMPLES[-1]),
    }
    rows: dict[str, list[float | int | str | None]] = {}
    for number, (name, (scores, most)) in enumerate(ways.items()):
        progress("timing", number, len(ways))
        ours: list[float | int | str | None] = [None] * len(SAMPLES)
        for at, n in enumerate(SAMPLES):
            if n <= most:
                ours[at] = _seconds(lambda n=n, s=scores: np.argsort(-s(samples[:n])))  # type: ignore[misc]
        rows[f"{name}, ours"] = ours
        theirs: list[float | int | str | None] = [None] * len(SAMPLES)
        theirs[-1] = THEIRS["figure 4"][name]
        rows[f"{name}, published"] = theirs
    progress("timing", len(ways), len(ways))
    columns = [f"{n:,} samples" for n in SAMPLES]
    title = f"BITR figure 4, seconds to rank samples of {QUERY_WIDTH} numbers ({SOURCE})"
    return Report(
        Table(title, columns, rows, plain=columns),
        {"published": THEIRS["figure 4"], "seconds": rows},
    )


def _jointly(x: Rows, W: Rows, samples: Rows) -> Rows:
    weights = W.ravel()
    return np.array([weights @ np.outer(x, y).ravel() for y in samples])


def _seconds(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return round(time.perf_counter() - begin, 3)
