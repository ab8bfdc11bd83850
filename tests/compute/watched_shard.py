"""A shard that says what it is given; by itself, so that a replica loads nothing but its search."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from visterm.collection.search.shard import SearchShard


class WatchedShard(SearchShard):
    """A shard that can be ended from outside."""

    def process(self) -> int:
        return os.getpid()

    def heard_everywhere(self) -> bool:
        """Whether this process listens on all addresses of its machine, as Linux lists them."""
        if not os.path.isdir("/proc/self/net"):
            return False
        own = {os.path.realpath(fd).rpartition("/")[2] for fd in Path("/proc/self/fd").iterdir()}
        tables = [Path(f"/proc/self/net/{kind}").read_text() for kind in ("tcp", "tcp6")]
        rows = [line.split() for table in tables for line in table.splitlines()]
        listening = [row for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in own]
        return any(int(row[1].partition(":")[0], 16) == 0 for row in listening)

    def size(self, array: np.ndarray) -> int:
        return array.nbytes
