"""Which pictures to ask about: those whose answers teach most.

Of the best pictures of a ranking, those that nobody has answered yet. Most of a round are the most
likely ones: a yes to them says what the word looks like, a no takes a mistake from the top. The
others are the least certain, around where as many answer as not. Each is taken if it is unlike
those that were taken before it, so that ten answers are not one answer ten times.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

CONSIDERED = 400
"""Pictures of a ranking that may be asked about."""
LIKENESS_COST = 0.5
"""What likeness to a picture that is asked about already costs, against being worth asking."""
UNCERTAIN_SHARE = 0.3
"""The fraction of a round that is asked because it is uncertain, not because it is likely."""

Floats = NDArray[np.float64]


def most_informative(
    probabilities: Floats, vectors: NDArray[np.float32], asked: Sequence[int], count: int
) -> list[int]:
    """Places of the pictures to ask about next, best first.

    Parameters
    ----------
    probabilities
        How likely each picture of a ranking answers, highest first.
    vectors
        The pictures' vectors, one a row, of unit length.
    asked
        Places of pictures that were asked about before.
    """
    free = np.ones(len(probabilities), bool)
    free[list(asked)] = False
    likely = probabilities / (probabilities.max(initial=0.0) or 1.0)
    middle = _middle(probabilities)
    uncertain = np.exp(-np.abs(_odds(probabilities) - _odds(np.array([middle]))))
    closest = _closest(vectors, asked)
    chosen: list[int] = []
    while len(chosen) < count and free.any():
        due = int((len(chosen) + 1) * UNCERTAIN_SHARE) > int(len(chosen) * UNCERTAIN_SHARE)
        worth = uncertain if due else likely
        value = np.where(free, worth - LIKENESS_COST * closest, -np.inf)
        best = int(value.argmax())
        chosen.append(best)
        free[best] = False
        closest = np.maximum(closest, vectors @ vectors[best])
    return chosen


def _middle(probabilities: Floats) -> float:
    """Where as many pictures answer before as after: half of all answers are expected by then."""
    total = np.cumsum(probabilities)
    if not total.size or total[-1] <= 0:
        return 0.5
    return float(probabilities[int(np.searchsorted(total, total[-1] / 2))])


def _closest(vectors: NDArray[np.float32], asked: Sequence[int]) -> Floats:
    if not len(asked):
        return np.zeros(len(vectors))
    return np.asarray((vectors @ vectors[list(asked)].T).max(axis=1), np.float64)


def _odds(probabilities: Floats) -> Floats:
    sure = np.clip(probabilities, 1e-6, 1 - 1e-6)
    return np.asarray(np.log(sure) - np.log1p(-sure))
