"""Batches on processes of this machine, by a pool of joblib's making."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from visterm.errors import VistermError

if TYPE_CHECKING:
    from concurrent.futures import Future

Item = TypeVar("Item")
Result = TypeVar("Result")

# One task a core: threads of libraries would only wait for each other.
SINGLE_THREADED = dict.fromkeys(
    ("LOKY_MAX_CPU_COUNT", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
_BATCHES_A_PROCESS = 2
_HOPELESS = 2
"""Items that each end a process, after which no other of their batch is tried."""


def in_processes(
    work: Callable[[list[Item]], Result], batches: Iterable[list[Item]], n_jobs: int
) -> Generator[Result, None, None]:
    """Results in order, from a pool of processes that is at most two batches each ahead.

    The batches are taken by the thread that takes the results. A batch whose process ends is done
    again by one that does nothing else, then item by item (see `survivors`).
    """
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    pool, source = _pool(n_jobs), iter(batches)
    waiting: deque[tuple[list[Item], Future[Result]]] = deque()
    try:
        while True:
            for batch in islice(source, _BATCHES_A_PROCESS * n_jobs + 1 - len(waiting)):
                waiting.append((batch, pool.submit(work, batch)))
            if not waiting:
                return
            batch, future = waiting.popleft()
            try:
                results = [future.result()]
            except TerminatedWorkerError:
                pool.shutdown(wait=False)
                results = _alone(work, batch)
                pool = _pool(n_jobs)
                waiting = deque((pending, pool.submit(work, pending)) for pending, _ in waiting)
            yield from results
    finally:
        for _, future in waiting:
            future.cancel()
        pool.shutdown(wait=not waiting)


def survivors(work: Any, batch: list[Any], results: list[Any]) -> list[Any]:
    """Results of items that were done one by one, None where that ended a process each time.

    ``work.lost`` gives the result of an item that does so. Where there is no such method, or no
    item of several could be done, something else is wrong, and that is an error.
    """
    has_died = [one is None for one in results]
    if not hasattr(work, "lost") or (len(batch) > 1 and all(has_died)):
        raise VistermError(
            "a process at work was ended, by the system or by a library it used; there may be too "
            "little memory: try fewer processes"
        )
    answers = zip(batch, results, strict=True)
    return [work.lost([item]) if result is None else result for item, result in answers]


def _alone(work: Callable[[list[Item]], Result], batch: list[Item]) -> list[Result]:
    (whole,) = _one_after_another(work, [batch])
    if whole is not None:
        return [whole]
    singles = [[item] for item in batch] if hasattr(work, "lost") and len(batch) > 1 else []
    results = _one_after_another(work, singles) or [None] * len(batch)
    return survivors(work, batch, results)


def _one_after_another(work: Callable[[list[Any]], Any], batches: list[list[Any]]) -> list[Any]:
    """Results by a single process, None for batches that end it."""
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    results, pool = [], _pool(1)
    for batch in batches:
        try:
            results.append(pool.submit(work, batch).result())
        except TerminatedWorkerError:
            results.append(None)
            if len(results) >= _HOPELESS and not any(result is not None for result in results):
                return [None] * len(batches)
            pool.shutdown()
            pool = _pool(1)
    pool.shutdown()
    return results


def _pool(n_jobs: int) -> Any:
    """A pool of our own: another call of joblib may end the one that it keeps for itself."""
    from joblib.externals.loky import ProcessPoolExecutor

    return ProcessPoolExecutor(max_workers=n_jobs, env=SINGLE_THREADED)
