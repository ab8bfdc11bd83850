"""Work on many rows at once, by as many threads as there are cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Share = TypeVar("Share")


def side_by_side(run: Callable[[Share], None], shares: Sequence[Share]) -> None:
    """Do something with every share, on all cores; it must let go of Python's lock to gain by it.

    >>> found = []
    >>> side_by_side(found.append, [1])
    >>> found
    [1]
    """
    threads = min(n_threads(), len(shares))
    if threads <= 1:
        list(map(run, shares))
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(run, shares))


def n_threads() -> int:
    """How many threads multiply."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
