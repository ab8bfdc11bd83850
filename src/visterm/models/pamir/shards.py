"""PAMIR over shards of the pictures, by iterative parameter mixing of their weights.

Each round, every shard runs a slice of steps from the mixed weights. A row of the table is then
moved by the mean of the shards' moves, weighed by how many updates the row had on each:
``w_t += Σ_s u_st (w_st − w_t) / Σ_s u_st``. A rare word, which few shards have seen, is so moved as
far as they moved it, and not diluted by those that know nothing of it.

R. McDonald, K. Hall and G. Mann, Distributed training strategies for the structured perceptron,
NAACL 2010.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.compute import Replicas, spread
from visterm.errors import BadInput
from visterm.models.inputs import Vectors
from visterm.models.selection import Choice, Task, Trial
from visterm.models.supervision import Supervision
from visterm.progress import Progress
from visterm.text import Relevance

if TYPE_CHECKING:
    from visterm.models.pamir.pamir import Pamir


class Moves(NamedTuple):
    """The rows that a shard has moved, by how much, and how many updates each had."""

    rows: NDArray[np.int64]
    moves: NDArray[np.float32]
    updates: NDArray[np.int64]

    @classmethod
    def between(
        cls,
        before: NDArray[np.float32],
        after: NDArray[np.float32],
        updates: NDArray[np.int64],
    ) -> Moves:
        """What became of a table; only rows with updates are kept, and travel.

        >>> Moves.between(np.zeros((2, 1)), np.array([[0.0], [3.0]]), np.array([0, 2])).rows
        array([1])
        """
        rows = np.flatnonzero(updates)
        return cls(rows, after[rows] - before[rows], updates[rows])


def mix(table: NDArray[np.float32], shards: Sequence[Moves | None]) -> None:
    """Move a table's rows by what the shards found; one that is missing (None) is left out.

    >>> table = np.zeros((2, 1), dtype=np.float32)
    >>> often = Moves(np.array([0, 1]), np.array([[4.0], [1.0]]), np.array([3, 1]))
    >>> once = Moves(np.array([0]), np.array([[8.0]]), np.array([1]))
    >>> mix(table, [often, once, None])
    >>> table.tolist()
    [[5.0], [1.0]]
    """
    there = [one for one in shards if one is not None]
    total = np.zeros(len(table), dtype=np.int64)
    for one in there:
        total[one.rows] += one.updates
    for one in there:
        share = (one.updates / total[one.rows]).astype(np.float32)
        table[one.rows] += share[:, None] * one.moves


def shards_of(n: int, count: int, seed: int) -> list[NDArray[np.int64]]:
    """Numbers of n pictures dealt out at random to so many shards, each in order.

    >>> [len(part) for part in shards_of(5, 2, seed=0)]
    [3, 2]
    """
    order = np.random.default_rng(seed).permutation(n)
    return [np.sort(part) for part in np.array_split(order, min(count, n))]


Weights = NDArray[np.float32]


class Spread(NamedTuple):
    """The shards, and the weights that each run begins from."""

    shards: Replicas
    start: Weights


class _WordWeights(NamedTuple):
    """Weights of words over all pictures, for shards that see some of them."""

    idf_: NDArray[np.float64]


class TripletShard:
    """Some of the pictures, and the triplets that can be drawn among them."""

    def __init__(
        self,
        number: int,
        model: Pamir,
        vectors: Vectors,
        texts: csr_array | Relevance,
        idf: NDArray[np.float64],
    ) -> None:
        from visterm.models.pamir._solvers import choose_solver

        training = model._supervise(vectors, texts, cast(Any, _WordWeights(idf)))
        self.number, self.seed = number, model.seed
        try:
            self.triplets = model._triplets(training)
        except BadInput:  # no query tells the few pictures of this shard apart
            self.triplets = None  # type: ignore[assignment]
        none = np.zeros((len(idf), vectors.shape[1]), dtype=np.float32)
        self.solver = choose_solver(vectors, None)(vectors, None, none, self.seed)

    def run(self, weights: Weights, choice: Choice, steps: int, round_: int) -> Moves:
        """Look at so many triplets, from these weights on."""
        from visterm.models.pamir._triplets import Objective

        # The seed knows the round, so that a shard that was begun again draws what it would have.
        self.solver.restart_from(weights, [self.seed, self.number, round_])
        if self.triplets is not None:
            objective = Objective(choice["negatives"], choice["warp"])
            self.solver.run(self.triplets, choice["C"], steps, objective)
        after = self.solver.weights(self.solver.learnt())
        return Moves.between(weights, after, self.solver.updates)


def spread_pictures(model: Pamir, training: Supervision, start: Weights) -> Spread:
    """Deal the pictures out to the model's shards."""
    from visterm.estimator import clone

    numbers = shards_of(training.vectors.shape[0], model.n_shards, model.seed)
    plain = clone(model).set_params(random_state=model.seed)
    parts = [
        (number, plain, training.vectors[some], _texts(training, some), training.idf)
        for number, some in enumerate(numbers)
    ]
    return Spread(spread(TripletShard, parts), start)


def _texts(training: Supervision, some: NDArray[np.int64]) -> csr_array | Relevance:
    if training.texts is not None:
        return csr_array(training.captions[some])
    assert training.relevance is not None
    return replace(training.relevance, pictures=csr_array(training.relevance.pictures[:, some]))


def run_rounds(
    task: Task, over: Spread, choice: Choice, progress: Progress, steps: list[tuple[int, int]]
) -> Iterator[Trial]:
    """A round of every shard, and the mixed weights after it, for each slice of the steps."""
    weights, mean = over.start.copy(), over.start.copy()
    for round_, (done, slice_) in enumerate(steps):
        mix(weights, over.shards.call("run", weights, choice, slice_, round_))
        # The mean of the mixed weights by the same law as that of a serial run's.
        late = 1 - (round_ / (round_ + 1)) ** 4
        mean += np.float32(late) * (weights - mean)
        current = mean if choice["averaged"] else weights
        progress("training", done, choice["max_iter"])
        yield Trial({"max_iter": done}, _rows(task, current), _kept(current))


def _rows(task: Task, weights: Weights) -> Callable[[], Weights]:
    def rows() -> Weights:
        assert task.held is not None
        return np.asarray(task.held.vectors @ weights.T, dtype=np.float32)

    return rows


def _kept(weights: Weights) -> Callable[[], Callable[[], dict[str, Any]]]:
    def keep() -> Callable[[], dict[str, Any]]:
        learnt = weights.copy()
        return lambda: {"weights_": learnt}

    return keep
