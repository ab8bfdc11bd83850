"""All feature vectors of a collection as one matrix, multiplied by a few directions at a time.

Which row belongs to which picture takes longer to ask than to use, so a process remembers it until
a segment comes or goes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.feature_rows import Rows
from visterm.collection.store.vector_files import SPARSE, Block

Share = TypeVar("Share")

_SHARE = 1 << 13
"""Rows that one thread takes at a time."""


@dataclass(frozen=True, eq=False)
class FeatureMatrix:
    """All vectors of one extractor."""

    ids: NDArray[np.int64]
    """The pictures, ascending."""
    order: NDArray[np.int64]
    """For each of them its number among the rows, segment after segment."""
    blocks: tuple[tuple[NDArray[np.int64], Block], ...]
    """Segment by segment: the places of the pictures' rows, and the rows."""

    def products(
        self, directions: NDArray[np.floating], pictures: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Pictures × directions; a picture without a vector has zeros."""
        narrow = np.ascontiguousarray(directions, np.float32)
        total = sum(len(places) for places, _ in self.blocks)
        found = np.empty((total, len(narrow)), np.float32)
        first = 0
        shares = []
        for places, block in self.blocks:
            for begin in range(0, len(places), _SHARE):
                some = places[begin : begin + _SHARE]
                shares.append((block, some, found[first + begin : first + begin + len(some)]))
            first += len(places)
        _all_of(shares, narrow)
        if np.array_equal(self.ids, pictures):
            return found[self.order]
        at = np.minimum(np.searchsorted(self.ids, pictures), max(len(self.ids) - 1, 0))
        values = np.zeros((len(pictures), len(narrow)), np.float32)
        here = self.ids[at] == pictures if len(self.ids) else np.zeros(len(pictures), bool)
        values[here] = found[self.order[at[here]]]
        return values


def feature_matrix(catalogue: Catalogue, extractor: str) -> FeatureMatrix:
    """The vectors as they lie now."""
    key = (str(catalogue.store), os.stat(catalogue.path).st_ino, extractor)
    state = catalogue.db.execute(
        "SELECT coalesce(max(id), 0), count(*) FROM segments WHERE extractor = ?", (extractor,)
    ).fetchone()
    known = _KNOWN.get(key)
    if known is not None and known[0] == state:
        return known[1]
    ids, blocks = [np.empty(0, np.int64)], []
    for numbers, places, block in Rows(catalogue, extractor).blocks():
        ids.append(numbers)
        blocks.append((places, block))
    every = np.concatenate(ids)
    order = np.argsort(every, kind="stable")
    found = FeatureMatrix(every[order], order, tuple(blocks))
    while len(_KNOWN) >= _COLLECTIONS:
        _KNOWN.pop(next(iter(_KNOWN)))
    _KNOWN[key] = (state, found)
    return found


_COLLECTIONS = 4
_KNOWN: dict[tuple[str, int, str], tuple[tuple[int, int], FeatureMatrix]] = {}


def _all_of(
    shares: Sequence[tuple[Block, NDArray[np.int64], NDArray[np.float32]]],
    directions: NDArray[np.float32],
) -> None:
    side_by_side(lambda share: products(share[0], share[1], directions, share[2]), shares)


def side_by_side(run: Callable[[Share], None], shares: Sequence[Share]) -> None:
    """Do something with every share, on all cores; it must let go of Python's lock to gain by it.

    >>> found = []
    >>> side_by_side(found.append, [1])
    >>> found
    [1]
    """
    threads = min(n_threads(), len(shares))
    if threads <= 1:
        list(map(run, shares))
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(run, shares))


def products(
    block: Block,
    places: NDArray[np.int64],
    directions: NDArray[np.float32],
    found: NDArray[np.float32],
) -> None:
    """Fill ``found`` with the products of some rows of a block, rows × directions."""
    from visterm.collection.feedback import _kernels

    arrays = {name: np.asarray(array) for name, array in block.arrays.items()}
    if block.is_coded:
        _kernels.coded_products(arrays["codes"], arrays["scales"], places, directions, found)
    elif block.is_dense:
        _kernels.dense_products(arrays["rows"], places, directions, found)
    else:
        data, indices, starts = (arrays[name] for name in SPARSE)
        _kernels.sparse_products(data, indices, starts, places, directions, found)


def n_threads() -> int:
    """How many threads multiply."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
