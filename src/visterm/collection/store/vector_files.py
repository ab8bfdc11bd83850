"""Picture vectors as plain ``.npy`` files, and what can be done with them without SciPy.

Dense vectors are one array; sparse ones are the three of compressed rows.
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from visterm.files import write_whole

if TYPE_CHECKING:
    from visterm.features.extractor import Rows as Vectors

SPARSE = ("data", "indices", "indptr")


@dataclass(frozen=True)
class Block:
    """Vectors of one segment as they lie on the disk: an array, or the three of compressed rows."""

    width: int
    arrays: dict[str, NDArray[Any]]

    @property
    def dense(self) -> NDArray[np.float32] | None:
        return self.arrays.get("rows")

    def __len__(self) -> int:
        return len(self.arrays["indptr"]) - 1 if self.dense is None else len(self.dense)

    def vectors(self) -> Vectors:
        """All rows, as models and extractors know them."""
        if self.dense is not None:
            return np.asarray(self.dense)
        from scipy.sparse import csr_array

        parts = tuple(np.asarray(self.arrays[name]) for name in SPARSE)
        return csr_array(parts, shape=(len(self), self.width))

    def row(self, place: int) -> NDArray[np.float32]:
        """One vector, without SciPy."""
        if self.dense is not None:
            return np.array(self.dense[place])
        first, stop = self.arrays["indptr"][place : place + 2]
        row = np.zeros(self.width, np.float32)
        row[self.arrays["indices"][first:stop]] = self.arrays["data"][first:stop]
        return row

    def products(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """The inner product of every row with a vector, without SciPy."""
        if self.dense is not None:
            return np.asarray(self.dense @ vector)
        terms = self.arrays["data"] * vector[self.arrays["indices"]]
        sums = np.concatenate([[0.0], np.cumsum(terms, dtype=np.float64)])
        edges = self.arrays["indptr"]
        return (sums[edges[1:]] - sums[edges[:-1]]).astype(np.float32)

    def lengths(self) -> NDArray[np.float32]:
        """The Euclidean length of every row."""
        if self.dense is not None:
            return np.sqrt(np.einsum("ij,ij->i", self.dense, self.dense))
        squares = np.concatenate(
            [[0.0], np.cumsum(np.square(self.arrays["data"], dtype=np.float64))]
        )
        edges = self.arrays["indptr"]
        return np.sqrt(squares[edges[1:]] - squares[edges[:-1]]).astype(np.float32)


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


def parts_of(vectors: Vectors) -> dict[str, NDArray[Any]]:
    """The arrays to be stored, by name."""
    if isinstance(vectors, np.ndarray):
        return {"rows": np.ascontiguousarray(vectors, np.float32)}
    return {
        "data": np.asarray(vectors.data, np.float32),
        "indices": np.asarray(vectors.indices, np.int32),
        "indptr": np.asarray(vectors.indptr, np.int64),
    }
