"""Values of words computed anew from the stored vectors, where a model is linear.

The value of word t for picture p is ``log σ(i_t + k_t · s)`` with ``s = w_t · p``: this is what an
index without exact values means. The product is added up in double precision in an order of its
own, sixteen sums of every sixteenth number, and rounded once to 32 bits, so that it has the same
bits for one picture as for thousands, in compiled code and without.
"""

from __future__ import annotations

import json
import struct
import sys
import threading
import weakref
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from visterm.calibration.link import Link, log_logistic
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.feature_rows import Rows
from visterm.collection.store.remembered_values import RememberedValues
from visterm.collection.store.vector_files import SPARSE, Block
from visterm.collection.store.versions import MODEL, WORDS, Version
from visterm.compute.row_threads import n_threads, side_by_side
from visterm.errors import VistermError
from visterm.index import Index

_PAMIR = {"pamir": "weights_"}
LANES = 16
_TOGETHER = 1 << 11
_MANY = 1 << 10
"""Products that are worth more than one thread."""
_KERNELS = "visterm.index._kernels"
_FEW = 1 << 18
"""Up to so many products of words and pictures are not worth loading compiled code."""

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]


def open_index(catalogue: Catalogue, version: Version) -> Index:
    """A version's index, which computes the values that it does not keep."""
    values = LinearValues(version)
    values.read_through(catalogue)
    return Index.open(version.index, exact=values)


def linear_weights(version: Version, link: Link | None = None) -> Floats | None:
    """The weights of a version whose values can be computed anew, words × dimensions; else None."""
    if version.space != WORDS or (link or version.link()) is None:
        return None
    found = _weights(version.folder / MODEL)
    return found if found is not None and len(found) == version.words else None


def _weights(path: Path) -> Floats | None:
    """The weights in a model's file, read only when touched; None where it is not linear.

    A file of before does not say so; then it is what PAMIR, alone linear until then, wrote.
    """
    try:
        with path.open("rb") as file:
            (size,) = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(size))
            about = json.loads(header["__metadata__"]["visterm"])
            name = about.get("linear", _PAMIR.get(about["name"]))
            array = header.get(name)
    except (OSError, ValueError, KeyError, struct.error):
        return None
    if array is None or array["dtype"] != "F32" or len(array["shape"]) != 2:
        return None
    return np.memmap(path, "<f4", "r", 8 + size + array["data_offsets"][0], tuple(array["shape"]))


class LocatedRows(Protocol):
    """Vectors, by where they lie; as `Rows`."""

    def located(self, pictures: Ids) -> Ids: ...

    def segment(self, number: int) -> Block: ...


