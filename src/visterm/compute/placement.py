"""Which machines work now, and work that is the same on any of them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from visterm.compute.processes import in_processes
from visterm.compute.replicas import LocalReplicas, Replicas

if TYPE_CHECKING:
    from visterm.compute.ray_cluster import RayCluster

Item = TypeVar("Item")
Result = TypeVar("Result")

_CLUSTER: ContextVar[RayCluster | None] = ContextVar("cluster", default=None)


@contextmanager
def running_on(ray: str | None, *, begin: bool = True) -> Iterator[None]:
    """For a while, let work run on a Ray cluster; None leaves it where it was.

    Parameters
    ----------
    ray : {"auto", "local"} or an address, optional
        The cluster that this machine is part of, or one begun here if there is none; one begun
        here; or the one at ``HOST:PORT``. What Ray in this process is connected to already is used.
    begin
        Whether one may be begun here; if not, and there is none, that is an error.
    """
    if ray is None:
        yield
        return
    from visterm.compute.ray_cluster import RayCluster

    found = RayCluster.connect(ray, begin=begin)
    before = _CLUSTER.set(found)
    try:
        yield
    finally:
        _CLUSTER.reset(before)
        found.close()


def cluster() -> RayCluster | None:
    """The cluster that work runs on now; None where it is this machine alone.

    >>> cluster() is None
    True
    """
    return _CLUSTER.get()


def map_batches(
    work: Callable[[list[Item]], Result],
    batches: Iterable[list[Item]],
    *,
    n_jobs: int = 1,
) -> Generator[Result, None, None]:
    """Results of batches, in order, a few batches ahead of whoever takes them.

    Where a batch ends its process, each time, it gives a result for each of its items, and
    ``work.lost([item])`` is that of one which ends its process by itself.
    """
    found = cluster()
    if found is not None:
        return found.map_batches(work, batches)
    return in_processes(work, batches, n_jobs)


def map_items(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Results of independent pieces of work: side by side on a cluster, else one after another.

    >>> map_items(abs, [-1, 2])
    [1, 2]
    """
    found = cluster()
    return [work(item) for item in items] if found is None else found.map_items(work, items)


def spread(kind: Callable[..., Any], parts: Sequence[tuple[Any, ...]]) -> Replicas:
    """An object ``kind(*part)`` for each part, kept where it works: on the cluster, else here."""
    found = cluster()
    return LocalReplicas(kind, parts) if found is None else found.replicated(kind, parts)


@contextmanager
def replicated(
    kind: Callable[..., Any], parts: Sequence[tuple[Any, ...]], *, name: str, replicas: int
) -> Iterator[Replicas]:
    """For a while, ``kind(*part)`` for each part, in so many processes of the cluster each.

    ``name`` tells them apart from what else the cluster serves. On this machine alone there is one
    object a part, in this process.
    """
    found = cluster()
    if found is None:
        yield LocalReplicas(kind, parts)
        return
    served = found.replicated(kind, parts, name=name, replicas=replicas)
    try:
        yield served
    finally:
        served.close()
