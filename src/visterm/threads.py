"""Work on every core of this process: one pool for shares of rows, and blocks that have BLAS to
themselves."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

Share = TypeVar("Share")
Result = TypeVar("Result")
Task = TypeVar("Task")

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


def on_all_cores(work: Callable[[Task], None], tasks: Iterable[Task]) -> None:
    """Do all tasks; whoever is free takes the next one.

    BLAS keeps to one thread meanwhile: its own threads would wait for each other at the end of
    every block, and the loops between two products would leave a core idle.
    """
    from concurrent.futures import ThreadPoolExecutor

    from joblib import cpu_count

    tasks = list(tasks)
    if len(tasks) < 2 or cpu_count() == 1:
        for task in tasks:
            work(task)
        return
    with (
        _blas().limit(limits=1, user_api="blas"),
        ThreadPoolExecutor(min(cpu_count(), len(tasks))) as pool,
    ):
        for _ in pool.map(work, tasks):
            pass


def one_thread() -> AbstractContextManager[object]:
    """For as long as it lasts, BLAS adds up in one order, however many cores there are.

    >>> with one_thread():
    ...     pass
    """
    limited: AbstractContextManager[object] = _blas().limit(limits=1, user_api="blas")
    return limited


def slices(n: int, size: int) -> Iterator[slice]:
    """Parts of n things.

    >>> list(slices(5, 3))
    [slice(0, 3, None), slice(3, 5, None)]
    """
    for start in range(0, n, size):
        yield slice(start, min(n, start + size))


@cache
def _blas() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401 - it has a BLAS of its own, which is found once it is there
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
