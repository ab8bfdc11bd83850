"""A Ray cluster: batches with back-pressure, and retries of what a dead worker or node held.

P. Moritz et al., Ray: a distributed framework for emerging AI applications, OSDI 2018.
"""

from __future__ import annotations

import os
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, TypeVar

from visterm.compute.processes import DIED, SINGLE_THREADED, Attempts, whole_or_by_item
from visterm.compute.ray_replicas import NAMESPACE, RayReplicas
from visterm.errors import BadInput, MissingExtra

Item = TypeVar("Item")
Result = TypeVar("Result")
Begin = Callable[[list[Any]], Any]
"""Sends a batch to a worker; returns the reference of its result."""

OBJECT_STORE_BYTES = 256 << 20
"""Shared memory of a cluster that is begun here; containers have little, and Ray would take 30 %
of all memory."""
MAX_DEATHS = 3
"""Workers that a batch, or an item of it, may end before it is given up."""
_BATCHES_A_CORE = 2
_LOOK_AGAIN = 5.0
"""Seconds after which the size of the cluster is asked for again: nodes come and go."""
_SOON_DONE = 1.0
"""Seconds in which work that nobody wants any more may end by itself."""
# What dies is begun again and counted; stdout and stderr belong to the command.
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",
    "RAY_IGNORE_UNHANDLED_ERRORS": "1",
}


