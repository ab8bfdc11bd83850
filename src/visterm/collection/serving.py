"""Searches on a cluster: the shards of a collection, as a server begins and ends them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from visterm.collection.search.shard import SearchShard
from visterm.collection.store.snapshot import SharedState
from visterm.compute import cluster, replicated, running_on


@contextmanager
def searching_on(
    ray: str | None, store: Path, *, shards: int | None = None, replicas: int = 2
) -> Iterator[SharedState]:
    """What open objects of a collection share while shards on a cluster answer for it.

    Parameters
    ----------
    ray
        The cluster, as in `Collection.add`; None for this process alone.
    store
        The collection's store, which all nodes must see under the same path.
    shards
        How many parts the pictures are dealt out to; one a node where not given.
    replicas
        How many processes hold each of them.
    """
    if ray is None:
        yield SharedState()
        return
    with running_on(ray):
        where = cluster()
        assert where is not None
        count = shards or where.nodes
        parts = [(True,)] * count
        name = application(store)
        with replicated(SearchShard, parts, name=name, replicas=replicas) as served:
            yield SharedState(replicas=served)


@dataclass(frozen=True)
class ClusterStatus:
    """A cluster, and the shards of a collection that answer on it."""

    nodes: int
    cores: int
    shards: dict[str, int]
    """By the name of a shard, how many replicas of it can answer now; none where nobody serves."""


def cluster_status(ray: str, store: Path) -> ClusterStatus:
    """What a cluster is, and does for a collection, now; none is begun to ask."""
    with running_on(ray, begin=False):
        where = cluster()
        assert where is not None
        name = application(store)
        shards = {one: n for one, n in where.replica_counts().items() if one.startswith(name)}
        return ClusterStatus(where.nodes, where.cores, dict(sorted(shards.items())))


def application(store: Path) -> str:
    """What the applications of a collection are called on a cluster, before their numbers.

    >>> application(Path("/archive/.visterm"))
    'visterm-1a9a4cb7'
    """
    return f"visterm-{hashlib.sha256(str(store).encode()).hexdigest()[:8]}"
