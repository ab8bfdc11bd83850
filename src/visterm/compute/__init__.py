"""Where work runs: this machine's processes, or a Ray cluster.

Whoever has work for many processes asks here (`map_batches`, `map_items`, `spread`) and gets the
same results wherever it runs; `running_on` says where. Only this package knows Ray, and Ray is
imported only when somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from visterm.compute.ray_cluster import RayCluster

Item = TypeVar("Item")
Result = TypeVar("Result")
Arguments = tuple[Any, ...]

_CLUSTER: ContextVar[RayCluster | None] = ContextVar("cluster", default=None)


class Replicas(Protocol):
    """Objects that hold a part of the data each, of which there may be several that are alike."""

    def __len__(self) -> int:
        """How many parts there are."""
        ...

    def ask(self, method: str, arguments: Sequence[Arguments | None]) -> list[Any]:
        """What the method gives for each part, with arguments of its own.

        None where a part was not asked (its arguments are None) or has nobody to answer now.
        """
        ...

    def call(self, method: str, *arguments: Any) -> list[Any]:
        """What the method gives for each part, with the same arguments; an error where none can
        answer."""
        ...


class LocalReplicas:
    """The same in this process, one object a part.

    >>> LocalReplicas(list, [("ab",), ("cd",)]).ask("count", [("a",), None])
    [1, None]
    >>> LocalReplicas(list, [("ab",), ("cd",)]).call("count", "c")
    [0, 1]
    """

    def __init__(self, kind: Callable[..., Any], parts: Sequence[Arguments]) -> None:
        self._objects = [kind(*part) for part in parts]

    def __len__(self) -> int:
        return len(self._objects)

    def ask(self, method: str, arguments: Sequence[Arguments | None]) -> list[Any]:
        asked = zip(self._objects, arguments, strict=True)
        return [None if given is None else getattr(part, method)(*given) for part, given in asked]

    def call(self, method: str, *arguments: Any) -> list[Any]:
        return self.ask(method, [arguments] * len(self))


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

    connected = RayCluster.connect(ray, begin=begin)
    before = _CLUSTER.set(connected)
    try:
        yield
    finally:
        _CLUSTER.reset(before)
        connected.close()


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
    where = cluster()
    if where is not None:
        return where.map_batches(work, batches)
    from visterm.compute.processes import in_processes

    return in_processes(work, batches, n_jobs)


def map_items(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Results of independent pieces of work: side by side on a cluster, else one after another.

    >>> map_items(abs, [-1, 2])
    [1, 2]
    """
    where = cluster()
    return [work(item) for item in items] if where is None else where.map_items(work, items)


def spread(kind: Callable[..., Any], parts: Sequence[tuple[Any, ...]]) -> Replicas:
    """An object ``kind(*part)`` for each part, kept where it works: on the cluster, else here."""
    where = cluster()
    return LocalReplicas(kind, parts) if where is None else where.replicated(kind, parts)


@contextmanager
def replicated(
    kind: Callable[..., Any], parts: Sequence[tuple[Any, ...]], *, name: str, replicas: int
) -> Iterator[Replicas]:
    """For a while, ``kind(*part)`` for each part, in so many processes of the cluster each.

    ``name`` tells them apart from what else the cluster serves. On this machine alone there is one
    object a part, in this process.
    """
    where = cluster()
    if where is None:
        yield LocalReplicas(kind, parts)
        return
    served = where.replicated(kind, parts, name=name, replicas=replicas)
    try:
        yield served
    finally:
        served.close()
