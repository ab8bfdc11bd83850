"""Parts of the data kept by actors of Ray; one that dies misses a round and comes back."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from visterm.errors import VistermError

_LEAST_GRACE = 10.0
_GRACE = 3.0
"""Once half of the shards are done, the others have so many times as long as those took."""
_ATTEMPTS = 3


class RayShards:
    """An actor a part, begun again from its part where it dies; it ends when nobody holds this."""

    def __init__(
        self, kind: Callable[..., Any], parts: Sequence[tuple[Any, ...]], cores: int
    ) -> None:
        import ray

        # Half a share of the cores each, so that actors of a dead node find room on the others.
        share = min(1.0, 0.5 * cores / len(parts))
        host = ray.remote(_Host).options(
            num_cpus=share, max_restarts=-1, scheduling_strategy="SPREAD"
        )
        self._hosts = [host.remote() for _ in parts]
        self._kind = ray.put(kind)
        self._parts = [[ray.put(one) for one in part] for part in parts]
        self.missed = 0
        """Calls that a shard missed."""

    def __len__(self) -> int:
        return len(self._hosts)

    def call(self, method: str, *arguments: Any) -> list[Any]:
        """What every shard gives; None for those that died or were left behind."""
        import ray

        sent = [ray.put(one) for one in arguments]
        for _ in range(_ATTEMPTS):
            refs = [
                host.call.remote(self._kind, part, method, *sent)
                for host, part in zip(self._hosts, self._parts, strict=True)
            ]
            results = [self._result(ref) for ref in self._ready(refs)]
            self.missed += sum(one is None for one in results)
            if any(one is not None for one in results):
                return results
        raise VistermError("all shards of the cluster died several times; see its logs")

    def _ready(self, refs: list[Any]) -> list[Any | None]:
        """The same references, None in place of those that are far behind the others."""
        import ray

        began = time.monotonic()
        half = (len(refs) + 1) // 2
        done, left = ray.wait(refs, num_returns=half, timeout=None)
        if left:
            grace = max(_LEAST_GRACE, _GRACE * (time.monotonic() - began))
            more, left = ray.wait(left, num_returns=len(left), timeout=grace)
            done += more
        there = set(done)
        return [ref if ref in there else None for ref in refs]

    @staticmethod
    def _result(ref: Any) -> Any:
        import ray
        from ray import exceptions

        if ref is None:
            return None
        try:
            return ray.get(ref)
        except exceptions.RayTaskError as error:
            raise error.cause if isinstance(error.cause, Exception) else error from None
        except exceptions.RayError:
            return None


class _Host:
    """The actor around an object of any class, made of its part when it is first called."""

    def __init__(self) -> None:
        self.shard: Any = None

    def call(self, kind: Callable[..., Any], part: list[Any], method: str, *arguments: Any) -> Any:
        import ray

        if self.shard is None:
            self.shard = kind(*ray.get(part))
        return getattr(self.shard, method)(*arguments)
