"""Work on many rows at once, by as many threads as there are cores."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

Share = TypeVar("Share")
Result = TypeVar("Result")

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
