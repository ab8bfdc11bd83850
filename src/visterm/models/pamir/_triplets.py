"""Triplets (q, p⁺, p⁻): drawn straight from relevance, with the margin they must keep."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.text import Relevance


class Triplets(NamedTuple):
    """What triplets are drawn from, and the margin they must keep, as plain arrays."""

    query_starts: NDArray[np.int64]
    query_words: NDArray[np.uint32]
    query_weights: NDArray[np.float32]
    relevant_starts: NDArray[np.int64]
    relevant: NDArray[np.int64]
    pictures: int
    # Caption vectors, for the margin ε = max(least, q·c⁺ − q·c⁻); no rows: ε is constant.
    caption_starts: NDArray[np.int64]
    caption_words: NDArray[np.uint32]
    caption_weights: NDArray[np.float32]
    least_margin: np.float32


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


@njit(inline="always")
def _random(state):  # type: ignore[no-untyped-def]
    """SplitMix64: the whole state is one counter, so that a fit can be repeated and resumed."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(inline="always")
def below(state, n):  # type: ignore[no-untyped-def]
    return np.int64(((_random(state) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@njit(inline="always")
def draw_worse(triplets, first, last, state):  # type: ignore[no-untyped-def]
    """A picture that is not among the relevant ones from first to last."""
    while True:
        worse = below(state, triplets.pictures)
        place = first + np.searchsorted(triplets.relevant[first:last], worse)
        if place == last or triplets.relevant[place] != worse:
            return worse


@njit(cache=True, nogil=True)
def draw(triplets, state):  # type: ignore[no-untyped-def]
    """A query, a picture that answers it and one that does not, each uniform.

    Every query must have both kinds; `Pamir` drops those that do not before it starts.
    """
    query = below(state, len(triplets.query_starts) - 1)
    first, last = triplets.relevant_starts[query], triplets.relevant_starts[query + 1]
    better = triplets.relevant[first + below(state, last - first)]
    return query, better, draw_worse(triplets, first, last, state)


@njit(cache=True, nogil=True)
def _caption_score(triplets, query, picture):  # type: ignore[no-untyped-def]
    score = np.float32(0)
    for i in range(triplets.query_starts[query], triplets.query_starts[query + 1]):
        word = triplets.query_words[i]
        for j in range(triplets.caption_starts[picture], triplets.caption_starts[picture + 1]):
            if triplets.caption_words[j] == word:
                score += triplets.query_weights[i] * triplets.caption_weights[j]
    return score


@njit(cache=True, nogil=True)
def margin(triplets, query, better, worse):  # type: ignore[no-untyped-def]
    if len(triplets.caption_starts) == 0:
        return triplets.least_margin
    gap = _caption_score(triplets, query, better) - _caption_score(triplets, query, worse)
    return max(triplets.least_margin, gap)


def triplets_of(relevance: Relevance, captions: csr_array | None, least_margin: float) -> Triplets:
    """Arrays to draw triplets from; queries that every picture or none answers cannot rank any."""
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
    margins = captions if captions is not None else csr_array((0, 1), dtype=np.float32)
    return Triplets(
        query_starts=useful.queries.indptr.astype(np.int64),
        query_words=useful.queries.indices.astype(np.uint32),
        query_weights=useful.queries.data.astype(np.float32),
        relevant_starts=pictures.indptr.astype(np.int64),
        relevant=pictures.indices.astype(np.int64),
        pictures=n,
        caption_starts=margins.indptr.astype(np.int64)[: None if captions is not None else 0],
        caption_words=margins.indices.astype(np.uint32),
        caption_weights=margins.data.astype(np.float32),
        least_margin=np.float32(least_margin),
    )


def objective_of(triplets: Triplets, negatives: int, warp: bool) -> Objective | None:
    """The objective by its parameters; None is the plain one, which looks at one worse picture."""
    if negatives == 1:
        return None  # the first look of WARP, too, may step by all of C
    harmonic = np.cumsum(1 / np.arange(1, triplets.pictures + 1))
    return Objective(negatives, warp, np.concatenate([[0], harmonic]).astype(np.float32))
