"""Work in blocks on every core: threads, each of which has BLAS to itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

Task = TypeVar("Task")


def on_all_cores(work: Callable[[Task], None], tasks: Iterable[Task]) -> None:
    """Do all tasks; whoever is free takes the next one.

    BLAS keeps to one thread meanwhile: its own threads would wait for each other at the end of
    every block, and the loops between two products would leave a core idle.
    """
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
