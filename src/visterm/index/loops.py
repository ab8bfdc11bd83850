"""Work on many rows: by as many threads as there are cores, and by compiled loops where that is
worth it.

Loading compiled loops takes as long as NumPy takes for a hundred million values, half a second. A
server has them loaded before it answers (`prepare`); a command computes small things by NumPy.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

Share = TypeVar("Share")
Result = TypeVar("Result")

BLOCK = 1 << 10
"""Scores under one maximum, which a compiled loop adds up in the innermost cache."""
_is_loaded = False
_pools: dict[int, ThreadPoolExecutor] = {}
_making = threading.Lock()


def side_by_side(run: Callable[[Share], Result], shares: Sequence[Share]) -> list[Result]:
    """Do something with every share, on all cores; it must let go of Python's lock to gain by it.

    What runs must not ask for more of it.

    >>> side_by_side(abs, [-1, 2])
    [1, 2]
    """
    if min(n_threads(), len(shares)) <= 1:
        return list(map(run, shares))
    others = [_pool().submit(run, share) for share in shares[1:]]
    return [run(shares[0]), *(other.result() for other in others)]


def n_threads() -> int:
    """How many threads multiply."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2


def _pool() -> ThreadPoolExecutor:
    """The threads of this process; a forked one has none of its parent's."""
    from concurrent.futures import ThreadPoolExecutor  # which small collections never need

    with _making:
        if os.getpid() not in _pools:
            _pools.clear()
            _pools[os.getpid()] = ThreadPoolExecutor(n_threads(), "rows")
        return _pools[os.getpid()]


def is_worth(values: int, *, loaded_from: int, cold_from: int) -> bool:
    """Whether so many values are left to compiled loops.

    ``loaded_from`` is from how many on they are sooner done once these are loaded, ``cold_from``
    for how many NumPy takes as long as loading.
    """
    if values >= cold_from:
        prepare()
    return _is_loaded and values >= loaded_from


def prepare() -> None:
    """Load the compiled loops now, so that no search waits for them."""
    global _is_loaded
    if _is_loaded:
        return
    import numpy as np

    from visterm.index import _kernels

    table, maxima, counts = np.zeros(1, np.float32), np.zeros(1, np.float32), np.zeros(0, np.int64)
    none = np.zeros((0, 3), np.int64)
    given = (table, 0, none, table[:0], none, table[:0])
    _kernels.add_up(0, 0, *given, 0, table[:0], table, maxima, counts)
    rows, scales = np.zeros((1, 1), np.uint8), np.ones((1, 2), np.float32)
    rows.flags.writeable = scales.flags.writeable = False  # as files are mapped
    weights, ones = np.zeros((1, 1), np.int16), np.ones(1)
    _kernels.dense_products(rows, weights, np.zeros((1, 1), np.int32))
    codes = np.zeros((1, 1), np.uint16)
    _kernels.column_codes(rows, scales, weights, ones, ones, ones, codes[0], 1.0, codes, 0)
    _is_loaded = True
