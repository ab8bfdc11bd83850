"""Clicks as judgements: the only ones that say what a query's probabilities are truly worth.

Somebody answered yes or no to pictures of a query, whose probabilities were known. Were they too
high or too low, those of the query's other pictures are so as well: the log odds of all of them are
shifted by one number. Before any click it is Gaussian around nothing; one click in five is taken to
be wrong; the shift is the mean of what is left of the Gaussian then. So a few clicks shift little,
many that agree shift more, none ever beyond `_WIDEST`, and the order of pictures stays as it is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from visterm.calibration.link import logistic

_DEVIATION = 0.5
"""Of the shift, before any click. With 0.5, judgements of a query's first pictures improved its
other probabilities most, and answers that somebody had chosen, as many yes as no, did little
harm."""
_ERROR = 0.2
_WIDEST = 2.0
_GRID = np.linspace(-_WIDEST, _WIDEST, 81)


def judged_shift(odds: ArrayLike, relevant: ArrayLike, weights: ArrayLike = 1.0) -> float:
    """What to add to the log odds of a query's pictures, after some of them were judged.

    ``weights`` are how much each judgement counts.

    >>> judged_shift([], [])
    0.0
    >>> round(judged_shift([2.0, 1.5, 1.0], [False, False, False]), 2)
    -0.22
    >>> judged_shift([2.0] * 9, [True] * 9) > judged_shift([2.0], [True]) > 0
    True
    """
    known, said = np.asarray(odds, np.float64), np.asarray(relevant, bool)
    if not known.size:
        return 0.0
    likely = logistic(_GRID[:, None] + known)
    right = np.where(said, likely, 1 - likely)
    logs = (np.asarray(weights) * np.log(_ERROR + (1 - 2 * _ERROR) * right)).sum(axis=1)
    logs -= 0.5 * np.square(_GRID / _DEVIATION)
    density = np.exp(logs - logs.max())
    return float(density @ _GRID / density.sum())
