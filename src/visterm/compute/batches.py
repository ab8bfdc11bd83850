"""Batches of work in order, wherever they are done, and what becomes of one that ends its process.

A pool knows how to do one batch; `Processes` is that of this machine, of joblib's making.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from visterm.errors import VistermError

if TYPE_CHECKING:
    from visterm.compute.ray_cluster import RayPool

Item = TypeVar("Item")
Result = TypeVar("Result")
Pool: TypeAlias = "Processes | RayPool"
"""What does batches of one kind of work, each in a process that may end."""

# One task a core: threads of libraries would only wait for each other.
SINGLE_THREADED = dict.fromkeys(
    ("LOKY_MAX_CPU_COUNT", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
BATCHES_A_CORE = 2
"""How far ahead of whoever takes the results the work is."""
_HOPELESS = 2
"""Items that each end a process, after which no other of their batch is tried."""


class Died(Exception):
    """The process that did a batch has ended."""


def in_order(pool: Pool, work: Any, batches: Iterable[list[Any]]) -> Generator[Any, None, None]:
    """Results in order; the batches are taken by the thread that takes the results.

    A batch whose process ends is done again, then item by item. ``work.lost`` gives the result of
    an item that ends its process each time; where there is no such method, or no item of several
    could be done, something else is wrong, and that is an error.
    """
    source, waiting = iter(batches), deque[tuple[list[Any], Any]]()
    try:
        while True:
            for batch in islice(source, max(0, pool.ahead + 1 - len(waiting))):
                waiting.append((batch, pool.submit(batch)))
            if not waiting:
                return
            batch, job = waiting.popleft()
            try:
                results = [pool.result(job)]
            except Died:
                results = _again(pool, work, batch)
            yield from results
    finally:
        pool.close([job for _, job in waiting])


def _again(pool: Pool, work: Any, batch: list[Any]) -> list[Any]:
    """What came of a batch that has ended its process: of all of it, or of its items."""
    whole = _attempted(pool, batch)
    if whole is not None:
        return [whole]
    can_lose, results = hasattr(work, "lost"), []
    for item in batch if can_lose and len(batch) > 1 else ():
        results.append(_attempted(pool, [item]))
        if len(results) >= _HOPELESS and not any(result is not None for result in results):
            break
    if not can_lose or (len(batch) > 1 and all(result is None for result in results)):
        raise VistermError(
            "a process at work was ended, by the system or by a library it used; there may be too "
            "little memory: try fewer processes"
        )
    answers = zip(batch, results or [None], strict=True)
    return [work.lost([item]) if result is None else result for item, result in answers]


def _attempted(pool: Pool, batch: list[Any]) -> Any:
    for _ in range(pool.attempts):
        with suppress(Died):
            return pool.again(batch)
    return None


class Processes:
    """A pool of this machine. Where one of its processes ends, so do all, and what they had begun.

    Attributes
    ----------
    attempts : int
        How often a batch that ended its process, or an item of it, is tried again.
    ahead : int
        How many batches keep it busy.
    """

    attempts = 1

    def __init__(self, work: Callable[[list[Item]], Result], n_jobs: int) -> None:
        self.ahead = BATCHES_A_CORE * n_jobs
        self._work, self._n_jobs = work, n_jobs
        self._pool = _executor(n_jobs)
        self._single: Any = None

    def submit(self, batch: list[Any]) -> Any:
        """Begin a batch."""
        return self._pool, self._pool.submit(self._work, batch)

    def result(self, job: Any) -> Any:
        """Wait for what `submit` began; `Died` where its process has ended."""
        pool, future = job
        try:
            return _result(future)
        except Died:
            if pool is self._pool:
                pool.shutdown(wait=False)
                self._pool = _executor(self._n_jobs)
            raise

    def again(self, batch: list[Any]) -> Any:
        """Do a batch with no other beside it that could end its process."""
        self._single = self._single or _executor(1)
        try:
            return _result(self._single.submit(self._work, batch))
        except Died:
            self._single = None
            raise

    def close(self, jobs: Sequence[Any]) -> None:
        """End, and with it what is still under way."""
        for _, future in jobs:
            future.cancel()
        self._pool.shutdown(wait=not jobs)
        if self._single is not None:
            self._single.shutdown()


def _result(future: Any) -> Any:
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    try:
        return future.result()
    except TerminatedWorkerError:
        raise Died from None


def _executor(n_jobs: int) -> Any:
    """A pool of our own: another call of joblib may end the one that it keeps for itself."""
    from joblib.externals.loky import ProcessPoolExecutor

    return ProcessPoolExecutor(max_workers=n_jobs, env=SINGLE_THREADED)
