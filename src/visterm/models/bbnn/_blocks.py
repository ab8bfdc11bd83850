"""Picture vectors as BBNN's network takes them: blocks, each with a last number that is 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from visterm.models.inputs import Vectors, dense, is_sparse


def as_blocks(vectors: Vectors, numbers: int | None, size: float = 1.0) -> NDArray[np.float32]:
    """Pictures × blocks × (numbers + 1), divided by ``size``; what is no block is all zeros.

    >>> as_blocks(np.float32([[2, 0, 0, 0], [4, 0, 0, 6]]), 2)[:, :, -1]
    array([[1., 0.],
           [1., 1.]], dtype=float32)
    """
    plain = dense(vectors)
    numbers = numbers or plain.shape[1]
    blocks = plain.reshape(len(plain), -1, numbers)
    there = np.asarray(blocks.any(axis=2))
    # Room for more blocks than any of these pictures has would only be work.
    most = int(np.flatnonzero(there.any(axis=0)).max(initial=0)) + 1
    padded = np.empty((len(blocks), most, numbers + 1), dtype=np.float32)
    np.divide(blocks[:, :most], np.float32(size), out=padded[:, :, :-1])
    padded[:, :, -1] = there[:, :most]
    return padded


def typical_size(vectors: Vectors) -> float:
    """Root mean square of the numbers; 1 where all are zero.

    >>> typical_size(np.float32([[2, 0], [2, 0], [0, 0], [0, 0]]))
    1.0
    """
    values = vectors.data if is_sparse(vectors) else vectors
    squares = np.square(values, dtype=np.float64).sum()
    return float(np.sqrt(squares / (vectors.shape[0] * vectors.shape[1]))) or 1.0


def some_of(
    there: NDArray[np.bool_], share: float, rng: np.random.Generator
) -> NDArray[np.int64] | None:
    """Numbers of a random share of each picture's blocks, missing ones last; None for all.

    >>> there = np.array([[True, True, True, False]])
    >>> sorted(some_of(there, 0.75, np.random.default_rng(0))[0].tolist())
    [0, 1, 2]
    """
    count = max(1, round(share * there.shape[1]))
    if count == there.shape[1]:
        return None
    order = rng.random(there.shape, dtype=np.float32) + ~there
    return np.argpartition(order, count - 1, axis=1)[:, :count]
