"""Parts of the data kept by actors of Ray, which begins one anew that has died."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

from visterm.compute import Arguments
from visterm.errors import VistermError

PATIENCE = 20.0
"""Seconds until a part that does not answer a question counts as missing."""
_LEAST_GRACE = 10.0
_GRACE = 3.0
"""Once half of the parts are done with a call, the others have so many times as long as that."""
_ATTEMPTS = 3
NAMESPACE = "visterm"


class RayReplicas:
    """So many actors a part, each with an object ``kind(*part)``; they end with this.

    Actors of named parts can be counted by other drivers (`RayCluster.replica_counts`).
    """

    def __init__(
        self,
        kind: Callable[..., Any],
        parts: Sequence[Arguments],
        *,
        cores: int,
        name: str | None = None,
        replicas: int = 1,
    ) -> None:
        import ray

        # Half a share of the cores each, so that actors of a dead node find room on the others.
        share = min(1.0, 0.5 * cores / (len(parts) * replicas))
        host = ray.remote(_Host)
        where = {"num_cpus": share, "max_restarts": -1, "scheduling_strategy": "SPREAD"}
        self._kind = ray.put(kind)
        self._parts = [[ray.put(argument) for argument in part] for part in parts]
        self._hosts = [
            [host.options(**where, **_named(name, number)).remote() for _ in range(replicas)]
            for number in range(len(parts))
        ]
        self._turn = itertools.count()
        if name is not None:  # whoever serves wants all of them there
            every = [(number, host) for number, same in enumerate(self._hosts) for host in same]
            ray.get([self._send(host, number, "", ()) for number, host in every])

    def __len__(self) -> int:
        return len(self._hosts)

    def ask(self, method: str, arguments: Sequence[Arguments | None]) -> list[Any]:
        """What each part gives; None for those that were not asked or have no actor now."""
        import ray

        turn, until = next(self._turn), time.monotonic() + PATIENCE
        results: list[Any] = [None] * len(self)
        waiting = [number for number, given in enumerate(arguments) if given is not None]
        for attempt in range(max(map(len, self._hosts))):
            refs = {}
            for number in waiting:
                hosts, given = self._hosts[number], arguments[number]
                host = hosts[(turn + attempt) % len(hosts)]
                refs[self._send(host, number, method, given or ())] = number
            left = max(0.0, until - time.monotonic())
            done, _ = ray.wait(list(refs), num_returns=len(refs), timeout=left)
            waiting = []
            for ref in done:
                results[refs[ref]], has_died = _result(ref)
                if has_died:  # it did so with its answer, or before: another one is asked
                    waiting.append(refs[ref])
            if not waiting:
                break
        return results

    def call(self, method: str, *arguments: Any) -> list[Any]:
        """What every part gives; None for those that died or were left far behind the others."""
        import ray

        sent = tuple(ray.put(value) for value in arguments)
        for _ in range(_ATTEMPTS):
            began = time.monotonic()
            refs = [
                self._send(same[0], number, method, sent) for number, same in enumerate(self._hosts)
            ]
            done, left = ray.wait(refs, num_returns=(len(refs) + 1) // 2, timeout=None)
            if left:
                grace = max(_LEAST_GRACE, _GRACE * (time.monotonic() - began))
                done += ray.wait(left, num_returns=len(left), timeout=grace)[0]
            results = [_result(ref)[0] if ref in done else None for ref in refs]
            if any(value is not None for value in results):
                return results
        raise VistermError("all shards of the cluster died several times; see its logs")

    def close(self) -> None:
        """End the actors."""
        import ray

        if ray.is_initialized():  # a cluster that has gone has none of them
            for host in itertools.chain(*self._hosts):
                ray.kill(host)

    def _send(self, host: Any, number: int, method: str, given: Arguments) -> Any:
        return host.call.remote(self._kind, self._parts[number], method, *given)


def _named(name: str | None, number: int) -> dict[str, Any]:
    if name is None:
        return {}
    return {"name": f"{name}-{number}:{os.urandom(4).hex()}", "namespace": NAMESPACE}


def _result(ref: Any) -> tuple[Any, bool]:
    """What came of a call, and whether its actor died instead."""
    import ray
    from ray import exceptions

    try:
        return ray.get(ref), False
    except exceptions.RayTaskError as error:
        raise error.cause if isinstance(error.cause, Exception) else error from None
    except exceptions.RayError:
        return None, True


class _Host:
    """The actor around an object of any class, made of its part when it is first called."""

    def __init__(self) -> None:
        self.kept: Any = None

    def call(self, kind: Callable[..., Any], part: list[Any], method: str, *given: Any) -> Any:
        import ray

        if self.kept is None:
            self.kept = kind(*ray.get(part))
        return getattr(self.kept, method)(*given) if method else None
