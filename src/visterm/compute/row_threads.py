"""Work on many rows at once, by as many threads as there are cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Share = TypeVar("Share")
Result = TypeVar("Result")


def side_by_side(run: Callable[[Share], Result], shares: Sequence[Share]) -> list[Result]:
    """Do something with every share, on all cores; it must let go of Python's lock to gain by it.

    >>> side_by_side(abs, [-1, 2])
    [1, 2]
    """
    threads = min(n_threads(), len(shares))
    if threads <= 1:
        return list(map(run, shares))
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, shares))


def n_threads() -> int:
    """How many threads multiply."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
