"""Triplets (q, p⁺, p⁻): drawn straight from captions or relevance, with the margin they keep."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.text import Relevance
from visterm.text.caption_queries import CaptionQueries
from visterm.text.query_sampler import answers, below, count_answers, draw_query


class ListedQueries(NamedTuple):
    """Queries that somebody gave, each drawn as often as any other."""

    starts: NDArray[np.int64]
    words: NDArray[np.uint32]
    weights: NDArray[np.float32]
    relevant_starts: NDArray[np.int64]
    relevant: NDArray[np.int64]


class Margins(NamedTuple):
    """ε = max(least, q·c⁺ − q·c⁻), by vectors c of captions; without their rows it is constant."""

    least: np.float32
    starts: NDArray[np.int64]
    words: NDArray[np.uint32]
    weights: NDArray[np.float32]


class Triplets(NamedTuple):
    """What triplets are drawn from: one of listed queries and captions; the other is None."""

    listed: ListedQueries | None
    captions: CaptionQueries | None
    margins: Margins
    pictures: int
    largest: int
    """The most words of a query."""


class Objective(NamedTuple):
    """Which of several worse pictures a step moves away from, and how far it may go.

    Of ``negatives`` pictures that do not answer, the one with the greatest loss is taken. With
    ``warp``, pictures are drawn only until one has a loss, after N of them say, and the step is at
    most ``C · L(⌊n⁻ / N⌋) / L(n⁻)``: n⁻ pictures do not answer, so about ⌊n⁻ / N⌋ of them stand
    too high, and ``L(k) = Σ_{j ≤ k} 1/j`` cares most about the first ranks.
    """

    negatives: int
    warp: bool
    harmonic: NDArray[np.float32]
    """L(k) for k from 0 to the number of pictures."""


@njit(cache=True, nogil=True)
def draw(listed, captions, state, words, weights):  # type: ignore[no-untyped-def]
    """A query, written into ``words`` and ``weights``, and a picture that answers it.

    Returns (its words, their weights, the listed pictures that answer), and one that does. Every
    query has pictures that do not; those that all answer are never drawn.
    """
    # numba leaves a branch out where what it asks for is None, and only there.
    if captions is not None:
        size, better = draw_query(captions, state, words, weights)
        relevant = captions.by_length[:0]
    if listed is not None:
        query = below(state, len(listed.starts) - 1)
        start = listed.starts[query]
        size = listed.starts[query + 1] - start
        for i in range(size):
            words[i], weights[i] = listed.words[start + i], listed.weights[start + i]
        first, last = listed.relevant_starts[query], listed.relevant_starts[query + 1]
        relevant = listed.relevant[first:last]
        better = relevant[below(state, len(relevant))]
    return (words[:size], weights[:size], relevant), better


@njit(cache=True, nogil=True)
def draw_worse(captions, pictures, words, relevant, state):  # type: ignore[no-untyped-def]
    """A picture that does not answer: it lacks a word, or is not among the relevant ones."""
    while True:
        worse = below(state, pictures)
        if captions is not None:
            if not answers(captions, words, worse):
                return worse
        else:
            place = np.searchsorted(relevant, worse)
            if place == len(relevant) or relevant[place] != worse:
                return worse


@njit(cache=True, nogil=True)
def count_worse(captions, pictures, words, relevant):  # type: ignore[no-untyped-def]
    """How many pictures do not answer."""
    if captions is None:
        return pictures - len(relevant)
    return pictures - count_answers(captions, words, pictures)


@njit(cache=True, nogil=True)
def _caption_score(margins, words, weights, picture):  # type: ignore[no-untyped-def]
    score = np.float32(0)
    own = margins.words[margins.starts[picture] : margins.starts[picture + 1]]
    for i in range(len(words)):
        place = np.searchsorted(own, words[i])
        if place < len(own) and own[place] == words[i]:
            score += weights[i] * margins.weights[margins.starts[picture] + place]
    return score


@njit(cache=True, nogil=True)
def margin(margins, words, weights, better, worse):  # type: ignore[no-untyped-def]
    """By how much the better picture must score above the worse one."""
    if len(margins.starts) == 0:
        return margins.least
    gap = _caption_score(margins, words, weights, better)
    return max(margins.least, gap - _caption_score(margins, words, weights, worse))


def listed_triplets(
    relevance: Relevance, captions: csr_array | None, least_margin: float
) -> Triplets:
    """Triplets of given queries; those that every picture or none answers cannot rank any.

    ``captions`` are those of unit length that margins are made of, if they are not constant.
    """
    n = relevance.pictures.shape[1]
    count = relevance.relevant_per_query
    useful = relevance.take(np.flatnonzero((count > 0) & (count < n)))
    if len(useful) == 0:
        raise BadInput(
            "no query tells pictures apart: each is answered by every picture or by none; "
            "give captions that differ"
        )
    pictures = useful.pictures.copy()
    pictures.sort_indices()
    listed = ListedQueries(
        starts=useful.queries.indptr.astype(np.int64),
        words=useful.queries.indices.astype(np.uint32),
        weights=useful.queries.data.astype(np.float32),
        relevant_starts=pictures.indptr.astype(np.int64),
        relevant=pictures.indices.astype(np.int64),
    )
    largest = int(useful.words_per_query.max())
    return Triplets(listed, None, _margins(captions, least_margin), n, largest)


def caption_triplets(
    queries: CaptionQueries, captions: csr_array | None, least_margin: float
) -> Triplets:
    """Triplets drawn from captions: a picture, some of its words, and a picture that lacks one."""
    margins = _margins(captions, least_margin)
    return Triplets(None, queries, margins, queries.pictures, queries.largest)


def _margins(captions: csr_array | None, least: float) -> Margins:
    if captions is None:
        nothing = np.empty(0, dtype=np.int64)
        words, weights = nothing.astype(np.uint32), nothing.astype(np.float32)
        return Margins(np.float32(least), nothing, words, weights)
    rows = captions.sorted_indices()
    return Margins(
        np.float32(least),
        rows.indptr.astype(np.int64),
        rows.indices.astype(np.uint32),
        rows.data.astype(np.float32),
    )


def objective_of(triplets: Triplets, negatives: int, warp: bool) -> Objective | None:
    """The objective by its parameters; None is the plain one, which looks at one worse picture."""
    if negatives == 1:
        return None  # the first look of WARP, too, may step by all of C
    harmonic = np.cumsum(1 / np.arange(1, triplets.pictures + 1))
    return Objective(negatives, warp, np.concatenate([[0], harmonic]).astype(np.float32))