class RayCluster:
    """A cluster that this process is connected to; make one by `connect`."""

    def __init__(self, *, ours: bool) -> None:
        self._ours = ours
        self._size, self._looked = (1, 1), -_LOOK_AGAIN
        self.retries = 0
        """Batches and trials that were begun again because a worker or node had died."""

    @classmethod
    def connect(cls, where: str, *, begin: bool = True) -> Self:
        """Connect to the cluster at "auto", "local" or an address.

        Where there is none yet, it is begun, or without ``begin`` refused.
        """
        # Set before Ray is imported, which reads them then.
        for name, value in _QUIET.items():
            os.environ.setdefault(name, value)
        try:
            import ray
        except ImportError:
            raise MissingExtra("a cluster needs ray: pip install 'visterm[cluster]'") from None
        if ray.is_initialized():
            return cls(ours=False)
        about: dict[str, Any] = {
            "log_to_driver": False,
            "logging_level": "error",
            "runtime_env": {"env_vars": SINGLE_THREADED},
        }
        begun = about | {"include_dashboard": False, "object_store_memory": OBJECT_STORE_BYTES}
        try:
            if where == "local" or (where == "auto" and not _is_running()):
                if not begin:
                    raise ConnectionError("none runs on this machine")
                with _on_the_loopback():
                    ray.init(address="local", **begun)
            else:
                ray.init(address=where, **about)
        except (ConnectionError, RuntimeError, ValueError) as error:
            reason = str(error).strip().splitlines()[0]
            raise BadInput(
                f"no Ray cluster answers at {where!r} ({reason}); ray start --head begins one, "
                "--ray local runs on this machine"
            ) from None
        return cls(ours=True)

    def close(self) -> None:
        """Leave the cluster; one that was begun here ends."""
        if self._ours:
            import ray

            ray.shutdown()

    @property
    def cores(self) -> int:
        """Processors of all nodes, as last looked at."""
        return self._look()[0]

    @property
    def nodes(self) -> int:
        """Nodes that are alive and have processors."""
        return self._look()[1]

    def __str__(self) -> str:
        nodes, retries = self.nodes, self.retries
        begun_again = "retry" if retries == 1 else "retries"
        return f"{nodes} node{'' if nodes == 1 else 's'}, {retries} {begun_again}"

    def _look(self) -> tuple[int, int]:
        import ray

        if time.monotonic() - self._looked > _LOOK_AGAIN:
            alive = [node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]]
            self._size = max(1, int(sum(alive))), sum(cores > 0 for cores in alive)
            self._looked = time.monotonic()
        return self._size

    def map_batches(
        self,
        work: Callable[[list[Item]], Result],
        batches: Iterable[list[Item]],
    ) -> Generator[Result, None, None]:
        """Results in order; no more batches are under way than the cores need to stay busy."""
        import ray

        gpus = getattr(work, "gpus", 0)
        # Workers keep their process, so that a network is loaded once in each.
        remote = ray.remote(max_retries=0, max_calls=0, num_cpus=0 if gpus else 1, num_gpus=gpus)(
            _do
        )
        attempt = partial(self._attempts, partial(remote.remote, ray.put(work)))
        return whole_or_by_item(work, attempt(batches), attempt)

    def map_items(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Results of all items, which are worked on side by side."""
        return list(self.map_batches(_Single(work), ([item] for item in items)))

    def replicated(
        self,
        kind: Callable[..., Any],
        parts: Sequence[tuple[Any, ...]],
        *,
        name: str | None = None,
        replicas: int = 1,
    ) -> RayReplicas:
        """Actors for each part."""
        return RayReplicas(kind, parts, cores=self.cores, name=name, replicas=replicas)

    def replica_counts(self) -> dict[str, int]:
        """Replicas that can answer, by the name of the application they belong to."""
        from ray.util import list_named_actors

        there = list_named_actors(all_namespaces=True)
        names = [actor["name"] for actor in there if actor["namespace"] == NAMESPACE]
        return dict(Counter(name.partition(":")[0] for name in names))

    def _attempts(self, begin: Begin, batches: Iterable[list[Any]]) -> Attempts:
        source = iter(batches)
        waiting: deque[_Job] = deque()
        try:
            while True:
                room = _BATCHES_A_CORE * self.cores + 1 - len(waiting)
                for _, batch in zip(range(room), source, strict=False):
                    waiting.append(_Job(batch, begin(batch)))
                if not waiting:
                    return
                self._collect(begin, waiting)
                while waiting and waiting[0].ref is None:
                    job = waiting.popleft()
                    yield job.batch, job.result
        finally:
            _cancel([job.ref for job in waiting if job.ref is not None])

    def _collect(self, begin: Begin, waiting: Iterable[_Job]) -> None:
        """Take what is ready, and begin again what a dead worker or node held."""
        import ray
        from ray import exceptions

        under_way = {job.ref: job for job in waiting if job.ref is not None}
        ready, _ = ray.wait(list(under_way), num_returns=1, timeout=_LOOK_AGAIN)
        for ref in ready:
            job = under_way[ref]
            job.ref = None
            try:
                job.result = ray.get(ref)
            except exceptions.RayTaskError as error:
                raise error.cause if isinstance(error.cause, Exception) else error from None
            except exceptions.RayError:
                self.retries += 1
                job.deaths += 1
                if job.deaths < MAX_DEATHS:
                    job.ref = begin(job.batch)


@dataclass
class _Job:
    """A batch under way: ``ref`` is None once it is done, or has ended `MAX_DEATHS` workers."""

    batch: list[Any]
    ref: Any
    deaths: int = 0
    result: Any = DIED


class _Single:
    """Work on one item, for batches that hold one."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self.work = work

    def __call__(self, batch: list[Any]) -> Any:
        return self.work(batch[0])


def _do(work: Callable[[list[Any]], Any], batch: list[Any]) -> Any:
    return work(batch)


def _cancel(under_way: list[Any]) -> None:
    """End what is under way, but for what is done soon: a task that completes in the very moment
    it is cancelled would end this process, by a check of Ray's that fails."""
    import ray

    if under_way and ray.is_initialized():
        for ref in ray.wait(under_way, num_returns=len(under_way), timeout=_SOON_DONE)[1]:
            ray.cancel(ref, force=True)


@contextmanager
def _on_the_loopback() -> Iterator[None]:
    """Let a cluster that is begun meanwhile listen on the loopback only, as Ray does on laptops.

    Whoever sets Ray's own variable decides.
    """
    from ray._private import ray_constants

    name = ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR
    if name in os.environ:
        yield
        return
    before = ray_constants.ENABLE_RAY_CLUSTER
    os.environ[name], ray_constants.ENABLE_RAY_CLUSTER = "0", False
    try:
        yield
    finally:
        del os.environ[name]
        ray_constants.ENABLE_RAY_CLUSTER = before


def _is_running() -> bool:
    """Whether this machine is part of a cluster, or told of one by RAY_ADDRESS."""
    if os.environ.get("RAY_ADDRESS"):
        return True
    from ray._private.services import find_gcs_addresses

    return bool(find_gcs_addresses())
