"""WSABIE's steps over some of the pairs, and over shards of them by iterative parameter mixing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.compute import Shards
from visterm.models.mixing import Moves, mix
from visterm.models.selection import Choice

Table = NDArray[np.float32]


class Stepped(NamedTuple):
    """How many steps met a violation, and how often each row of V and Z was moved."""

    violated: int
    V_updates: NDArray[np.int64]
    Z_updates: NDArray[np.int64]


class WarpShard:
    """Pictures with their words, or with the vectors of their texts."""

    def __init__(
        self, pictures: Table, texts: Table, words: csr_array, pairs: bool, number: int = 0
    ) -> None:
        self.pictures, self.texts, self.pairs = pictures, texts, pairs
        self.starts, self.words = words.indptr.astype(np.int64), words.indices.astype(np.int64)
        outputs = max(len(pictures) if pairs else texts.shape[1], 2)
        self.ranks = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, outputs + 1))])
        self.number = number

    def steps(
        self, V: Table, Z: Table, choice: Choice, state: NDArray[np.uint64], count: int
    ) -> Stepped:
        """So many steps, in place."""
        from visterm.models._wsabie_kernels import warp_steps

        updates = np.zeros(len(V), np.int64), np.zeros(len(Z), np.int64)
        rate, longest = float(choice["learning_rate"]), float(choice["max_norm"])
        given = self.pictures, self.texts, self.starts, self.words, self.pairs, self.ranks
        return Stepped(warp_steps(*given, V, Z, rate, longest, state, count, *updates), *updates)

    def run(
        self, V: Table, Z: Table, choice: Choice, count: int, seed: Sequence[int]
    ) -> tuple[int, Moves, Moves]:
        """So many steps from these tables, which stay; how many met a violation, and the moves."""
        drawn = np.random.SeedSequence([*seed, self.number]).generate_state(1, np.uint64)
        here = V.copy(), Z.copy()
        found = self.steps(*here, choice, drawn.astype(np.uint64), count)
        return (
            found.violated,
            Moves.between(V, here[0], found.V_updates),
            Moves.between(Z, here[1], found.Z_updates),
        )


def mix_pass(
    shards: Shards, V: Table, Z: Table, choice: Choice, n: int, seed: Sequence[int]
) -> int:
    """A pass of every shard, mixed into V and Z; returns how many of n steps met a violation."""
    found = shards.call("run", V, Z, choice, n, seed)
    there = [one for one in found if one is not None]
    mix(V, [moves for _, moves, _ in there])
    mix(Z, [moves for _, _, moves in there])
    return round(sum(violated for violated, _, _ in there) / len(there))
