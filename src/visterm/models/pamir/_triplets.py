"""Triplets (q, p⁺, p⁻) in blocks: drawn from queries, with the margin that each must keep."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.text.query_source import QuerySource

BLOCK = 4096
"""Triplets that are drawn at once: enough for one call to cost nothing, few enough for a cache."""


class Margins(NamedTuple):
    """ε = max(least, q·c⁺ − q·c⁻), by vectors c of captions; without their rows it is constant."""

    least: np.float32
    starts: NDArray[np.int64]
    words: NDArray[np.uint32]
    weights: NDArray[np.float32]


class Objective(NamedTuple):
    """Which of several worse pictures a step moves away from, and how far it may go.

    Of ``negatives`` pictures that do not answer, the one with the greatest loss is taken. With
    ``warp``, only those up to the first with a loss count, N of them say, and the step is at
    most ``C · L(⌊n⁻ / N⌋) / L(n⁻)``: n⁻ pictures do not answer, so about ⌊n⁻ / N⌋ of them stand
    too high, and ``L(k) = Σ_{j ≤ k} 1/j`` cares most about the first ranks.
    """

    negatives: int = 1
    warp: bool = False


class Block(NamedTuple):
    """Triplets, a row each: words and weights of which the first ``sizes`` count."""

    words: NDArray[np.uint32]
    weights: NDArray[np.float32]
    sizes: NDArray[np.int64]
    better: NDArray[np.uint32]
    worse: NDArray[np.uint32]
    """Several pictures p⁻, (count, negatives), and the margin to keep from each."""
    margins: NDArray[np.float32]
    others: NDArray[np.int64]
    """How many pictures do not answer; only WARP counts them."""


class Triplets(NamedTuple):
    """What triplets are drawn from."""

    source: QuerySource
    margins: Margins

    def draw(self, state: NDArray[np.uint64], count: int, objective: Objective) -> Block:
        """The next triplets; the state of the random numbers moves on."""
        queries, worse = self.source.draw(state, count, objective.negatives)
        margins = np.full(worse.shape, self.margins.least)
        if len(self.margins.starts):
            _set_margins(self.margins, queries, worse, margins)
        others = np.empty(0, np.int64)
        if objective.warp:
            others = self.source.pictures - self.source.count_answers(queries)
        words, weights, sizes, _, better = queries
        return Block(words, weights, sizes, better, worse, margins, others)


@njit(cache=True, nogil=True)
def _set_margins(margins, queries, worse, differences):  # type: ignore[no-untyped-def]
    for i in range(len(worse)):
        size = queries.sizes[i]
        words, weights = queries.words[i, :size], queries.weights[i, :size]
        better = _caption_score(margins, words, weights, queries.pictures[i])
        for j in range(worse.shape[1]):
            gap = better - _caption_score(margins, words, weights, worse[i, j])
            differences[i, j] = max(margins.least, gap)


@njit(nogil=True)
def _caption_score(margins, words, weights, picture):  # type: ignore[no-untyped-def]
    score = np.float32(0)
    start = margins.starts[picture]
    own = margins.words[start : margins.starts[picture + 1]]
    for i in range(len(words)):
        position = np.searchsorted(own, words[i])
        if position < len(own) and own[position] == words[i]:
            score += weights[i] * margins.weights[start + position]
    return score


def triplets_of(source: QuerySource, captions: csr_array | None, least_margin: float) -> Triplets:
    """Triplets of these queries; margins are constant without ``captions`` of unit length."""
    rows = csr_array((0, 0), dtype=np.float32) if captions is None else captions.sorted_indices()
    margins = Margins(
        np.float32(least_margin),
        rows.indptr.astype(np.int64) if captions is not None else np.empty(0, np.int64),
        rows.indices.astype(np.uint32),
        rows.data.astype(np.float32),
    )
    return Triplets(source, margins)
