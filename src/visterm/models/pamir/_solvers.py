"""Where PAMIR keeps its state while it learns: scores over a Gram matrix, or the weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.kernels import Linear
from visterm.models.inputs import Vectors, is_sparse, stack
from visterm.models.pamir._kernels import late, steps
from visterm.models.pamir._triplets import BLOCK, Objective, Triplets

# The Gram matrix of the pictures must stay small against the memory of a laptop.
_GRAM_BYTES = 1 << 30
# A look at a triplet reads its pictures' numbers; a step over a Gram matrix reads all pictures.
# Steps are rare (a few in a hundred), so the Gram matrix wins up to about this many pictures for
# each number of a vector; measured by benchmarks/pamir.py.
_PICTURES_PER_NUMBER = 150


class Solver:
    """Learns from triplets and can say at any time what it has learnt: α or W, in ``_table``."""

    def _begin(self) -> NDArray[np.float32]:
        """The table before the first step."""
        raise NotImplementedError

    def _state_and_pictures(self) -> tuple[object, object, object]:
        """What `steps` takes as gram, sparse and dense."""
        raise NotImplementedError

    def restart(self, seed: int | Sequence[int], *, averaged: bool = False) -> None:
        """Forget what was learnt, and draw from this seed; ``averaged`` learns a mean over time."""
        self._table, self._done = self._begin(), 0
        self._moment = np.zeros_like(self._table if averaged else self._table[:0])
        self._state = _state(seed)
        self.updates = np.zeros(len(self._table), dtype=np.int64)
        """How many steps have moved the row of each word."""

    def restart_from(self, start: NDArray[np.float32], seed: Sequence[int]) -> None:
        """The same from other weights."""
        raise NotImplementedError

    def run(
        self,
        triplets: Triplets,
        aggressiveness: float,
        iterations: int,
        objective: Objective = Objective(),  # noqa: B008
    ) -> int:
        """Look at so many triplets; returns how many of them moved the model."""
        harmonic = np.empty(0, np.float32)
        if objective.warp:
            ranks = np.arange(1, triplets.source.pictures + 1)
            harmonic = np.concatenate([[0], np.cumsum(1 / ranks)]).astype(np.float32)
        moved, last = 0, self._done + iterations
        while self._done < last:
            block = triplets.draw(self._state, min(BLOCK, last - self._done), objective)
            moved += steps(
                self._table,
                *self._state_and_pictures(),
                block,
                np.float32(aggressiveness),
                harmonic,
                self._moment,
                self._done,
                self.updates,
            )
            self._done += len(block.sizes)
        return moved

    def learnt(self) -> NDArray[np.float32]:
        """A copy of what is learnt so far, cheap enough to take at every check."""
        return _mean(self._table, self._moment, self._done)

    def weights(self, learnt: NDArray[np.float32]) -> NDArray[np.float32]:
        """W, of shape (T, d), or α, at the moment when `learnt` was taken."""
        return learnt

    def validation_rows(self) -> NDArray[np.float32]:
        """Text-space rows of the validation pictures."""
        raise NotImplementedError


class KernelSolver(Solver):
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

    def _begin(self) -> NDArray[np.float32]:
        self._scores = self._before.copy()
        return np.zeros((len(self._before), self._gram.shape[0]), dtype=np.float32)

    def _state_and_pictures(self) -> tuple[object, object, object]:
        return (self._gram, self._scores), None, None

    def validation_rows(self) -> NDArray[np.float32]:
        n = self._gram.shape[0]
        if not len(self._moment):
            return self._scores[:, n:].T
        return (self._before[:, n:] + self.learnt() @ self._gram[:, n:]).T


class GramSolver(KernelSolver):
    """Weights of a linear model, through the Gram matrix of its vectors."""

    def __init__(
        self, vectors: Vectors, validation: Vectors | None, start: NDArray[np.float32], seed: int
    ) -> None:
        everything = vectors if validation is None else stack(vectors, validation)
        self._vectors, self._everything, self._start = vectors, everything, start
        super().__init__(_gram(vectors, everything), self._scored(start), seed)

    def _scored(self, start: NDArray[np.float32]) -> NDArray[np.float32]:
        # A model that starts from nothing scores everything 0; the product would say so slowly.
        if not start.any():
            return np.zeros((len(start), self._everything.shape[0]), dtype=np.float32)
        return np.ascontiguousarray((self._everything @ start.T).T, dtype=np.float32)

    def restart_from(self, start: NDArray[np.float32], seed: Sequence[int]) -> None:
        self._start, self._before = start, self._scored(start)
        self.restart(seed)

    def weights(self, learnt: NDArray[np.float32]) -> NDArray[np.float32]:
        return self._start + np.asarray((self._vectors.T @ learnt.T).T, dtype=np.float32)


class WeightSolver(Solver):
    """The weights themselves, for more pictures than a Gram matrix can hold."""

    def __init__(
        self, vectors: Vectors, validation: Vectors | None, start: NDArray[np.float32], seed: int
    ) -> None:
        self._vectors, self._validation, self._start = vectors, validation, start
        self.restart(seed)
        self._rows = _compressed(vectors) if is_sparse(vectors) else None

    def _begin(self) -> NDArray[np.float32]:
        return self._start.copy()

    def restart_from(self, start: NDArray[np.float32], seed: Sequence[int]) -> None:
        self._start = start
        self.restart(seed)

    def _state_and_pictures(self) -> tuple[object, object, object]:
        return None, self._rows, self._vectors if self._rows is None else None

    def validation_rows(self) -> NDArray[np.float32]:
        if self._validation is None:
            raise BadInput("no validation pictures were given")
        learnt = self.learnt() if len(self._moment) else self._table
        return np.asarray(self._validation @ learnt.T, dtype=np.float32)


def _mean(
    last: NDArray[np.float32], moment: NDArray[np.float32], iterations: int
) -> NDArray[np.float32]:
    """A copy of the last state; of the mean of all states, where their moment was kept."""
    if len(moment) == 0 or iterations == 0:
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


def _state(seed: int | Sequence[int]) -> NDArray[np.uint64]:
    return np.random.SeedSequence(seed).generate_state(1, np.uint64).astype(np.uint64)
