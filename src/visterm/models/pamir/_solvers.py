"""Where PAMIR keeps its state while it learns: scores over a Gram matrix, or the weights."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.kernels import Linear
from visterm.models.inputs import Vectors, is_sparse, stack
from visterm.models.pamir._kernels import (
    Objective,
    Triplets,
    late,
    steps_dense,
    steps_gram,
    steps_sparse,
)
from visterm.text import Relevance

# The Gram matrix of the pictures must stay small against the memory of a laptop.
_GRAM_BYTES = 1 << 30
# A look at a triplet reads its pictures' numbers; a step over a Gram matrix reads all pictures.
# Steps are rare (a few in a hundred), so the Gram matrix wins up to about this many pictures for
# each number of a vector; measured by benchmarks/pamir.py.
_PICTURES_PER_NUMBER = 150


class Solver(Protocol):
    """Learns from triplets and can say at any time what it has learnt."""

    def run(
        self, triplets: Triplets, aggressiveness: float, steps: int, objective: Objective | None
    ) -> int:
        """Look at so many triplets; returns how many of them moved the model."""

    def restart(self, seed: int, *, averaged: bool) -> None:
        """Forget what was learnt, and draw from this seed; ``averaged`` learns a mean over time."""

    def learnt(self) -> NDArray[np.float32]:
        """A copy of what is learnt so far, cheap enough to take at every check."""

    def weights(self, learnt: NDArray[np.float32]) -> NDArray[np.float32]:
        """W, of shape (T, d), or α, at the moment when `learnt` was taken."""

    def validation_rows(self) -> NDArray[np.float32]:
        """Text-space rows of the validation pictures."""


class KernelSolver:
    """Scores of all pictures kept current through their Gram matrix, and the α of the paper.

    Parameters
    ----------
    gram : array of shape (n, m ≥ n), float32
        The training pictures with themselves, then with validation pictures.
    scores : array of shape (T, m), float32
        What the model says of all pictures before it learns.
    """

    def __init__(self, gram: NDArray[np.float32], scores: NDArray[np.float32], seed: int) -> None:
        self._gram, self._before = gram, np.ascontiguousarray(scores, dtype=np.float32)
        self.restart(seed)

    def restart(self, seed: int, *, averaged: bool = False) -> None:
        self._alpha = np.zeros((len(self._before), self._gram.shape[0]), dtype=np.float32)
        self._moment = np.zeros_like(self._alpha) if averaged else None
        self._scores, self._done = self._before.copy(), 0
        self._state = _state(seed)

    def run(
        self,
        triplets: Triplets,
        aggressiveness: float,
        steps: int,
        objective: Objective | None = None,
    ) -> int:
        c = np.float32(aggressiveness)
        rest = (triplets, c, steps, self._state, objective, self._moment, self._done)
        self._done += steps
        return int(steps_gram(self._gram, self._scores, self._alpha, *rest))

    def learnt(self) -> NDArray[np.float32]:
        return _mean(self._alpha, self._moment, self._done)

    def weights(self, learnt: NDArray[np.float32]) -> NDArray[np.float32]:
        return learnt

    def validation_rows(self) -> NDArray[np.float32]:
        n = self._gram.shape[0]
        if self._moment is None:
            return self._scores[:, n:].T
        return (self._before[:, n:] + self.learnt() @ self._gram[:, n:]).T


class GramSolver(KernelSolver):
    """Weights of a linear model, through the Gram matrix of its vectors."""

    def __init__(
        self, vectors: Vectors, validation: Vectors | None, start: NDArray[np.float32], seed: int
    ) -> None:
        everything = vectors if validation is None else stack(vectors, validation)
        self._vectors, self._start = vectors, start
        shape = (len(start), everything.shape[0])
        # A model that starts from nothing scores everything 0; the product would say so slowly.
        scores = (everything @ start.T).T if start.any() else np.zeros(shape, dtype=np.float32)
        super().__init__(_gram(vectors, everything), scores, seed)

    def weights(self, learnt: NDArray[np.float32]) -> NDArray[np.float32]:
        return self._start + np.asarray((self._vectors.T @ learnt.T).T, dtype=np.float32)


class WeightSolver:
    """The weights themselves, for more pictures than a Gram matrix can hold."""

    def __init__(
        self, vectors: Vectors, validation: Vectors | None, start: NDArray[np.float32], seed: int
    ) -> None:
        self._vectors, self._validation, self._start = vectors, validation, start
        self.restart(seed)
        self._rows = _compressed(vectors) if is_sparse(vectors) else None

    def restart(self, seed: int, *, averaged: bool = False) -> None:
        self._weights, self._done = self._start.copy(), 0
        self._moment = np.zeros_like(self._start) if averaged else None
        self._state = _state(seed)

    def run(
        self,
        triplets: Triplets,
        aggressiveness: float,
        steps: int,
        objective: Objective | None = None,
    ) -> int:
        c = np.float32(aggressiveness)
        rest = (triplets, c, steps, self._state, objective, self._moment, self._done)
        self._done += steps
        if self._rows is None:
            return int(steps_dense(self._weights, self._vectors, *rest))
        return int(steps_sparse(self._weights, *self._rows, *rest))

    def learnt(self) -> NDArray[np.float32]:
        return _mean(self._weights, self._moment, self._done)

    def weights(self, learnt: NDArray[np.float32]) -> NDArray[np.float32]:
        return learnt

    def validation_rows(self) -> NDArray[np.float32]:
        if self._validation is None:
            raise BadInput("no validation pictures were given")
        learnt = self._weights if self._moment is None else self.learnt()
        return np.asarray(self._validation @ learnt.T, dtype=np.float32)


def _mean(
    last: NDArray[np.float32], moment: NDArray[np.float32] | None, iterations: int
) -> NDArray[np.float32]:
    """A copy of the last state; of the mean of all states, where their moment was kept."""
    if moment is None or iterations == 0:
        return last.copy()
    return last - moment / late(iterations)


def _gram(vectors: Vectors, everything: Vectors) -> NDArray[np.float32]:
    """Inner products of the pictures with everything, n × m."""
    return Linear()(vectors, everything)


def _compressed(
    vectors: csr_array,
) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float32]]:
    # uint32: numba then knows that no index counts from the end, and spares the check.
    return vectors.indptr.astype(np.int64), vectors.indices.astype(np.uint32), vectors.data


def choose_solver(vectors: Vectors, validation: Vectors | None) -> type[GramSolver | WeightSolver]:
    """The faster of the two for pictures of this number and size."""
    n = vectors.shape[0]
    m = n + (0 if validation is None else validation.shape[0])
    numbers = vectors.nnz / n if is_sparse(vectors) else vectors.shape[1]
    fits = 4 * n * m <= _GRAM_BYTES
    return GramSolver if fits and n <= _PICTURES_PER_NUMBER * numbers else WeightSolver


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


def _state(seed: int) -> NDArray[np.uint64]:
    return np.random.SeedSequence(seed).generate_state(1, np.uint64).astype(np.uint64)
