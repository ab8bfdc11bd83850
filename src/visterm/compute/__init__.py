"""Where work runs: this machine's processes, or a Ray cluster.

Whoever has work for many processes asks here (`map_batches`, `map_items`, `spread`) and gets the
same results wherever it runs; `running_on` says where. Only this package knows Ray, and Ray is
imported only when somebody asks for it.
"""

from visterm.compute.placement import (
    cluster,
    map_batches,
    map_items,
    replicated,
    running_on,
    spread,
)
from visterm.compute.replicas import LocalReplicas, Replicas

__all__ = [
    "LocalReplicas",
    "Replicas",
    "cluster",
    "map_batches",
    "map_items",
    "replicated",
    "running_on",
    "spread",
]
