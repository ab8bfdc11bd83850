"""What BBNN learns from in one step: pairs of a query and an answer, and negatives."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.text import Relevance


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
    """Draws batches: q uniform over the queries, p⁺ over its answers, p⁻ over the other pictures.

    With ``in_batch_negatives``, all pairs of a batch share its p⁻: each pair and p⁻ is a triplet
    drawn as before, only no longer independently, and n pairs make n² triplets of 2n pictures.
    Otherwise each pair has a p⁻ of its own, which is the paper's way.

    Parameters
    ----------
    relevance : Relevance
    captions : csr_array of shape (n, T), optional
        Weighted captions c; the margin is then max(``least``, q·c⁺ − q·c⁻), else it is ``least``.
    """

    def __init__(
        self,
        relevance: Relevance,
        captions: csr_array | None,
        least: float,
        *,
        in_batch_negatives: bool = True,
        seed: int = 0,
    ) -> None:
        self.pictures = relevance.pictures.shape[1]
        count = relevance.relevant_per_query
        useful = relevance.take(np.flatnonzero((count > 0) & (count < self.pictures)))
        if len(useful) == 0:
            raise BadInput("no query tells pictures apart; give captions that differ")
        self._queries, self._captions = useful.queries, captions
        self._least, self._in_batch = np.float32(least), in_batch_negatives
        self._starts = useful.pictures.indptr.astype(np.int64)
        self._answers = useful.pictures.indices.astype(np.int64)
        owner = np.repeat(np.arange(len(useful)), np.diff(self._starts))
        self._known = np.sort(owner * self.pictures + self._answers)
        self._rng = np.random.default_rng(seed)

    def draw(self, pairs: int) -> Batch:
        """A batch of so many pairs, and as many negatives."""
        query = self._rng.integers(self._queries.shape[0], size=pairs)
        first, last = self._starts[query], self._starts[query + 1]
        better = self._answers[first + self._rng.integers(last - first)]
        worse = self._rng.integers(self.pictures, size=pairs)
        queries = self._queries[query].toarray()
        if self._in_batch:
            margins = self._margins(queries, better, worse)
            margins[self._answered(query[:, None], worse)] = -np.inf
        else:
            while len(again := np.flatnonzero(self._answered(query, worse))):
                worse[again] = self._rng.integers(self.pictures, size=len(again))
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

    def _answered(self, query: NDArray[np.int64], picture: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether a picture answers a query."""
        pair = query * self.pictures + picture
        place = np.searchsorted(self._known, pair).clip(max=len(self._known) - 1)
        return np.asarray(self._known[place] == pair)
