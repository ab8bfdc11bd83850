"""All feature vectors of a collection as one matrix, multiplied by a few directions at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.feature_rows import Rows
from visterm.collection.store.row_places import RowPlaces, row_places
from visterm.collection.store.vector_files import SPARSE, Block
from visterm.compute.row_threads import side_by_side
from visterm.index import Index

Blocks = tuple[tuple[NDArray[np.int64], Block], ...]
"""Segment by segment: the places of the pictures' rows, and the rows."""

_SHARE, _LARGER_SHARE = 1 << 13, 1 << 14
"""Rows that one thread takes at a time; the larger ones leave Python less to do between them."""
_MANY = 1 << 18
"""From so many rows on, larger shares keep all cores busy as well."""


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
        found = np.empty((len(directions), self.rows.places.size), np.float32)

        def keep(some: slice, values: NDArray[np.float32]) -> None:
            found[:, some] = values

        self.multiply(directions, keep)
        ids, order = self.ids, self.rows.order
        if np.array_equal(ids, pictures):
            return found[:, order].T
        at = np.minimum(np.searchsorted(ids, pictures), max(len(ids) - 1, 0))
        values = np.zeros((len(pictures), len(directions)), np.float32)
        here = ids[at] == pictures if len(ids) else np.zeros(len(pictures), bool)
        values[here] = found[:, order[at[here]]].T
        return values

    def multiply(
        self,
        directions: NDArray[np.floating],
        use: Callable[[slice, NDArray[np.float32]], None],
    ) -> None:
        """Read every row once, on all cores, and ``use`` its products while they are in the cache.

        That is given the numbers of some rows that follow each other, and directions × these rows.
        """
        narrow = np.ascontiguousarray(directions, np.float32)
        first, most = 0, _SHARE if self.rows.places.size < _MANY else _LARGER_SHARE
        shares: list[tuple[int, Block, NDArray[np.int64]]] = []
        for places, block in self.blocks:
            shares += [
                (first + begin, block, places[begin : begin + most])
                for begin in range(0, len(places), most)
            ]
            first += len(places)

        def run(share: tuple[int, Block, NDArray[np.int64]]) -> None:
            begin, block, places = share
            found = np.empty((len(narrow), len(places)), np.float32)
            products(block, places, narrow, found)
            use(slice(begin, begin + len(places)), found)

        side_by_side(run, shares)

    def places_in(self, index: Index) -> NDArray[np.int32]:
        """Where each row's picture lies in an index; after all `Index.places` if it does not.

        Remembered for as long as pictures and rows stay where they are.
        """
        known = _PLACED.get(self.rows)
        laid = index.manifest.laid
        if known is not None and known[0] == laid:
            return known[1]
        found = np.full(self.rows.places.size, index.places, np.int32)
        for ids, places in index.placed():
            at = np.minimum(np.searchsorted(self.ids, ids), max(len(self.ids) - 1, 0))
            here = self.ids[at] == ids if len(self.ids) else np.zeros(len(ids), bool)
            found[self.rows.order[at[here]]] = places[here]
        _PLACED[self.rows] = laid, found
        return found


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
_PLACED: WeakKeyDictionary[RowPlaces, tuple[object, NDArray[np.int32]]] = WeakKeyDictionary()


def products(
    block: Block,
    places: NDArray[np.int64],
    directions: NDArray[np.float32],
    found: NDArray[np.float32],
) -> None:
    """Fill ``found`` with the products of some rows of a block, directions × rows."""
    from visterm.collection.feedback import _kernels

    arrays = block.read_only()
    if block.is_coded:
        _kernels.coded_products(arrays["codes"], arrays["scales"], places, directions, found)
    elif block.is_dense:
        _kernels.dense_products(arrays["rows"], places, directions, found)
    else:
        data, indices, starts = (arrays[name] for name in SPARSE)
        _kernels.sparse_products(data, indices, starts, places, directions, found)
