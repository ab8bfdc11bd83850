"""Iterative parameter mixing: workers learn on shards of the data, and their weights are mixed.

Each round, every shard runs a slice of steps from the mixed weights. A row of the table is then
moved by the mean of the shards' moves, weighed by how many updates the row had on each:
``w_t += Σ_s u_st (w_st − w_t) / Σ_s u_st``. A rare word, which few shards have seen, is so moved as
far as they moved it, and not diluted by those that know nothing of it.

R. McDonald, K. Hall and G. Mann, Distributed training strategies for the structured perceptron,
NAACL 2010.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


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
