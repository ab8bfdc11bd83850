"""All feature vectors of a collection as one matrix, multiplied by a few directions at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.feature_rows import Rows
from visterm.collection.store.row_places import RowPlaces, row_places
from visterm.collection.store.vector_files import SPARSE, Block

Share = TypeVar("Share")
Blocks = tuple[tuple[NDArray[np.int64], Block], ...]
"""Segment by segment: the places of the pictures' rows, and the rows."""

_SHARE = 1 << 13
"""Rows that one thread takes at a time."""


@dataclass(frozen=True, eq=False)
class FeatureMatrix:
    """All vectors of one extractor."""

    rows: RowPlaces
    blocks: Blocks

    @property
    def ids(self) -> NDArray[np.int64]:
        """The pictures, ascending."""
        return self.rows.ids

    def products(
        self, directions: NDArray[np.floating], pictures: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Pictures × directions; a picture without a vector has zeros."""
        narrow = np.ascontiguousarray(directions, np.float32)
        found = np.empty((self.rows.places.size, len(narrow)), np.float32)
        first = 0
        shares = []
        for places, block in self.blocks:
            for begin in range(0, len(places), _SHARE):
                some = places[begin : begin + _SHARE]
                shares.append((block, some, found[first + begin : first + begin + len(some)]))
            first += len(places)
        _all_of(shares, narrow)
        ids, order = self.ids, self.rows.order
        if np.array_equal(ids, pictures):
            return found[order]
        at = np.minimum(np.searchsorted(ids, pictures), max(len(ids) - 1, 0))
        values = np.zeros((len(pictures), len(narrow)), np.float32)
        here = ids[at] == pictures if len(ids) else np.zeros(len(pictures), bool)
        values[here] = found[order[at[here]]]
        return values


def feature_matrix(catalogue: Catalogue, extractor: str) -> FeatureMatrix:
    """The vectors as they lie now; opened once, for as long as their places are remembered."""
    places = row_places(catalogue, extractor)
    blocks = _OPENED.get(places)
    if blocks is None:
        rows = Rows(catalogue, extractor)
        numbers, starts = np.unique(places.segments, return_index=True)
        parts = np.split(places.places, starts[1:]) if numbers.size else []
        blocks = tuple(zip(parts, map(rows.segment, numbers.tolist()), strict=True))
        _OPENED[places] = blocks
    return FeatureMatrix(places, blocks)


_OPENED: WeakKeyDictionary[RowPlaces, Blocks] = WeakKeyDictionary()


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

    arrays = {name: _read_only(array) for name, array in block.arrays.items()}
    if block.is_coded:
        _kernels.coded_products(arrays["codes"], arrays["scales"], places, directions, found)
    elif block.is_dense:
        _kernels.dense_products(arrays["rows"], places, directions, found)
    else:
        data, indices, starts = (arrays[name] for name in SPARSE)
        _kernels.sparse_products(data, indices, starts, places, directions, found)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """The same as files are mapped, so that kernels are compiled for one kind of array alone."""
    found = np.asarray(array).view()
    found.flags.writeable = False
    return found


def n_threads() -> int:
    """How many threads multiply."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
