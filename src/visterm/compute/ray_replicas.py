"""Parts of the data as deployments of Ray Serve, which begins a replica anew that has died."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from visterm.compute.replicas import Arguments

PATIENCE = 20.0
"""Seconds until a part that does not answer counts as missing, although it has replicas."""
_LOOK_AGAIN = 0.25
"""Seconds after which an answer that is waited for is given up if its part has no replica left."""
_TRIES = 4
_ALIVE = {"health_check_period_s": 1.0, "health_check_timeout_s": 60.0}
"""A process that dies is noticed at once; one that reads from a cold disk may take its time."""


class RayReplicas:
    """An application of Ray Serve a part: ``kind(*part)`` in each of its replicas.

    Nobody but this process asks them, by handles: there is no proxy, and no port is opened. Ray's
    router turns to another replica where one has died; where a part has none, `ask` gives None.
    """

    def __init__(
        self,
        kind: Callable[..., Any],
        parts: Sequence[Arguments],
        *,
        name: str,
        replicas: int,
        cores: int,
    ) -> None:
        from ray import serve
        from ray.serve.schema import LoggingConfig

        quiet = LoggingConfig(log_level="ERROR", enable_access_log=False)
        logging.getLogger("ray.serve").setLevel(logging.CRITICAL)
        serve.start(proxy_location="Disabled", logging_config=quiet)
        # Half a share of the cores each, so that replicas of a dead node find room on the others.
        share = min(1.0, 0.5 * cores / (len(parts) * replicas))
        deployment = serve.deployment(
            _Replica,
            num_replicas=replicas,
            max_ongoing_requests=64,
            ray_actor_options={"num_cpus": share},
            graceful_shutdown_timeout_s=0.5,
            logging_config=quiet,
            **_ALIVE,
        )
        self._names = [f"{name}-{number}" for number in range(len(parts))]
        self._handles = serve.run_many(
            [
                serve.RunTarget(deployment.bind(kind, part), name=one, route_prefix=None)
                for one, part in zip(self._names, parts, strict=True)
            ]
        )
        self._running = [replicas] * len(parts)
        self._looked = time.monotonic()
        self._looking = threading.Lock()

    def __len__(self) -> int:
        return len(self._handles)

    def ask(self, method: str, arguments: Sequence[Arguments | None]) -> list[Any]:
        """What each part gives; None for those that were not asked or have no replica now."""
        sent = [
            None
            if given is None or not self._has_replica(number)
            else self._send(number, method, given)
            for number, given in enumerate(arguments)
        ]
        return [
            None if one is None or given is None else self._answer(number, one, method, given)
            for number, (one, given) in enumerate(zip(sent, arguments, strict=True))
        ]

    def running(self) -> list[int]:
        """How many replicas of each part can answer now."""
        found = replica_counts()
        return [found.get(name, 0) for name in self._names]

    def close(self) -> None:
        """Take the applications off the cluster."""
        from ray import serve

        for name in self._names:
            with contextlib.suppress(Exception):  # a cluster that has gone has none of them
                serve.delete(name, _blocking=False)

    def _send(self, number: int, method: str, given: Arguments) -> Any:
        return self._handles[number].remote(method, given)

    def _answer(self, number: int, sent: Any, method: str, given: Arguments) -> Any:
        from ray.exceptions import RayError, RayTaskError

        until = time.monotonic() + PATIENCE
        for _ in range(_TRIES):
            try:
                return self._wait(number, sent, until)
            except RayTaskError as error:
                raise error.cause if isinstance(error.cause, Exception) else error from None
            except (RayError, ConnectionError, _rpc_error()):
                sent = self._send(number, method, given)  # it died with its answer
        return None

    def _wait(self, number: int, sent: Any, until: float) -> Any:
        while True:
            try:
                return sent.result(timeout_s=_LOOK_AGAIN)
            except TimeoutError:
                if time.monotonic() > until or not self._has_replica(number, newly=True):
                    sent.cancel()
                    return None

    def _has_replica(self, number: int, *, newly: bool = False) -> bool:
        """Whether a part has somebody to answer; what is known to be there is not asked about."""
        if newly or not self._running[number]:
            with self._looking:
                if time.monotonic() - self._looked > _LOOK_AGAIN:
                    self._running, self._looked = self.running(), time.monotonic()
        return self._running[number] > 0


def replica_counts() -> dict[str, int]:
    """Replicas that can answer, by the name of their application; of all that the cluster runs."""
    from ray import serve
    from ray.serve.exceptions import RayServeException

    try:
        applications = serve.status().applications
    except RayServeException:  # nobody serves anything there
        return {}
    return {
        name: sum(one.replica_states.get("RUNNING", 0) for one in found.deployments.values())
        for name, found in applications.items()
    }


def _rpc_error() -> type[Exception]:
    """What a replica that dies leaves of a call to it."""
    from grpc import RpcError

    return RpcError


def _listen_on_own_address() -> None:
    """Let this replica be reached at its node's address only, which is the loopback of a cluster
    that was begun here: Ray Serve listens on all of them, and unpickles whatever comes."""
    from ray.serve._private import replica
    from ray.util import get_node_ip_address

    own, add_port = get_node_ip_address(), replica.add_port_to_grpc_server
    host = f"[{own}]" if ":" in own else own
    replica.add_port_to_grpc_server = lambda server, address: add_port(
        server, address.replace("[::]", host)
    )


class _Replica:
    """The object of a part, in a process of its own."""

    def __init__(self, kind: Callable[..., Any], part: Arguments) -> None:
        _listen_on_own_address()
        self.kept = kind(*part)

    def __call__(self, method: str, given: Arguments) -> Any:
        return getattr(self.kept, method)(*given)
