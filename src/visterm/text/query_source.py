"""What queries are drawn from: a list of them, or captions that make too many to list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.text.caption_queries import (
    AT_MOST,
    CaptionQueries,
    caption_queries,
    checked,
    cumulative,
    shortened,
)
from visterm.text.relevance import Relevance, number_of_sets, word_sets
from visterm.text.weighting import weigh_queries

LISTED = 1 << 20
"""Captions are listed as queries where they hold at most so many word sets; it takes a second."""


class ListedQueries(NamedTuple):
    """Queries and their answers as plain arrays; without ``edges`` each is drawn as often."""

    starts: NDArray[np.int64]
    words: NDArray[np.uint32]
    weights: NDArray[np.float32]
    relevant_starts: NDArray[np.int64]
    relevant: NDArray[np.uint32]
    edges: NDArray[np.float64]


class QueryBlock(NamedTuple):
    """Drawn queries, a row each: words and weights of which the first ``sizes`` count.

    ``numbers`` are those of listed queries, and ``pictures`` an answer to each.
    """

    words: NDArray[np.uint32]
    weights: NDArray[np.float32]
    sizes: NDArray[np.int64]
    numbers: NDArray[np.int64]
    pictures: NDArray[np.uint32]

    @classmethod
    def empty(cls, count: int, largest: int) -> QueryBlock:
        return cls(
            np.empty((count, largest), np.uint32),
            np.empty((count, largest), np.float32),
            np.empty(count, np.int64),
            np.empty(count, np.int64),
            np.empty(count, np.uint32),
        )


class QuerySource(NamedTuple):
    """Queries to draw: one of ``listed`` and ``captions`` is None."""

    listed: ListedQueries | None
    captions: CaptionQueries | None
    pictures: int
    largest: int
    """The most words of a query."""

    def draw(
        self, state: NDArray[np.uint64], count: int, negatives: int
    ) -> tuple[QueryBlock, NDArray[np.uint32]]:
        """The next queries, each with so many pictures that do not answer it.

        The state of the random numbers moves on.
        """
        # numba loads here, not when somebody only wants to map pictures with a fitted model.
        from visterm.text.query_sampler import draw_from_captions, draw_from_list

        block = QueryBlock.empty(count, self.largest)
        worse = np.empty((count, negatives), np.uint32)
        if self.listed is not None:
            draw_from_list(self.listed, self.pictures, state, block, worse)
        else:
            draw_from_captions(self.captions, state, block, worse)
        return block, worse

    def count_answers(self, block: QueryBlock) -> NDArray[np.int64]:
        """How many pictures answer each query."""
        from visterm.text.query_sampler import count_all_answers

        if self.listed is not None:
            return np.diff(self.listed.relevant_starts)[block.numbers]
        return np.asarray(count_all_answers(self.captions, block))

    def is_answer(
        self, block: QueryBlock, rows: NDArray[np.int64], pictures: NDArray[np.integer]
    ) -> NDArray[np.bool_]:
        """Whether each picture answers the query in the row of the block beside it."""
        from visterm.text.query_sampler import are_answers, are_listed

        if self.listed is not None:
            return np.asarray(are_listed(self.listed, block, rows, pictures))
        return np.asarray(are_answers(self.captions, block, rows, pictures))


def listed_source(
    relevance: Relevance, exponent: float = 0, lengths: Sequence[float] | None = None
) -> QuerySource:
    """Given queries, drawn in proportion to c^exponent, where c pictures answer.

    ``lengths`` says how often queries have 1, 2, … words, if not as it comes by the exponent.
    Queries that every picture or none answers cannot rank pictures, and are left out.
    """
    n, count = relevance.pictures.shape[1], relevance.relevant_per_query
    relevance = relevance.take(np.flatnonzero((count > 0) & (count < n)))
    if len(relevance) == 0:
        raise BadInput(
            "no query tells pictures apart: each is answered by every picture or by none; "
            "give captions that differ"
        )
    edges = np.empty((1, 0))  # as often as any other
    if exponent != 0 or lengths is not None:
        shares, sizes = _powers(relevance, exponent), relevance.words_per_query
        if lengths is not None:
            wanted = np.zeros(sizes.max() + 1)
            wanted[1 : len(lengths) + 1] = lengths[: sizes.max()]
            shares *= (wanted / np.maximum(np.bincount(sizes, shares), 1e-9))[sizes]
            if not shares.any():
                raise BadInput(f"no query has as many words as query_lengths ask for: {lengths}")
        edges = cumulative(shares[None])
    pictures = relevance.pictures.sorted_indices()
    listed = ListedQueries(
        starts=relevance.queries.indptr.astype(np.int64),
        words=relevance.queries.indices.astype(np.uint32),
        weights=relevance.queries.data.astype(np.float32),
        relevant_starts=pictures.indptr.astype(np.int64),
        relevant=pictures.indices.astype(np.uint32),
        edges=edges,
    )
    return QuerySource(listed, None, n, int(relevance.words_per_query.max()))


def caption_source(
    captions: csr_array,
    idf: NDArray[np.floating],
    *,
    exponent: float,
    lengths: Sequence[float] | None = None,
    max_words: int | None = None,
) -> QuerySource:
    """Queries that captions answer, drawn as `caption_queries` says; listed once where few.

    >>> captions = csr_array(np.array([[1, 1, 0], [0, 1, 1], [0, 1, 0]]))
    >>> source = caption_source(captions, np.ones(3), exponent=0)
    >>> source.listed.words.tolist()
    [0, 2, 0, 1, 1, 2]
    """
    captions, largest = checked(captions, max_words, lengths)
    if number_of_sets(captions, largest) > LISTED:
        drawn = caption_queries(
            captions, idf, exponent=exponent, lengths=lengths, max_words=max_words
        )
        return QuerySource(None, drawn, drawn.pictures, drawn.largest)
    words, pictures = word_sets(captions, largest)
    if lengths is None and np.diff(captions.indptr).max() > AT_MOST:
        short = Relevance(*word_sets(shortened(captions, AT_MOST), largest))
        mass = np.bincount(short.words_per_query, _powers(short, exponent), largest + 1)
        lengths = mass[1:].tolist() if mass.any() else None
    return listed_source(Relevance(weigh_queries(words, idf), pictures), exponent, lengths)


def _powers(relevance: Relevance, exponent: float) -> NDArray[np.float64]:
    """c^a of each query that c pictures answer, 0 where all do, for such a query ranks none."""
    count = relevance.relevant_per_query
    return np.where(count < relevance.pictures.shape[1], count.astype(np.float64) ** exponent, 0)
