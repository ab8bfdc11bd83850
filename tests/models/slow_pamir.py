"""PAMIR as its pages describe it, in plain Python and float64: the reference for the fast loops."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from visterm.text import Relevance

MASK = (1 << 64) - 1


class SplitMix64:
    """A counter that goes up by the golden ratio, and a mixer of its bits."""

    def __init__(self, state: int) -> None:
        self.state = state

    def __call__(self) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def below(self, n: int) -> int:
        """The upper 32 bits, as a fraction of n."""
        return ((self() >> 32) * n) >> 32


@dataclass
class SlowPamir:
    """W, and the triplets that shaped it."""

    relevance: Relevance
    pictures: NDArray[np.float64]
    seed: int = 0
    C: float = 0.1
    least_margin: float = 1.0
    captions: NDArray[np.float64] | None = None
    negatives: int = 1
    warp: bool = False
    triplets: list[tuple[int, int, int]] = field(default_factory=list)
    path: list[NDArray[np.float64]] = field(default_factory=list)
    moved: int = 0

    def __post_init__(self) -> None:
        n = len(self.pictures)
        queries, gains = self.relevance.queries.toarray(), self.relevance.pictures.toarray()
        useful = [q for q in range(len(queries)) if 0 < (gains[q] > 0).sum() < n]
        self.queries = queries[useful].astype(np.float64)
        self.relevant = [np.flatnonzero(gains[q]).tolist() for q in useful]
        self.W = np.zeros((queries.shape[1], self.pictures.shape[1]))
        state = np.random.SeedSequence(self.seed).generate_state(1, np.uint64)[0]
        self.random = SplitMix64(int(state))

    def draw(self) -> tuple[int, int, int]:
        query = self.random.below(len(self.queries))
        relevant = self.relevant[query]
        better = relevant[self.random.below(len(relevant))]
        return query, better, self.draw_worse(query)

    def draw_worse(self, query: int) -> int:
        while True:
            worse = self.random.below(len(self.pictures))
            if worse not in self.relevant[query]:
                return worse

    def loss(self, query: int, better: int, worse: int) -> float:
        v = np.outer(self.queries[query], self.pictures[better] - self.pictures[worse])
        return max(0.0, self.margin(query, better, worse) - float(np.sum(self.W * v)))

    def margin(self, query: int, better: int, worse: int) -> float:
        if self.captions is None:
            return self.least_margin
        gap = self.queries[query] @ (self.captions[better] - self.captions[worse])
        return max(self.least_margin, float(gap))

    def look(self) -> tuple[int, int, int, float]:
        """The triplet to learn from, and the largest step it may make."""
        query, better, worse = self.draw()
        n, answering = len(self.pictures), len(self.relevant[query])
        drawn = [worse, *(self.draw_worse(query) for _ in range(1, self.negatives))]
        if not self.warp:
            worse = max(drawn, key=lambda other: self.loss(query, better, other))
            return query, better, worse, self.C
        looks = drawn[:1]
        while len(looks) < len(drawn) and self.loss(query, better, looks[-1]) == 0:
            looks = drawn[: len(looks) + 1]
        rank = (n - answering) // len(looks)
        share = harmonic(max(1, rank)) / harmonic(n - answering)
        return query, better, looks[-1], self.C * share

    def step(self) -> None:
        query, better, worse, most = self.look()
        self.triplets.append((query, better, worse))
        v = np.outer(self.queries[query], self.pictures[better] - self.pictures[worse])
        loss, square = self.loss(query, better, worse), float(np.sum(v * v))
        if loss > 0 and square > 0:
            self.W += min(most, loss / square) * v
            self.moved += 1

    def run(self, steps: int) -> SlowPamir:
        for _ in range(steps):
            self.step()
            self.path.append(self.W.copy())
        return self

    def mean(self) -> NDArray[np.float64]:
        """The mean of W after each step s, weighed by s⁴ − (s − 1)⁴."""
        weights = [s**4 - (s - 1) ** 4 for s in range(1, len(self.path) + 1)]
        return np.average(self.path, axis=0, weights=weights)


def harmonic(k: int) -> float:
    return sum(1 / j for j in range(1, k + 1))
