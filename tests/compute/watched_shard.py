"""A shard that says what it is given; by itself, so that a replica loads nothing but its search."""

from __future__ import annotations

import os

import numpy as np

from visterm.collection.search.shard import SearchShard


class WatchedShard(SearchShard):
    """A shard that can be ended from outside."""

    def process(self) -> int:
        return os.getpid()

    def size(self, array: np.ndarray) -> int:
        return array.nbytes
