"""From which probability on a match is good: the threshold, and how its parameters are chosen.

A match is good when its probability is at least a certain fraction of the best one's in the
collection, but never below a certain level, nor about what any picture has that is drawn blindly;
and a probability that is high for the query's words is good whatever the best one is. The fraction
and the level are those with the best F1 on validation queries, one in ten of which finds nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_FRACTIONS = np.arange(0.2, 0.75, 0.05)
_LEVELS = np.geomspace(0.01, 0.3, 15)
_ENOUGH = 0.3
_TIMES = 3.0
"""The best probability counts as at most `_ENOUGH`, or so many times what the words have anyway."""
_MORE = 1.5
"""A good match is so many times likelier to answer than any picture."""
_SURE = 0.5
"""What is likelier than not is a good match."""
_IN_VAIN = 0.1
"""How many queries ask for what is not there: what people ask for is not known, this is a guess."""


def probability_threshold(
    highest: ArrayLike, prior: ArrayLike, fraction: float, level: float
) -> Floats:
    """The probability from which a match is good, for the highest probabilities of some queries.

    ``prior`` is how many pictures in one have all words of the query, as far as their number says.

    >>> highest, prior = [0.9, 0.1, 0.01, 0.8], [0.01, 0.01, 0.01, 0.3]
    >>> probability_threshold(highest, prior, 0.5, 0.02).round(2).tolist()
    [0.15, 0.05, 0.02, 0.45]
    """
    blindly = np.asarray(prior, float)
    wanted = fraction * np.minimum(highest, np.maximum(_ENOUGH, _TIMES * blindly))
    return np.minimum(np.maximum(np.maximum(level, _MORE * blindly), wanted), _SURE)


def best_threshold(
    probabilities: Floats, prior: Floats, answers: NDArray[np.bool_]
) -> tuple[float, float]:
    """The fraction and the level with the best F1, when some queries find nothing there to find."""
    emptied = np.where(answers, 0.0, probabilities)
    highest = probabilities.max(axis=1)
    best, found = -1.0, (0.5, 0.05)
    for fraction in _FRACTIONS:
        for level in _LEVELS:
            threshold = probability_threshold(highest, prior, fraction, level)
            shown = probabilities >= threshold[:, None]
            in_vain = float((emptied.max(axis=1) < level).mean())
            value = (1 - _IN_VAIN) * mean_f1(shown, answers) + _IN_VAIN * in_vain
            if value > best:
                best, found = value, (float(fraction), float(level))
    return found


def mean_f1(shown: NDArray[np.bool_], answers: NDArray[np.bool_]) -> float:
    """F1 of what is shown (queries × pictures), averaged over queries.

    >>> mean_f1(np.array([[True, True], [False, False]]), np.array([[True, False], [True, True]]))
    0.3333333333333333
    """
    hits = (shown & answers).sum(axis=1)
    both = shown.sum(axis=1) + answers.sum(axis=1)
    return float(np.mean(2 * hits / np.maximum(both, 1)))
