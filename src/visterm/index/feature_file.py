"""The feature rows of one extractor in files that only grow: 8 bits a number, or sparse.

A row never moves: its position is its number for good, and columns are arrays over positions.
Writers append rows, sync them, and then commit how many there are; what lies behind that is what a
killed writer left, and is written over.

========= ===================== ====================================================================
ids       int64 a row           the picture
codes     uint8 a number        dense rows: ``low + step * code``
scales    2 float32 a row       … low and step
ends      int64 a row           sparse rows: where its numbers end
indices   int32 a number        … their dimensions, ascending in a row
data      float32 a number      … the numbers
========= ===================== ====================================================================
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import VistermError
from visterm.files import append_synced, make_folder
from visterm.index.codes import ODDS_STEPS, Codes, codes_of_odds
from visterm.quick_dataclass import dataclass
from visterm.threads import side_by_side

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from visterm.features.extractor import Rows as Vectors

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]

DENSE, SPARSE = "dense", "sparse"
_FILES: dict[str, dict[str, tuple[str, int]]] = {
    DENSE: {"ids": ("<i8", 1), "codes": ("u1", 0), "scales": ("<f4", 2)},
    SPARSE: {"ids": ("<i8", 1), "ends": ("<i8", 1), "indices": ("<i4", 0), "data": ("<f4", 0)},
}
"""Kinds of numbers by file, and how many a row; 0 where that is not the same for all layouts."""
ROWS_AT_ONCE = 1 << 13
"""Rows that one thread multiplies at a time."""
_COMPILED_FROM = {"loaded_from": 1 << 22, "cold_from": 1 << 27}
"""Products of numbers that compiled loops add up."""
_is_loaded = False
_SPARSE_STEPS = 1 << 15
_SPARSE_LARGEST = 1 << 20


@dataclass(frozen=True, eq=False)
class WholeVectors:
    """Vectors in whole numbers, ``unit * numbers``, so that products with rows are exact."""

    numbers: NDArray[np.int32]
    units: Floats

    @classmethod
    def of(cls, vectors: NDArray[np.floating], largest: int) -> WholeVectors:
        highest = np.abs(vectors).max(axis=1, initial=0.0).astype(np.float64)
        units = np.where(highest > 0, highest, 1.0) / largest
        return cls(np.rint(vectors / units[:, None]).astype(np.int32), units)


@dataclass(frozen=True, eq=False)
class FeatureFile:
    """``count`` rows in a folder, from the ``start`` on, of ``width`` numbers each.

    Nothing is read before it is asked for. Positions count from the start.
    """

    folder: Path
    layout: str
    width: int
    count: int
    start: int = 0

    def __len__(self) -> int:
        return self.count

    @cached_property
    def ids(self) -> Ids:
        """The picture of every row."""
        return self._map("ids", self.start + self.count)[self.start :]

    def first(self, count: int) -> FeatureFile:
        """The same file with fewer rows."""
        return FeatureFile(self.folder, self.layout, self.width, count)

    def part(self, start: int, stop: int) -> FeatureFile:
        """The rows between two positions, not opened yet."""
        return FeatureFile(self.folder, self.layout, self.width, stop - start, self.start + start)

    def at(self, positions: Ids) -> FeatureFile:
        """Some of the rows, in memory."""
        return in_memory(self.vectors(positions))

    # What rows are.

    def vectors(self, positions: Ids | slice = slice(None)) -> Vectors:
        """Rows as models and extractors take them."""
        if self.layout == DENSE:
            return decoded(self._codes[positions], self._scales[positions])
        return self._sparse()[positions]

    def dense(self, positions: Ids) -> NDArray[np.float32]:
        """Rows with all their numbers."""
        rows = self.vectors(positions)
        return rows if isinstance(rows, np.ndarray) else rows.toarray()

    def lengths(self) -> Floats:
        """The Euclidean length of every row."""
        squares = np.empty(self.count)

        def run(part: slice) -> None:
            rows = self.vectors(part)
            if isinstance(rows, np.ndarray):
                squares[part] = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
            else:
                squares[part] = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()

        side_by_side(run, self.parts())
        return np.sqrt(squares)

    # Products with vectors.

    def products(self, vectors: NDArray[np.floating], first: int = 0) -> NDArray[np.float64]:
        """Vectors × rows from the ``first`` on; a product depends on its row and vector alone."""
        products = np.empty((len(vectors), self.count - first))

        def keep(part: slice, values: Floats) -> None:
            products[:, part.start - first : part.stop - first] = values

        self.multiply(vectors, keep, first)
        return products

    def multiply(
        self, vectors: NDArray[np.floating], use: Callable[[slice, Floats], None], first: int = 0
    ) -> None:
        """Read every row once, on all cores, and ``use`` its products while they are in the cache.

        That is given positions that follow each other, and vectors × these rows.
        """
        whole = WholeVectors.of(vectors, self._largest)
        totals = self._dense_totals(whole, first) if self.layout == DENSE else self._sparse_totals
        side_by_side(lambda part: use(part, totals(whole, part)), self.parts(first))

    @property
    def _largest(self) -> int:
        """What products with rows are sure to have room for."""
        if self.layout == SPARSE:
            return _SPARSE_LARGEST
        return min((1 << 31) // (255 * max(self.width, 1)), (1 << 15) - 1)

    def code_odds(
        self, vectors: NDArray[np.floating], biases: Floats, codes: Codes, first: int = 0
    ) -> bool:
        """``codes[:] = odds_codes(biases + products)`` of rows from the ``first`` on, by a compiled
        loop that reads every row once; whether these rows are worth it."""
        products = (self.count - first) * self.width * len(vectors)
        if self.layout == SPARSE or not is_worth(products, **_COMPILED_FROM):
            return False
        from visterm.index._kernels import column_codes

        whole = WholeVectors.of(vectors, self._largest)
        narrow = whole.numbers.astype(np.int16)
        sums = whole.numbers.sum(axis=1, dtype=np.int64).astype(np.float64)
        given = (narrow, whole.units, sums, biases, codes_of_odds(), float(ODDS_STEPS))

        def run(part: slice) -> None:
            column_codes(self._codes[part], self._scales[part], *given, codes, part.start - first)

        side_by_side(run, self.parts(first))
        return True

    def _dense_totals(
        self, whole: WholeVectors, first: int
    ) -> Callable[[WholeVectors, slice], Floats]:
        sums = whole.numbers.sum(axis=1, dtype=np.int64)[:, None].astype(np.float64)
        units = whole.units[:, None]
        products = (self.count - first) * self.width * len(whole.numbers)
        if is_worth(products, **_COMPILED_FROM):
            from visterm.index._kernels import dense_products

            narrow = whole.numbers.astype(np.int16)

            def multiplied(part: slice) -> Floats:
                totals = np.empty((len(narrow), part.stop - part.start), np.int32)
                dense_products(self._codes[part], narrow, totals)
                return totals.astype(np.float64)
        else:
            wide = whole.numbers.astype(np.float64)

            def multiplied(part: slice) -> Floats:  # whole numbers below 2^53 are exact
                return wide @ self._codes[part].T.astype(np.float64)

        def totals(_: WholeVectors, part: slice) -> Floats:
            scales = self._scales[part].astype(np.float64)
            return units * (scales[:, 0] * sums + scales[:, 1] * multiplied(part))

        return totals

    def _sparse_totals(self, whole: WholeVectors, part: slice) -> Floats:
        edges = self._edges[part.start : part.stop + 1]
        inside = slice(int(edges[0]), int(edges[-1]))
        data = np.rint(self._data[inside].astype(np.float64) * _SPARSE_STEPS).astype(np.int64)
        indices = self._indices[inside]
        totals = np.empty((len(whole.numbers), part.stop - part.start))
        for number, vector in enumerate(whole.numbers.astype(np.int64)):
            sums = np.concatenate([[0], np.cumsum(data * vector[indices])])
            totals[number] = np.diff(sums[edges - edges[0]])
        return totals * (whole.units / _SPARSE_STEPS)[:, None]

    def parts(self, first: int = 0) -> list[slice]:
        """All positions from the ``first`` on, so many at a time as one thread multiplies."""
        starts = range(first, self.count, ROWS_AT_ONCE)
        return [slice(start, min(start + ROWS_AT_ONCE, self.count)) for start in starts]

    # Files.

    def append(self, vectors: Vectors) -> dict[str, str]:
        """Write rows behind the others; returns the hash of what was written to each file.

        Nobody sees them before `append_ids` has said whose they are, and the caller has committed
        the new `count`.
        """
        arrays = _stored(vectors)
        if self.layout == SPARSE:
            arrays["ends"] = arrays["ends"] + self._numbers
        return self._appended(arrays)

    def append_ids(self, pictures: Sequence[int]) -> dict[str, str]:
        """Write whose rows were appended; returns the hash."""
        return self._appended({"ids": np.asarray(pictures, "<i8")})

    def _appended(self, arrays: dict[str, NDArray[Any]]) -> dict[str, str]:
        make_folder(self.folder)
        hashes = {}
        for name, array in arrays.items():
            content = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
            append_synced(self.folder / name, self._size(name, self.count), content)
            hashes[name] = hashlib.sha256(content).hexdigest()
        return hashes

    def hashes(self, first: int) -> dict[str, str]:
        """The hashes of the rows from the ``first`` on, as `append` gave them; "" if too short."""
        found = {}
        for name in _FILES[self.layout]:
            begin, end = self.first(first)._size(name, first), self._size(name, self.count)
            with (self.folder / name).open("rb") as file:
                file.seek(begin)
                content = file.read(end - begin)
            found[name] = hashlib.sha256(content).hexdigest() if len(content) == end - begin else ""
        return found

    @cached_property
    def _codes(self) -> NDArray[np.uint8]:
        end = self.start + self.count
        return self._map("codes", end * self.width).reshape(end, self.width)[self.start :]

    @cached_property
    def _scales(self) -> NDArray[np.float32]:
        end = self.start + self.count
        return self._map("scales", 2 * end).reshape(end, 2)[self.start :]

    @cached_property
    def _edges(self) -> Ids:
        ends = self._map("ends", self.start + self.count)
        return np.concatenate([[0], ends])[self.start :]

    @cached_property
    def _indices(self) -> NDArray[np.int32]:
        return self._map("indices", self._numbers)

    @cached_property
    def _data(self) -> NDArray[np.float32]:
        return self._map("data", self._numbers)

    @property
    def _numbers(self) -> int:
        """How many numbers all sparse rows have, up to the last."""
        return int(self._edges[-1])

    def _sparse(self) -> csr_array:
        from scipy.sparse import csr_array

        first = int(self._edges[0])
        parts = (self._data[first:], self._indices[first:], self._edges - first)
        return csr_array(parts, shape=(self.count, self.width))

    def _size(self, name: str, count: int) -> int:
        """The bytes of so many rows in a file."""
        kind, numbers = _FILES[self.layout][name]
        if numbers:
            total = count * numbers
        else:
            total = count * self.width if name == "codes" else self._numbers
        return total * np.dtype(kind).itemsize

    def _map(self, name: str, numbers: int) -> NDArray[Any]:
        kind = np.dtype(_FILES[self.layout][name][0])
        if not numbers:
            return np.empty(0, kind)
        path = self.folder / name
        try:
            return np.asarray(np.memmap(path, kind, "r", shape=(numbers,)))
        except FileNotFoundError:
            raise
        except (OSError, ValueError) as error:
            raise VistermError(f"{path} is damaged ({error}); visterm check --repair") from error


def in_memory(vectors: Vectors) -> FeatureFile:
    """Rows as they would be stored, that are in no file."""
    rows, width = vectors.shape
    made = FeatureFile(Path(), layout_of(vectors), int(width), int(rows))
    arrays = _stored(vectors)
    if made.layout == SPARSE:
        made.__dict__["_edges"] = np.concatenate([[0], arrays.pop("ends")])
    for name, array in arrays.items():
        array.flags.writeable = False  # as files are mapped
        made.__dict__[f"_{name}"] = array
    return made


def only_ids(pictures: Ids) -> FeatureFile:
    """Rows of no numbers, of pictures that nobody has described."""
    made = in_memory(np.empty((len(pictures), 0), np.float32))
    made.__dict__["ids"] = pictures
    return made


def coded(vectors: NDArray[np.float32]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """8-bit codes of vectors, and for each vector its smallest number and the step.

    Coding what was decoded gives the same codes and scales: a step has 16 bits, so that its
    multiples fit into 24.

    >>> codes, scales = coded(np.array([[0.0, 0.1, 0.51]], np.float32))
    >>> codes.tolist(), scales.tolist()
    ([[0, 50, 255]], [[0.0, 0.001999974250793457]])
    """
    low = vectors.min(axis=1, keepdims=True, initial=np.inf)
    low = np.where(np.isfinite(low), low, 0).astype(np.float32)
    step = ((vectors.max(axis=1, keepdims=True, initial=0) - low) / 255).astype(np.float32)
    step = ((step.view(np.uint32) + 0x80) & 0xFFFFFF00).view(np.float32)
    codes = np.rint((vectors - low) / np.where(step > 0, step, 1))
    return np.clip(codes, 0, 255).astype(np.uint8), np.concatenate([low, step], axis=1)


def decoded(codes: NDArray[np.uint8], scales: NDArray[np.float32]) -> NDArray[np.float32]:
    """The vectors that are stored.

    >>> decoded(np.array([[0, 50]], np.uint8), np.array([[1, 0.5]], np.float32)).tolist()
    [[1.0, 26.0]]
    """
    vectors = codes.astype(np.float32)
    vectors *= scales[:, 1:]
    vectors += scales[:, :1]
    return vectors


def layout_of(vectors: Vectors) -> str:
    """How vectors are stored."""
    return DENSE if isinstance(vectors, np.ndarray) else SPARSE


def _stored(vectors: Vectors) -> dict[str, NDArray[Any]]:
    """The arrays of vectors, by file."""
    if isinstance(vectors, np.ndarray):
        codes, scales = coded(np.ascontiguousarray(vectors, np.float32))
        return {"codes": codes, "scales": scales}
    rows = vectors.tocsr()
    rows.sort_indices()
    return {
        "ends": rows.indptr[1:].astype("<i8"),
        "indices": rows.indices.astype("<i4"),
        "data": rows.data.astype("<f4"),
    }


def is_worth(values: int, *, loaded_from: int, cold_from: int) -> bool:
    """Whether so many values are left to compiled loops.

    Loading these takes as long as NumPy takes for a hundred million values, half a second. A server
    has them loaded before it answers (`prepare`); a command computes small things by NumPy.

    ``loaded_from`` is from how many on they are sooner done once these are loaded, ``cold_from``
    for how many NumPy takes as long as loading.
    """
    if values >= cold_from:
        prepare()
    return _is_loaded and values >= loaded_from


def prepare() -> None:
    """Load the compiled loops now, so that no search waits for them."""
    global _is_loaded
    if _is_loaded:
        return
    from visterm.index import _kernels

    table, maxima, counts = np.zeros(1, np.float32), np.zeros(1, np.float32), np.zeros(0, np.int64)
    none = np.zeros((0, 3), np.int64)
    given = (table, 0, none, table[:0], none, table[:0])
    _kernels.add_up(0, 0, *given, 0, table[:0], table, maxima, counts)
    rows, scales = np.zeros((1, 1), np.uint8), np.ones((1, 2), np.float32)
    rows.flags.writeable = scales.flags.writeable = False  # as files are mapped
    weights, ones = np.zeros((1, 1), np.int16), np.ones(1)
    _kernels.dense_products(rows, weights, np.zeros((1, 1), np.int32))
    codes = np.zeros((1, 1), np.uint16)
    _kernels.column_codes(rows, scales, weights, ones, ones, ones, codes[0], 1.0, codes, 0)
    _is_loaded = True
