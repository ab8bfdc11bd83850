"""A Ray cluster of two nodes on this machine, for benchmarks and tests that kill parts of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_SOON = {"health_check_period_ms": 500, "health_check_failure_threshold": 3}
"""A dead node is noticed after a second or two, not after half a minute."""


class RayNodes:
    """Two nodes of one core each, on the loopback."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self._options: dict[str, Any] = {
            "num_cpus": 1,
            "object_store_memory": 100 << 20,
            "include_dashboard": False,
        }
        self._cluster = Cluster(
            initialize_head=True, head_node_args={**self._options, "_system_config": _SOON}
        )
        self._second = self._cluster.add_node(**self._options)

    @property
    def address(self) -> str:
        return str(self._cluster.address)

    def kill_second(self) -> None:
        """SIGKILL to a node and all its workers, as when a machine loses its power."""
        self._cluster.remove_node(self._second, allow_graceful=False)

    def bring_back(self) -> None:
        self._second = self._cluster.add_node(**self._options)

    def shutdown(self) -> None:
        import ray

        ray.shutdown()  # a thread of Ray Serve that was late may have connected once more
        self._cluster.shutdown()


_running: list[RayNodes] = []


@contextmanager
def two_nodes() -> Iterator[RayNodes]:
    """The cluster, for as long as the context lasts; workers import what this process can.

    Inside another such context it is the same one.
    """
    if _running:
        yield _running[0]
        return
    before = dict(os.environ)
    os.environ |= {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # the loopback only
        "RAY_worker_niceness": "0",  # else workers wait until nothing else is to be done here
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    nodes = RayNodes()
    _running.append(nodes)
    try:
        yield nodes
    finally:
        _running.clear()
        nodes.shutdown()
        os.environ.clear()
        os.environ |= before


def child_processes(process: int) -> list[int]:
    """The numbers of all processes that descend from one."""
    found: list[int] = []
    try:
        for task in Path(f"/proc/{process}/task").iterdir():
            found += [int(number) for number in (task / "children").read_text().split()]
    except OSError:
        return found
    return found + [inner for child in found for inner in child_processes(child)]
