"""Small learnable problems for models, made without a random number: no seed can flatter them.

Where noise is needed, it is the fractional part of i·√prime, which is evenly spread for every
prime and independent between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.evaluation import mean_average_precision
from visterm.models.inputs import Vectors
from visterm.models.supervision import Captions, validation_queries
from visterm.text import Relevance, relevance_from_captions
from visterm.text.weighting import inverse_frequency

WORDS, TRAINING, OTHER, HELD = 10, 160, 60, 80


@dataclass(frozen=True)
class Problem:
    """Pictures to learn from, others to choose with, and held ones to be ranked; Y the captions."""

    X: Vectors
    Y: csr_array
    other_X: Vectors
    other_Y: csr_array
    held_X: Vectors
    held_Y: csr_array

    @cached_property
    def idf(self) -> NDArray[np.float64]:
        return inverse_frequency(self.Y)

    def quality(self, rows: NDArray[np.float32], words: NDArray[np.int64] | None = None) -> float:
        """AvgP of the held pictures for queries of one and two words, of all or the given words."""
        chosen = np.arange(self.held_Y.shape[1]) if words is None else words
        told = relevance_from_captions(self.held_Y[:, chosen], self.idf[chosen], max_words=2)
        return mean_average_precision(told.queries @ rows[:, chosen].T, told.pictures)

    @cached_property
    def chance(self) -> float:
        """AvgP of orders that know nothing of the captions, averaged over many of them."""
        orders = noise(50, HELD * WORDS).reshape(50, HELD, WORDS)
        return float(np.mean([self.quality(rows) for rows in orders]))


@lru_cache(maxsize=1)
def _primes(count: int = 20_000) -> NDArray[np.int64]:
    candidate = np.ones(300_000, dtype=bool)
    candidate[:2] = False
    for i in range(2, 548):
        if candidate[i]:
            candidate[i * i :: i] = False
    return np.flatnonzero(candidate)[:count]


def noise(rows: int, columns: int, skip: int = 0) -> NDArray[np.float64]:
    """Numbers in [0, 1), evenly spread down each column."""
    return np.arange(1, rows + 1)[:, None] * np.sqrt(_primes()[skip : skip + columns]) % 1.0


def captions() -> NDArray[np.int64]:
    """Frequent and rare words, every picture with one at least."""
    n = TRAINING + OTHER + HELD
    frequency = np.linspace(0.45, 0.12, WORDS)
    held = noise(n, WORDS) < frequency
    held[np.arange(n), np.arange(n) % WORDS] |= ~held.any(axis=1)
    return held.astype(np.int64)


def counts(width: int = 8) -> NDArray[np.int64]:
    """Each word lights some of its own visterms; all visterms light now and then by themselves."""
    held = np.repeat(captions(), width, axis=1)
    n, d = held.shape
    lit = noise(n, d, skip=100) < 0.55
    return held * lit + (noise(n, d, skip=1000) < 0.15) + (noise(n, d, skip=2000) < 0.05)


def dense_vectors(width: int = 30) -> NDArray[np.float64]:
    """Each word is a direction; noise as long as the words lies over all of them."""
    directions = noise(WORDS, width, skip=300) - 0.5
    shaken = noise(TRAINING + OTHER + HELD, width, skip=3000) - 0.5
    return captions() @ directions + shaken


def block_rows(blocks: int = 5, numbers: int = 6) -> NDArray[np.float64]:
    """Five blocks of six numbers: each shows one of the words, or nothing in particular."""
    looks = 3 * (noise(WORDS, numbers, skip=400) - 0.5)
    shown = noise(TRAINING + OTHER + HELD, blocks * numbers, skip=4000) - 0.5
    rows = shown.reshape(-1, blocks, numbers)
    for row, held in zip(rows, captions(), strict=True):
        for block, word in enumerate(np.flatnonzero(held)[:blocks]):
            row[block] += looks[word]
    return rows.reshape(len(rows), -1)


def problem(kind: str) -> Problem:
    """The pictures as "sparse" or "dense" vectors, as visterm "counts" or as "blocks"."""
    if kind == "dense":
        vectors: Vectors = dense_vectors()
    elif kind == "blocks":
        vectors = block_rows()
    elif kind == "counts":
        vectors = csr_array(counts())
    elif kind == "sparse":
        seen = np.log1p(counts())
        vectors = csr_array(seen / np.maximum(np.linalg.norm(seen, axis=1, keepdims=True), 1e-9))
    else:
        raise ValueError(f"no problem of kind {kind!r}")
    parts = np.split(np.arange(TRAINING + OTHER + HELD), [TRAINING, TRAINING + OTHER])
    told = captions()
    return Problem(*(half for part in parts for half in (vectors[part], csr_array(told[part]))))


def held_relevance(
    Y: Captions, pictures: int, idf: NDArray[np.float64], max_words: int | None
) -> Relevance:
    """What validation pictures are ranked for."""
    return validation_queries(Y, pictures, max_words, idf)
