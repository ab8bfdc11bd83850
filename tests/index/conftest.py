"""What an index must answer, written as the formula says it, slowly."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
import pytest

from visterm.index.score import score


@dataclass
class Slow:
    """Pictures in a dictionary, every one scored by the definition, all of them sorted."""

    words: int
    rows: dict[int, np.ndarray] = field(default_factory=dict)
    next_id: int = 0

    def append(self, rows: np.ndarray, ids: Iterable[int] | None = None) -> None:
        numbers = range(self.next_id, self.next_id + len(rows)) if ids is None else ids
        for number, row in zip(numbers, rows, strict=True):
            self.rows[int(number)] = np.array(row, np.float32)
            self.next_id = max(self.next_id, int(number) + 1)

    def remove(self, ids: Iterable[int]) -> None:
        for number in ids:
            self.rows.pop(int(number), None)

    def search(
        self,
        words: Iterable[int],
        weights: Iterable[float],
        k: int,
        allow: Iterable[int] | None = None,
    ) -> list[tuple[int, float]]:
        asked = sorted(zip(words, weights, strict=True))
        chosen = [word for word, _ in asked]
        vector = np.array([weight for _, weight in asked], np.float32)
        allowed = self.rows.keys() if allow is None else self.rows.keys() & set(allow)
        with np.errstate(over="ignore"):
            found = [(number, score(vector, self.rows[number][chosen])) for number in allowed]
        found.sort(key=lambda pair: (-pair[1], pair[0]))
        return [(number, float(value)) for number, value in found[:k]]


def answer(found: tuple[np.ndarray, np.ndarray]) -> list[tuple[int, float]]:
    """An index's answer in the form of the slow one; types are part of the promise."""
    ids, values = found
    assert ids.dtype == np.int64
    assert values.dtype == np.float32
    return list(zip(ids.tolist(), values.tolist(), strict=True))


@pytest.fixture(scope="session")
def slow() -> type[Slow]:
    return Slow


@pytest.fixture(scope="session", name="answer")
def answer_() -> Callable[[tuple[np.ndarray, np.ndarray]], list[tuple[int, float]]]:
    return answer


@pytest.fixture(scope="session")
def quick() -> str | None:
    """A folder in memory, where syncing costs nothing, for tests that make many indexes."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
