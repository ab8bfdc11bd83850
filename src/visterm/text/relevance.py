"""Which pictures answer which queries: the supervision of every ranking model."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput
from visterm.text.weighting import weigh_queries

if TYPE_CHECKING:
    from scipy.sparse import csr_array

VALIDATION_QUERIES = 5_000
"""Enough to choose by: the standard error of AvgP over them is below half a percent."""
# About 5 GB while they are made; Corel's 4,500 captions make under 100,000.
_MOST_SETS = 30_000_000
_SETS_A_QUERY = 20
"""All word sets are listed, and some taken, up to so many for each query that is wanted."""


@dataclass(frozen=True, eq=False)
class Relevance:
    """Queries and the pictures that answer them.

    Attributes
    ----------
    queries : csr_array of shape (Q, T), float32
        Query vectors. Every word of a query has a stored entry, even where its weight is 0.
    pictures : csr_array of shape (Q, n), float32
        Gains: positive where a picture is relevant to a query, absent where it is not.
    """

    queries: csr_array
    pictures: csr_array

    def __post_init__(self) -> None:
        from scipy.sparse import csr_array

        for name in ("queries", "pictures"):  # other layouts would be misread row by row
            object.__setattr__(self, name, csr_array(getattr(self, name)))
        if self.queries.shape[0] != self.pictures.shape[0]:
            raise BadInput(
                f"{self.queries.shape[0]} queries but {self.pictures.shape[0]} rows of "
                "relevant pictures; both need one row per query"
            )
        if self.pictures.nnz and not (self.pictures.data > 0).all():
            raise BadInput("gains must be positive; leave out pictures that are not relevant")

    def __len__(self) -> int:
        return int(self.queries.shape[0])

    @property
    def words_per_query(self) -> NDArray[np.int64]:
        return np.diff(self.queries.indptr).astype(np.int64)

    @property
    def relevant_per_query(self) -> NDArray[np.int64]:
        return np.diff(self.pictures.indptr).astype(np.int64)

    def take(self, chosen: NDArray[np.integer] | NDArray[np.bool_]) -> Relevance:
        """Only the chosen queries."""
        return Relevance(self.queries[chosen], self.pictures[chosen])

    def levels(self) -> Relevance:
        """Graded answers as plain ones: a query stands there once for each gain that it has.

        It is then answered by the pictures of at least that gain, so that what learns from triplets
        ranks pictures of every gain above those of all lower ones. Equal gains change nothing.

        >>> from scipy.sparse import csr_array
        >>> graded = Relevance(csr_array([[1.0]]), csr_array([[3.0, 1.0, 0.0]]))
        >>> graded.levels().pictures.toarray().tolist()
        [[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
        """
        from scipy.sparse import csr_array, vstack

        owner = np.repeat(np.arange(len(self)), np.diff(self.pictures.indptr))
        columns, gains = self.pictures.indices, self.pictures.data
        queries, answers = [], []
        for gain in np.unique(gains):
            having, at_least = np.unique(owner[gains == gain]), gains >= gain
            ones = np.ones(int(at_least.sum()), np.float32)
            places = owner[at_least], columns[at_least]
            queries.append(self.queries[having])
            answers.append(csr_array((ones, places), shape=self.pictures.shape)[having])
        if not queries:
            return self
        return Relevance(vstack(queries, format="csr"), vstack(answers, format="csr"))


def relevance_from_captions(
    captions: csr_array,
    idf: NDArray[np.floating],
    *,
    max_words: int | None = None,
    max_queries: int | None = None,
) -> Relevance:
    """Every set of words that some caption holds is a query, answered by the captions that hold it.

    Parameters
    ----------
    captions : csr_array of shape (n, T)
        Pictures × words; an entry means that the caption holds the word.
    idf : array of shape (T,)
        Weights of the words in the query vectors.
    max_words : int, optional
        Largest query; a caption of m words makes 2^m − 1 queries without it.
    max_queries : int, optional
        If there are more queries, so many of them are drawn, always the same ones. Where they are
        far too many to be listed, they are drawn by their number of words first, as if no caption
        had more than five (`caption_queries`), and then each alike.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> captions = csr_array(np.array([[1, 1, 0], [0, 1, 1], [0, 1, 0]]))
    >>> relevance = relevance_from_captions(captions, np.ones(3))
    >>> len(relevance), relevance.pictures.sum(axis=1).tolist()
    (5, [1.0, 3.0, 1.0, 1.0, 1.0])
    """
    captions = captions.tocsr(copy=True)
    captions.sum_duplicates()
    captions.eliminate_zeros()
    if max_words is not None and max_words < 1:
        raise BadInput(f"max_words must be at least 1, not {max_words}")
    sets = number_of_sets(captions, max_words)
    if max_queries is not None and sets > _SETS_A_QUERY * max_queries:
        from visterm.text.caption_queries import draw_relevance

        words, pictures = draw_relevance(captions, max_words, max_queries)
        return Relevance(weigh_queries(words, idf), pictures)
    if sets > _MOST_SETS:
        raise BadInput(
            f"captions of up to {np.diff(captions.indptr).max()} words make {sets:,} word sets, "
            "too many to list; max_queries=10000 draws so many of them"
        )
    words, pictures = word_sets(captions, max_words)
    relevance = Relevance(weigh_queries(words, idf), pictures)
    if max_queries is None or len(relevance) <= max_queries:
        return relevance
    chosen = np.random.default_rng(0).choice(len(relevance), max_queries, replace=False)
    return relevance.take(np.sort(chosen))


def word_sets(captions: csr_array, max_words: int | None) -> tuple[csr_array, csr_array]:
    """All word sets, smallest first, as Q × T words and Q × n pictures.

    Sets grow by one later word a level. A set of size s + 1 is its first s words (already numbered
    on the level below) and one more word, so one sorted integer key names it: no tuple is built.
    """
    from scipy.sparse import csr_array

    n, t = captions.shape
    starts, words_of = captions.indptr.astype(np.int64), captions.indices.astype(np.int64)
    position = np.arange(captions.nnz)  # where in words_of the set's last word stands
    picture = np.repeat(np.arange(n), np.diff(starts))
    members, prefix = np.empty((1, 0), dtype=np.int64), np.zeros(captions.nnz, dtype=np.int64)
    all_members: list[NDArray[np.int64]] = []
    blocks: list[csr_array] = []
    size = 0
    while len(position) and (max_words is None or size < max_words):
        size += 1
        keys, number = np.unique(prefix * t + words_of[position], return_inverse=True)
        members = np.column_stack([members[keys // t], keys % t])
        all_members.append(members)
        ones = np.ones(len(picture), dtype=np.float32)
        blocks.append(csr_array((ones, (number, picture)), shape=(len(keys), n)))
        later = starts[picture + 1] - position - 1
        grown = np.repeat(np.arange(len(position)), later)
        step = np.arange(len(grown)) - np.repeat(np.cumsum(later) - later, later)
        position, picture, prefix = position[grown] + 1 + step, picture[grown], number[grown]
    return _stack_words(all_members, t), _stack_pictures(blocks, n)


def number_of_sets(captions: csr_array, max_words: int | None) -> int:
    """How many word sets captions hold, those that several hold counted often."""
    total = 0
    lengths, counts = np.unique(np.diff(captions.indptr), return_counts=True)
    for length, count in zip(lengths.tolist(), counts.tolist(), strict=True):
        largest = length if max_words is None else min(length, max_words)
        total += count * sum(comb(length, size) for size in range(1, largest + 1))
    return total


def _stack_words(members: list[NDArray[np.int64]], t: int) -> csr_array:
    from scipy.sparse import csr_array

    sizes = np.concatenate([[0], *(np.full(len(m), m.shape[1]) for m in members)])
    indices = np.concatenate([np.empty(0, np.int64), *(m.ravel() for m in members)])
    values = np.ones(len(indices), dtype=np.float32)
    return csr_array((values, indices, np.cumsum(sizes)), shape=(len(sizes) - 1, t))


def _stack_pictures(blocks: list[csr_array], n: int) -> csr_array:
    from scipy.sparse import csr_array, vstack

    if not blocks:
        return csr_array((0, n), dtype=np.float32)
    return csr_array(vstack(blocks, format="csr"))
