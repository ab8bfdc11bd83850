"""Captions as arrays that queries are drawn from, and how often each query is drawn.

A query of n words is drawn in proportion to ``c^a``, c the number of pictures that answer it. No
list of word sets is made: memory grows with captions and words, not with sets of words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import comb

from visterm.errors import BadInput

AT_MOST = 5
"""Of longer captions so many words count when the lengths of queries are derived from captions."""
_BITS_FROM = 256
"""Words that one picture of so many holds have bits; 256 times the words of a caption at most."""
_PROPOSALS = 1 << 14
"""Queries proposed to learn how many of a length are accepted: within about one in a hundred."""


class CaptionQueries(NamedTuple):
    """What `query_sampler` draws from, as plain arrays."""

    pictures: int
    exponent: float
    idf: NDArray[np.float32]
    # The words of each picture, in order, and the pictures that hold each word.
    starts: NDArray[np.int64]
    words: NDArray[np.uint32]
    holder_starts: NDArray[np.int64]
    holders: NDArray[np.uint32]
    # A bit a picture, for words that many hold: quicker to count than a long list of pictures.
    bit_rows: NDArray[np.int32]
    bits: NDArray[np.uint64]
    # Pictures by the length of their captions: where each length begins.
    by_length: NDArray[np.int64]
    length_starts: NDArray[np.int64]
    # Cumulative probabilities, in rows: of a query's number of words, of a single word, and, for
    # each number of words, of the length of the caption that they are taken from.
    size_edges: NDArray[np.float64]
    word_edges: NDArray[np.float64]
    length_edges: NDArray[np.float64]

    @property
    def largest(self) -> int:
        """The most words of a query."""
        return self.size_edges.shape[1]


def caption_queries(
    captions: csr_array,
    idf: NDArray[np.floating],
    *,
    exponent: float,
    lengths: Sequence[float] | None = None,
    max_words: int | None = None,
) -> CaptionQueries:
    """Arrays to draw queries from.

    Parameters
    ----------
    captions : csr_array of shape (n, T)
        Pictures × words, without duplicate or zero entries.
    idf : array of shape (T,)
        Weights of the words in the query vectors.
    exponent : float
        a, from 0 to 1: 0 draws all queries of a length alike, 1 all (query, answer) alike.
    lengths : sequence of float, optional
        How often queries have 1, 2, … words. By default as often as it comes if every query of
        captions of at most five words, drawn from longer ones, is drawn in proportion to ``c^a``.
    max_words : int, optional
        The most words of a query.

    Examples
    --------
    >>> captions = csr_array(np.array([[1, 1, 0], [0, 1, 1], [0, 1, 0]]))
    >>> caption_queries(captions, np.ones(3), exponent=1).size_edges.round(2).tolist()
    [[0.5, 1.0]]
    """
    captions, largest = checked(captions, max_words, lengths)
    if lengths is None:
        shares = _shares(captions, exponent, largest)
    else:
        shares = np.asarray(lengths, dtype=np.float64)[:largest]
        if not shares.any():
            raise BadInput(f"no caption has as many words as query_lengths ask for: {lengths}")
    return _arrays(captions, idf, exponent, shares)


def checked(
    captions: csr_array, max_words: int | None, lengths: Sequence[float] | None
) -> tuple[csr_array, int]:
    """Captions with their words in order, and the most words of a query."""
    if max_words is not None and max_words < 1:
        raise BadInput(f"max_words must be at least 1, not {max_words}")
    captions = captions.tocsr()
    if not captions.has_sorted_indices:
        captions = captions.sorted_indices()
    if not _telling(captions).any():
        raise BadInput(
            "no query tells pictures apart: each is answered by every picture or by none; "
            "give captions that differ"
        )
    longest = int(np.diff(captions.indptr).max())
    largest = longest if max_words is None else min(longest, int(max_words))
    return captions, min(largest, AT_MOST if lengths is None else len(lengths))


def draw_relevance(
    captions: csr_array, max_words: int | None, count: int
) -> tuple[csr_array, csr_array]:
    """At most so many queries, all different and all of a length alike; Q × T words, Q × n answers.

    >>> captions = csr_array(np.array([[1, 1, 0], [0, 1, 1], [0, 1, 0]]))
    >>> words, pictures = draw_relevance(captions, 1, 100)
    >>> words.indices.tolist(), pictures.indices.tolist()
    ([0, 2], [0, 1])
    """
    from visterm.text.query_sampler import draw_from_captions, list_answers
    from visterm.text.query_source import QueryBlock

    n, t = captions.shape
    queries = caption_queries(captions, np.ones(t), exponent=0, max_words=max_words)
    block = QueryBlock.empty(count, queries.largest)
    block.words[:] = t
    draw_from_captions(queries, np.zeros(1, np.uint64), block, np.empty((count, 0), np.uint32))
    words = [row[row < t] for row in np.unique(np.sort(block.words, axis=1), axis=0)]
    return _matrix(words, t), _matrix([list_answers(queries, row) for row in words], n)


def _matrix(rows: Sequence[NDArray[np.integer]], width: int) -> csr_array:
    """Ones in these columns of each row."""
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    columns = np.concatenate(rows).astype(np.int64)
    return csr_array((np.ones(len(columns), np.float32), columns, starts), (len(rows), width))


def _shares(captions: csr_array, exponent: float, largest: int) -> NDArray[np.float64]:
    """How often queries have 1, 2, … words, each drawn in proportion to its answers^exponent."""
    from visterm.text.query_sampler import acceptance

    short = shortened(captions, AT_MOST)
    sizes = np.arange(1, largest + 1)
    counts = np.bincount(np.diff(short.indptr))
    sets = comb(np.arange(len(counts)), sizes[:, None]) @ counts
    singles = _telling(short)
    if exponent == 1 or not singles.any():
        # Sets of words that all captions hold rank no picture.
        everywhere = len(np.unique(short.indices)) - np.count_nonzero(singles)
        useful = sets - short.shape[0] * comb(everywhere, sizes)
        return useful if useful.any() else sets
    drawn = _arrays(short, np.ones(short.shape[1]), exponent, np.ones(largest))
    state = np.zeros(1, dtype=np.uint64)
    accepted = [acceptance(drawn, size, _PROPOSALS, state) for size in sizes[1:]]
    return np.concatenate([[_powers(singles, exponent).sum()], sets[1:] * accepted])


def _telling(captions: csr_array) -> NDArray[np.int64]:
    """How many pictures hold each word; 0 where all do, for such a word ranks none."""
    held = np.bincount(captions.indices, minlength=captions.shape[1])
    return np.where(held < captions.shape[0], held, 0)


def _powers(counts: NDArray[np.int64], exponent: float) -> NDArray[np.float64]:
    return np.where(counts > 0, counts.astype(np.float64) ** exponent, 0)


def shortened(captions: csr_array, most: int) -> csr_array:
    """The same with at most so many words a picture, drawn at random."""
    lengths = np.diff(captions.indptr)
    if lengths.max(initial=0) <= most:
        return captions
    random = np.random.default_rng(0)
    drawn = np.repeat(np.arange(most)[None], len(lengths), axis=0)
    for taken in range(most):  # R. Floyd's way to draw a set, for all long captions at once
        last = lengths - most + taken
        places = random.integers(np.maximum(last, 0) + 1)
        is_met = (drawn[:, :taken] == places[:, None]).any(axis=1)
        drawn[:, taken] = np.where(lengths > most, np.where(is_met, last, places), taken)
    is_there = drawn < lengths[:, None]
    kept = (captions.indptr[:-1, None] + np.sort(drawn, axis=1))[is_there]
    starts = np.concatenate([[0], np.cumsum(np.minimum(lengths, most))])
    return csr_array((captions.data[kept], captions.indices[kept], starts), shape=captions.shape)


def _arrays(
    captions: csr_array, idf: NDArray[np.floating], exponent: float, shares: NDArray[np.float64]
) -> CaptionQueries:
    from visterm.text.query_sampler import set_bits

    n, t = captions.shape
    held = np.bincount(captions.indices, minlength=t)
    by_word = captions.tocsc()
    holder_starts, holders = by_word.indptr.astype(np.int64), by_word.indices.astype(np.uint32)
    with_bits = held >= max(1, n // _BITS_FROM)
    bit_rows = np.where(with_bits, np.cumsum(with_bits) - 1, -1).astype(np.int32)
    bits = np.zeros((int(with_bits.sum()), (n + 63) // 64), dtype=np.uint64)
    set_bits(bits, bit_rows, holder_starts, holders)
    lengths = np.diff(captions.indptr)
    counts = np.bincount(lengths)
    sizes = np.arange(1, len(shares) + 1)[:, None]
    return CaptionQueries(
        pictures=n,
        exponent=float(exponent),
        idf=np.asarray(idf, dtype=np.float32),
        starts=captions.indptr.astype(np.int64),
        words=captions.indices.astype(np.uint32),
        holder_starts=holder_starts,
        holders=holders,
        bit_rows=bit_rows,
        bits=bits,
        by_length=np.argsort(lengths, kind="stable"),
        length_starts=np.concatenate([[0], np.cumsum(counts)]),
        size_edges=cumulative(shares[None]),
        word_edges=cumulative(_powers(_telling(captions), exponent)[None]),
        length_edges=cumulative(comb(np.arange(len(counts)), sizes) * counts),
    )


def cumulative(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cumulative probabilities along the last axis, whose last positive part ends at 1.

    >>> cumulative(np.array([1.0, 3.0, 0.0])).tolist()
    [0.25, 1.0, 1.0]
    """
    total = np.cumsum(shares, axis=-1)
    return np.ascontiguousarray(total / total[..., -1:])
