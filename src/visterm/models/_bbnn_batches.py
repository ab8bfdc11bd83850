"""What BBNN learns from in one step: pairs of a query and an answer, and negatives.

Picture vectors become blocks, each with a last number that is 1 (`as_blocks`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.models.inputs import Vectors, dense, is_sparse
from visterm.text.query_source import QuerySource


class Batch(NamedTuple):
    """Pairs (q, p⁺), and pictures p⁻ that they are compared with.

    Attributes
    ----------
    queries : array of shape (pairs, T)
    shown : numbers of the pictures that occur, each once
    better, worse : where each p⁺ and each p⁻ stands among them
    margins : array of shape (pairs, worse)
        By how much each p⁺ must score above each p⁻; −∞ where it need not.
    """

    queries: NDArray[np.float32]
    shown: NDArray[np.int64]
    better: NDArray[np.int64]
    worse: NDArray[np.int64]
    margins: NDArray[np.float32]


class Pairs:
    """Draws batches: queries and answers by their source, p⁻ uniform over the other pictures.

    With ``in_batch_negatives``, all pairs of a batch share its p⁻: each pair and p⁻ is a triplet
    drawn as before, only no longer independently, and n pairs make n² triplets of 2n pictures.
    Otherwise each pair has a p⁻ of its own, which is the paper's way.

    Parameters
    ----------
    source : QuerySource
        What queries are drawn from.
    words : int
        T, the words of a query vector.
    captions : csr_array of shape (n, T), optional
        Weighted captions c; the margin is then max(``least``, q·c⁺ − q·c⁻), else it is ``least``.
    """

    def __init__(
        self,
        source: QuerySource,
        words: int,
        captions: csr_array | None,
        least: float,
        *,
        in_batch_negatives: bool = True,
        seed: int = 0,
    ) -> None:
        self._rng = np.random.default_rng(seed)
        self._state = np.random.SeedSequence(seed).generate_state(1, np.uint64).astype(np.uint64)
        self._source, self._words, self.pictures = source, words, source.pictures
        self._captions, self._least = captions, np.float32(least)
        self._in_batch = in_batch_negatives

    def draw(self, pairs: int) -> Batch:
        """A batch of so many pairs, and as many negatives."""
        block, own = self._source.draw(self._state, pairs, 0 if self._in_batch else 1)
        queries = np.zeros((pairs, self._words), dtype=np.float32)
        row, column = np.nonzero(np.arange(self._source.largest) < block.sizes[:, None])
        queries[row, block.words[row, column]] = block.weights[row, column]
        better = block.pictures.astype(np.int64)
        if self._in_batch:
            worse = self._rng.integers(self.pictures, size=pairs)
            margins = self._margins(queries, better, worse)
            rows, columns = np.indices((pairs, pairs))
            is_answer = self._source.is_answer(block, rows.ravel(), worse[columns.ravel()])
            margins[is_answer.reshape(pairs, pairs)] = -np.inf
        else:
            worse = own[:, 0].astype(np.int64)
            margins = np.full((pairs, pairs), -np.inf, dtype=np.float32)
            np.fill_diagonal(margins, self._margins(queries, better, worse).diagonal())
        shown, where = np.unique(np.concatenate([better, worse]), return_inverse=True)
        return Batch(queries, shown, where[:pairs], where[pairs:], margins)

    def _margins(
        self, queries: NDArray[np.float32], better: NDArray[np.int64], worse: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        if self._captions is None:
            return np.full((len(better), len(worse)), self._least)
        own = np.einsum("ij,ij->i", queries, self._captions[better].toarray())
        others = queries @ self._captions[worse].toarray().T
        return np.maximum(own[:, None] - others, self._least).astype(np.float32)


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
