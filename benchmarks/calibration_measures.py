"""Measures of probabilities and of the cut-off, for queries whose pictures are ranked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FIRST = 20
"""Pictures of each query whose probabilities are judged."""
BINS = 10
_MOST = 100
"""The largest fixed number that is tried."""


@dataclass(frozen=True, eq=False)
class Asked:
    """A query: how many words, probabilities and answers best first, and how many are good."""

    words: int
    probabilities: NDArray[np.float64]
    answers: NDArray[np.bool_]
    good: int


def ece(asked: Sequence[Asked]) -> float:
    """Expected calibration error over bins of equal mass of each query's first pictures."""
    bins = _bins(asked)
    total = sum(len(predicted) for predicted, _ in bins)
    return float(sum(len(p) * abs(p.mean() - true.mean()) for p, true in bins)) / max(total, 1)


def reliability(asked: Sequence[Asked]) -> list[list[float]]:
    """Mean probability and the part that answers, both in percent, bin by bin."""
    return [
        [round(100 * float(predicted.mean()), 1), round(100 * float(true.mean()), 1)]
        for predicted, true in _bins(asked)
    ]


def f1(asked: Sequence[Asked]) -> float:
    """Mean F1 of what is shown as good."""
    return float(np.mean([_f1(one, one.good) for one in asked])) if asked else 0.0


def best_fixed(asked: Sequence[Asked]) -> tuple[float, int]:
    """The best mean F1 of showing the same number of pictures for every query, and that number."""
    found = [
        (float(np.mean([_f1(one, count) for one in asked])), count) for count in range(1, _MOST)
    ]
    return max(found) if asked else (1.0, 0)


def empty_though_answered(asked: Sequence[Asked]) -> float:
    """The part of queries without a good match though one of the first five pictures answers."""
    if not asked:
        return 0.0
    return float(np.mean([one.good == 0 and bool(one.answers[:5].any()) for one in asked]))


def _f1(one: Asked, shown: int) -> float:
    hits = int(one.answers[:shown].sum())
    return 2 * hits / max(min(shown, len(one.answers)) + int(one.answers.sum()), 1)


def _bins(asked: Sequence[Asked]) -> list[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
    if not asked:
        return []
    predicted = np.concatenate([one.probabilities[:FIRST] for one in asked])
    true = np.concatenate([one.answers[:FIRST] for one in asked])
    order = np.argsort(predicted, kind="stable")
    pairs = zip(
        np.array_split(predicted[order], BINS), np.array_split(true[order], BINS), strict=True
    )
    return [pair for pair in pairs if len(pair[0])]
