"""What BBNN learns from in one step: pairs of a query and an answer, and negatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.text import Relevance
from visterm.text.caption_queries import CaptionQueries

Indices: TypeAlias = "NDArray[np.int64]"


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


class Drawn(NamedTuple):
    """Queries as rows (pairs × T), a picture that answers each, and what tells who else does.

    ``answered`` takes numbers of these queries and of pictures, which broadcast.
    """

    queries: NDArray[np.float32]
    better: NDArray[np.int64]
    answered: Callable[[Indices, Indices], NDArray[np.bool_]]


class Pairs:
    """Draws batches: queries and answers by their source, p⁻ uniform over the other pictures.

    With ``in_batch_negatives``, all pairs of a batch share its p⁻: each pair and p⁻ is a triplet
    drawn as before, only no longer independently, and n pairs make n² triplets of 2n pictures.
    Otherwise each pair has a p⁻ of its own, which is the paper's way.

    Parameters
    ----------
    source : CaptionQueries or Relevance
        Queries drawn from captions, or given ones, each drawn alike.
    captions : csr_array of shape (n, T), optional
        Weighted captions c; the margin is then max(``least``, q·c⁺ − q·c⁻), else it is ``least``.
    """

    def __init__(
        self,
        source: CaptionQueries | Relevance,
        captions: csr_array | None,
        least: float,
        *,
        in_batch_negatives: bool = True,
        seed: int = 0,
    ) -> None:
        self._rng = np.random.default_rng(seed)
        self._source = (
            _Listed(source, self._rng)
            if isinstance(source, Relevance)
            else _FromCaptions(source, seed)
        )
        self.pictures = self._source.pictures
        self._captions, self._least = captions, np.float32(least)
        self._in_batch = in_batch_negatives

    def draw(self, pairs: int) -> Batch:
        """A batch of so many pairs, and as many negatives."""
        queries, better, answered = self._source.draw(pairs)
        worse, number = self._rng.integers(self.pictures, size=pairs), np.arange(pairs)
        if self._in_batch:
            margins = self._margins(queries, better, worse)
            margins[answered(number[:, None], worse)] = -np.inf
        else:
            again = number[answered(number, worse)]
            while len(again):
                worse[again] = self._rng.integers(self.pictures, size=len(again))
                again = again[answered(again, worse[again])]
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


class _FromCaptions:
    """Queries drawn from captions."""

    def __init__(self, queries: CaptionQueries, seed: int) -> None:
        self.pictures, self._queries = queries.pictures, queries
        self._state = np.random.SeedSequence(seed).generate_state(1, np.uint64)

    def draw(self, pairs: int) -> Drawn:
        # numba loads here, not when somebody only wants to map pictures with a fitted model.
        from visterm.text.query_sampler import answered, draw_queries

        t = len(self._queries.idf)
        words = np.full((pairs, self._queries.largest), t, dtype=np.uint32)
        weights = np.zeros(words.shape, dtype=np.float32)
        better = draw_queries(self._queries, self._state, words, weights)
        rows = np.zeros((pairs, t + 1), dtype=np.float32)
        np.put_along_axis(rows, words.astype(np.int64), weights, axis=1)

        def answer(query: Indices, picture: Indices) -> NDArray[np.bool_]:
            query, picture = np.broadcast_arrays(query, picture)
            found = answered(self._queries, words, query.ravel(), picture.ravel())
            return np.asarray(found).reshape(query.shape)

        return Drawn(rows[:, :t], better, answer)


class _Listed:
    """Given queries, each drawn alike; p⁺ uniform over a query's answers."""

    def __init__(self, relevance: Relevance, rng: np.random.Generator) -> None:
        self.pictures = relevance.pictures.shape[1]
        count = relevance.relevant_per_query
        useful = relevance.take(np.flatnonzero((count > 0) & (count < self.pictures)))
        if len(useful) == 0:
            raise BadInput("no query tells pictures apart; give captions that differ")
        self._queries, self._rng = useful.queries, rng
        self._starts = useful.pictures.indptr.astype(np.int64)
        self._answers = useful.pictures.indices.astype(np.int64)
        owner = np.repeat(np.arange(len(useful)), np.diff(self._starts))
        self._known = np.sort(owner * self.pictures + self._answers)

    def draw(self, pairs: int) -> Drawn:
        query = self._rng.integers(self._queries.shape[0], size=pairs)
        first, last = self._starts[query], self._starts[query + 1]
        better = self._answers[first + self._rng.integers(last - first)]

        def answer(number: Indices, picture: Indices) -> NDArray[np.bool_]:
            pair = query[number] * self.pictures + picture
            place = np.searchsorted(self._known, pair).clip(max=len(self._known) - 1)
            return np.asarray(self._known[place] == pair)

        return Drawn(self._queries[query].toarray(), better, answer)
