"""Batches on processes of this machine, by a pool of joblib's making."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from visterm.errors import VistermError

if TYPE_CHECKING:
    from concurrent.futures import Future

Item = TypeVar("Item")
Result = TypeVar("Result")
Attempts = Generator[tuple[list[Any], Any], None, None]
"""Batches, in order, each with its result."""

DIED = object()
"""The result of a batch that ended its process, each time."""

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
    again by one that does nothing else, then item by item.
    """
    attempts = _attempts(work, batches, n_jobs, ahead=_BATCHES_A_PROCESS * n_jobs)
    return whole_or_by_item(work, attempts, lambda singles: _attempts(work, singles, 1, ahead=0))


def whole_or_by_item(
    work: Any, attempts: Attempts, attempt: Callable[[list[list[Any]]], Attempts]
) -> Generator[Any, None, None]:
    """Results of batches; of one that `DIED`, those of its items, which are attempted one by one.

    ``work.lost`` gives the result of an item that dies, too. Where there is no such method, or no
    item of several could be done, something else is wrong, and that is an error.
    """
    with closing(attempts):
        for batch, whole in attempts:
            if whole is not DIED:
                yield whole
                continue
            results = [whole]
            if has_others := hasattr(work, "lost") and len(batch) > 1:
                with closing(attempt([[item] for item in batch])) as singles:
                    results = [result for _, result in singles]
            if not hasattr(work, "lost") or (has_others and all(one is DIED for one in results)):
                raise VistermError(
                    "a process at work was ended, by the system or by a library it used; there may "
                    "be too little memory: try fewer processes"
                )
            for item, result in zip(batch, results, strict=True):
                yield work.lost([item]) if result is DIED else result


def _attempts(
    work: Callable[[list[Any]], Any], batches: Iterable[list[Any]], n_jobs: int, *, ahead: int
) -> Attempts:
    """Results from a pool; where none is ahead, a batch that ends it has done so by itself."""
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    pool, source = _pool(n_jobs), iter(batches)
    waiting: deque[tuple[list[Any], Future[Any]]] = deque()
    done = deaths = 0
    try:
        while deaths < _HOPELESS or deaths < done:
            for batch in islice(source, ahead + 1 - len(waiting)):
                waiting.append((batch, pool.submit(work, batch)))
            if not waiting:
                return
            batch, future = waiting.popleft()
            try:
                yield batch, future.result()
            except TerminatedWorkerError:
                pool.shutdown(wait=False)
                pool = _pool(n_jobs)
                if ahead:
                    yield from _attempts(work, [batch], 1, ahead=0)
                else:
                    deaths += 1
                    yield batch, DIED
                # Only now, so that what is attempted alone has the machine to itself.
                waiting = deque((pending, pool.submit(work, pending)) for pending, _ in waiting)
            done += 1
    finally:
        for _, future in waiting:
            future.cancel()
        pool.shutdown(wait=not waiting)


def _pool(n_jobs: int) -> Any:
    """A pool of our own: another call of joblib may end the one that it keeps for itself."""
    from joblib.externals.loky import ProcessPoolExecutor

    return ProcessPoolExecutor(max_workers=n_jobs, env=SINGLE_THREADED)
