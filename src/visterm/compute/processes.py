"""Batches on processes of this machine; one that dies costs the item that ended it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, TypeVar

from visterm.errors import VistermError

Item = TypeVar("Item")
Result = TypeVar("Result")

Lost: TypeAlias = Callable[[Result, list[Item]], Result]
"""Names items that end their process in the result of the other items of their batch."""


class EndTogether(VistermError):
    """Items that end their process together, and none of them alone."""

    def __init__(self) -> None:
        super().__init__(
            "some pictures end their process together but not alone; there may be too little "
            "memory: try fewer processes"
        )


def in_processes(
    work: Callable[[list[Item]], Result],
    batches: Sequence[list[Item]],
    lost: Lost[Result, Item],
    n_jobs: int,
) -> Iterator[Result]:
    """Results in order, from a pool of processes that is at most two batches each ahead."""
    from joblib import Parallel, delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    position = 0
    while position < len(batches):
        pool = Parallel(n_jobs=n_jobs, return_as="generator", pre_dispatch="2*n_jobs", batch_size=1)
        try:
            for result in pool(delayed(work)(batch) for batch in batches[position:]):
                position += 1
                yield result
        except TerminatedWorkerError:
            # Something crashed. The next batch is done item by item, each in a process of its
            # own, so that only the item at fault is lost; then the pool goes on.
            yield _one_by_one(work, batches[position], lost)
            position += 1


def _one_by_one(
    work: Callable[[list[Item]], Result], batch: list[Item], lost: Lost[Result, Item]
) -> Result:
    """The batch without the items that crash a process when they are alone in it."""
    from joblib.externals.loky import ProcessPoolExecutor
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    sound, crashed = [], []
    alone = ProcessPoolExecutor(max_workers=1)
    try:
        for item in batch:
            try:
                alone.submit(work, [item]).result()
                sound.append(item)
            except TerminatedWorkerError:
                crashed.append(item)
                alone.shutdown()
                alone = ProcessPoolExecutor(max_workers=1)
        return lost(alone.submit(work, sound).result(), crashed)
    except TerminatedWorkerError:
        raise EndTogether from None
    finally:
        alone.shutdown()
