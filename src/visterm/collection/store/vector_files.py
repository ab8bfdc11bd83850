"""Picture vectors as plain ``.npy`` files, and what can be done with them without SciPy.

Dense vectors are one array of 32 bits a number, or, where that loses nothing that matters, two: 8
bits a number, and for each vector the smallest number and the step between codes. Sparse ones are
the three arrays of compressed rows.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from visterm.files import write_whole

if TYPE_CHECKING:
    from visterm.features.extractor import Rows as Vectors

SPARSE = ("data", "indices", "indptr")
_TOGETHER = 1 << 11
"""Vectors of 8 bits a number that are decoded together."""


@dataclass(frozen=True)
class Block:
    """Vectors of one segment as they lie on the disk; `arrays` by name, see the module."""

    width: int
    arrays: dict[str, NDArray[Any]]

    @property
    def is_dense(self) -> bool:
        return "indptr" not in self.arrays

    @property
    def is_coded(self) -> bool:
        """Whether the numbers are 8-bit codes."""
        return "codes" in self.arrays

    @cached_property
    def is_ordered(self) -> bool:
        """Whether the indices of each sparse row ascend, as all do that we wrote."""
        if self.is_dense:
            return True
        falls = np.flatnonzero(np.diff(self.arrays["indices"]) <= 0) + 1
        return bool(np.isin(falls, self.arrays["indptr"]).all())

    def __len__(self) -> int:
        if not self.is_dense:
            return len(self.arrays["indptr"]) - 1
        return len(self.arrays["codes" if self.is_coded else "rows"])

    def read_only(self) -> dict[str, NDArray[Any]]:
        """The arrays as files are mapped, so that kernels are compiled for one kind alone."""
        found = {name: np.asarray(array).view() for name, array in self.arrays.items()}
        for array in found.values():
            array.flags.writeable = False
        return found

    def vectors(self, places: NDArray[np.int64] | slice = slice(None)) -> Vectors:
        """Rows, as models and extractors know them."""
        if self.is_coded:
            return decoded(self.arrays["codes"][places], self.arrays["scales"][places])
        if self.is_dense:
            return np.asarray(self.arrays["rows"][places])
        from scipy.sparse import csr_array

        parts = tuple(np.asarray(self.arrays[name]) for name in SPARSE)
        return csr_array(parts, shape=(len(self), self.width))[places]

    def dense(self, places: NDArray[np.int64]) -> NDArray[np.float32]:
        """Some rows with all their numbers, without SciPy."""
        if self.is_dense:
            return np.asarray(self.vectors(places), np.float32)
        rows = [self.row(place) for place in places.tolist()]
        return np.stack(rows) if rows else np.empty((0, self.width), np.float32)

    def row(self, place: int) -> NDArray[np.float32]:
        """One vector, without SciPy."""
        if self.is_dense:
            return np.array(self.vectors(slice(place, place + 1))[0])
        first, stop = self.arrays["indptr"][place : place + 2]
        row = np.zeros(self.width, np.float32)
        row[self.arrays["indices"][first:stop]] = self.arrays["data"][first:stop]
        return row

    def products(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """The inner product of every row with a vector, without SciPy."""
        if self.is_dense:
            return np.concatenate([rows @ vector for rows in self._dense()])
        terms = self.arrays["data"] * vector[self.arrays["indices"]]
        sums = np.concatenate([[0.0], np.cumsum(terms, dtype=np.float64)])
        edges = self.arrays["indptr"]
        return (sums[edges[1:]] - sums[edges[:-1]]).astype(np.float32)

    def lengths(self) -> NDArray[np.float32]:
        """The Euclidean length of every row."""
        if self.is_dense:
            squares = [np.einsum("ij,ij->i", rows, rows) for rows in self._dense()]
            return np.sqrt(np.concatenate(squares))
        sums = np.concatenate([[0.0], np.cumsum(np.square(self.arrays["data"], dtype=np.float64))])
        edges = self.arrays["indptr"]
        return np.sqrt(sums[edges[1:]] - sums[edges[:-1]]).astype(np.float32)

    def _dense(self) -> Iterator[NDArray[np.float32]]:
        """All rows, a few at a time."""
        for first in range(0, max(len(self), 1), _TOGETHER):
            rows = self.vectors(slice(first, first + _TOGETHER))
            assert isinstance(rows, np.ndarray)
            yield rows


def coded(vectors: NDArray[np.float32]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """8-bit codes of vectors, and for each vector its smallest number and the step.

    Coding what was decoded gives the same codes and scales: a step has 16 bits, so that its
    multiples fit into 24.

    >>> codes, scales = coded(np.array([[0.0, 0.1, 0.51]], np.float32))
    >>> codes.tolist(), scales.tolist()
    ([[0, 50, 255]], [[0.0, 0.001999974250793457]])
    """
    low = vectors.min(axis=1, keepdims=True)
    step = ((vectors.max(axis=1, keepdims=True) - low) / 255).astype(np.float32)
    step = ((step.view(np.uint32) + 0x80) & 0xFFFFFF00).view(np.float32)
    codes = np.rint((vectors - low) / np.where(step > 0, step, 1))
    return np.clip(codes, 0, 255).astype(np.uint8), np.concatenate([low, step], axis=1)


def decoded(codes: NDArray[np.uint8], scales: NDArray[np.float32]) -> NDArray[np.float32]:
    """The vectors that are stored: what is exact is so for these.

    >>> decoded(np.array([[0, 50]], np.uint8), np.array([[1, 0.5]], np.float32)).tolist()
    [[1.0, 26.0]]
    """
    vectors = codes.astype(np.float32)
    vectors *= scales[:, 1:]
    vectors += scales[:, :1]
    return vectors


def row_lengths(vectors: Vectors) -> NDArray[np.float64]:
    """The Euclidean length of every row, dense or sparse.

    >>> row_lengths(np.float32([[3, 4], [0, 0]])).tolist()
    [5.0, 0.0]
    """
    if isinstance(vectors, np.ndarray):
        return np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    return np.sqrt(np.asarray(vectors.multiply(vectors).sum(axis=1), np.float64).ravel())


def save(path: Path, array: NDArray[Any]) -> str:
    """Write an array whole; returns the hash of the file."""
    digest = hashlib.sha256()

    def fill(file: BinaryIO) -> None:
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, np.lib.format.header_data_from_array_1_0(array)
        )
        for piece in (header.getbuffer(), array.reshape(-1).view(np.uint8).data):
            file.write(piece)
            digest.update(piece)

    write_whole(path, fill)
    return digest.hexdigest()


def parts_of(vectors: Vectors, *, compact: bool = False) -> dict[str, NDArray[Any]]:
    """The arrays to be stored, by name; ``compact`` ones have 8 bits a number where dense."""
    if isinstance(vectors, np.ndarray):
        rows = np.ascontiguousarray(vectors, np.float32)
        if not compact:
            return {"rows": rows}
        codes, scales = coded(rows)
        return {"codes": codes, "scales": scales}
    return {
        "data": np.asarray(vectors.data, np.float32),
        "indices": np.asarray(vectors.indices, np.int32),
        "indptr": np.asarray(vectors.indptr, np.int64),
    }


def as_stored(vectors: Vectors) -> Block:
    """Vectors as a segment holds them: by their codes, if these say all that there is to them."""
    block = Block(vectors.shape[1], parts_of(vectors, compact=True))
    if block.is_coded and not np.array_equal(block.vectors(), vectors):
        return Block(vectors.shape[1], parts_of(vectors))
    return block


def joined(
    some: Sequence[tuple[Block, NDArray[np.int64]]], *, compact: bool
) -> dict[str, NDArray[Any]]:
    """The arrays of some rows of several blocks together; codes stay as they are, to the bit."""
    if all(block.is_coded for block, _ in some):
        names = ("codes", "scales")
        return {name: np.concatenate([b.arrays[name][at] for b, at in some]) for name in names}
    from visterm.features.extractor import stack_rows

    return parts_of(stack_rows([block.vectors(at) for block, at in some]), compact=compact)