class LinearValues:
    """Computes values anew; one object for all threads, each with a catalogue of its own.

    ``rows`` are the vectors, for whoever has no catalogue.
    """

    def __init__(self, version: Version, rows: LocatedRows | None = None) -> None:
        self.version, self.rows = version, rows
        self._here = threading.local()
        self._blocks: dict[int, Block] = {}
        self._remembered = RememberedValues()
        # Now, while they are there: whoever has a version open answers with it to the end.
        self._link = version.link()
        self._weights = linear_weights(version, self._link)

    @property
    def is_linear(self) -> bool:
        """Whether the version's values can be computed anew."""
        return self._weights is not None

    def read_through(self, catalogue: Catalogue) -> None:
        """Let this thread ask a catalogue where vectors lie."""
        self._here.catalogue = weakref.ref(catalogue)

    def _catalogue(self) -> Catalogue:
        """That of this thread; one of its own where nobody gave it any."""
        given = getattr(self._here, "catalogue", None)
        found = None if given is None else given()
        if found is None:
            found = self._here.own = Catalogue(self.version.store)
            self.read_through(found)
        return found

    def __call__(self, words: Ids, ids: Ids) -> Floats:
        """The values of some words for some pictures; NaN for pictures without a vector.

        They are remembered: one search asks for its best pictures several times, and a picture's
        vector never changes while a version lasts.
        """
        found = self._remembered.of(words, ids)
        new = np.flatnonzero(np.isnan(found).any(axis=1))
        if new.size:
            found[new] = self._computed(words, ids[new])
            self._remembered.keep(words, ids[new], found[new])
        return found

    def _computed(self, words: Ids, ids: Ids) -> Floats:
        weights, link = self._weights, self._link
        if weights is None or link is None:
            raise VistermError(
                f"{self.version.folder / MODEL} lacks the weights; visterm check --repair"
            )
        chosen = weights[words]
        pictures, asked = np.unique(ids, return_inverse=True)  # somebody may ask for one twice
        found = np.full((pictures.size, words.size), np.nan, np.float32)
        rows = self.rows or Rows(self._catalogue(), self.version.extractor)
        located = self._vectors(rows, pictures)

        def multiply(some: slice) -> None:
            for places, block, at in located[some]:
                for first in range(0, at.size, _TOGETHER):
                    part = slice(first, first + _TOGETHER)
                    found[places[part]] = block_products(block, at[part], chosen)

        threads = n_threads() if found.size > _MANY else 1
        side_by_side(multiply, [slice(n, None, threads) for n in range(threads)])
        for first in range(0, pictures.size, _TOGETHER):
            some = slice(first, first + _TOGETHER)
            found[some] = log_logistic(link.odds(words, found[some]))
        return found[asked]

    def _vectors(self, rows: LocatedRows, pictures: Ids) -> list[tuple[Ids, Block, Ids]]:
        """Where ascending pictures lie, segment by segment: their places among these, and there."""
        for attempt in (1, 2):
            try:
                return self._read(rows, pictures)
            except FileNotFoundError as error:  # merged by a writer since we read their names
                self._blocks.clear()
                if attempt == 2:
                    raise VistermError(f"{error.filename} is missing; visterm check") from error
        raise AssertionError("unreachable")

    def _read(self, rows: LocatedRows, pictures: Ids) -> list[tuple[Ids, Block, Ids]]:
        located = rows.located(pictures)
        located = located[np.lexsort((located[:, 2], located[:, 1]))]
        numbers = np.searchsorted(pictures, located[:, 0])
        segments, starts = np.unique(located[:, 1], return_index=True)
        found = []
        edges = [*starts.tolist(), len(located)]
        for segment, first, stop in zip(segments.tolist(), edges, edges[1:], strict=False):
            if segment not in self._blocks:
                self._blocks[segment] = rows.segment(segment)
            found.append((numbers[first:stop], self._blocks[segment], located[first:stop, 2]))
        return found


def block_products(block: Block, places: Ids, weights: Floats) -> Floats:
    """Some rows of a block × words, as the module says; codes and sparse rows as they lie there."""
    is_whole = block.is_dense and not block.is_coded
    if is_whole or not block.is_ordered or not _is_compiled(places.size * len(weights)):
        return products(block.dense(places), weights)
    from visterm.index import _products as kernels

    arrays = block.read_only()
    found = np.empty((places.size, len(weights)), np.float32)
    some = np.ascontiguousarray(places), np.ascontiguousarray(weights), found
    if block.is_coded:
        kernels.coded_lane_products(arrays["codes"], arrays["scales"], *some)
    else:
        data, indices, indptr = (arrays[name] for name in SPARSE)
        kernels.sparse_lane_products(data, indices, indptr, *some)
    return found


def products(vectors: Floats, weights: Floats) -> Floats:
    """Pictures × words, as the module says.

    >>> products(np.float32([[1, 2, 3]]), np.float32([[1, 0, 1], [0, 0.5, 0]])).tolist()
    [[4.0, 1.0]]
    """
    if _is_compiled(len(vectors) * len(weights)):
        from visterm.index._products import lane_products

        found = np.empty((len(vectors), len(weights)), np.float32)
        lane_products(vectors, np.ascontiguousarray(weights), found)
        return found
    sums = np.zeros((len(vectors), len(weights), LANES))
    wide, other = vectors.astype(np.float64), np.asarray(weights, np.float64)
    for first in range(0, vectors.shape[1], LANES):
        some = slice(first, first + LANES)
        terms = wide[:, None, some] * other[None, :, some]
        sums[:, :, : terms.shape[2]] += terms
    lanes = LANES
    while lanes > 1:
        lanes //= 2
        sums = sums[:, :, :lanes] + sums[:, :, lanes:]
    return sums[:, :, 0].astype(np.float32)


def _is_compiled(count: int) -> bool:
    """Whether so many products are left to compiled code."""
    return _KERNELS in sys.modules or count > _FEW
