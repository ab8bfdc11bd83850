"""How a word of somebody's own is found by the usual means, alone or with a word that is known.

Each way ranks pictures by a few examples and, where one is given, by a known word, of which
``weights`` are what it looks like and ``logs`` its log-probability of every picture. Pictures are
centred on the mean of the collection, and of length one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

Floats = NDArray[np.float32]
Way = Callable[["Asked"], Floats]


class Asked:
    """Pictures (units) among which to find, which of them are examples, and the known word."""

    def __init__(self, units: Floats, examples: NDArray[np.int64]) -> None:
        self.units, self.examples = units, examples
        self.mean = _unit(units[examples].mean(axis=0))
        self.weights: Floats | None = None
        self.logs: Floats | None = None
        self._probabilities: Floats | None = None

    def together_with(self, weights: Floats, logs: Floats) -> Asked:
        """The same with a known word."""
        found = Asked(self.units, self.examples)
        found.weights, found.logs = _unit(weights), logs
        found._probabilities = self.probabilities
        return found

    @property
    def probabilities(self) -> Floats:
        """Of the examples' word: logistic regression against all other pictures, balanced."""
        if self._probabilities is None:
            held = np.zeros(len(self.units), bool)
            held[self.examples] = True
            model = LogisticRegression(C=C, class_weight="balanced", max_iter=300)
            self._probabilities = model.fit(self.units, held).predict_log_proba(self.units)[:, 1]
        assert self._probabilities is not None
        return self._probabilities


C = 1.0
"""Of logistic regression, for pictures of length one; what did best on validation pictures."""


def mean_picture(asked: Asked) -> Floats:
    """Cosine to the mean example; the known word is not looked at."""
    return np.asarray(asked.units @ asked.mean)


def mean_picture_and_text(asked: Asked) -> Floats:
    """The same plus the known word's scores, both in standard deviations."""
    alike = _standardised(mean_picture(asked))
    return alike if asked.weights is None else alike + _standardised(asked.units @ asked.weights)


def mean_of_both(asked: Asked) -> Floats:
    """Cosine to the mean of the mean example and the word's weights, both of length one."""
    if asked.weights is None:
        return mean_picture(asked)
    return np.asarray(asked.units @ (asked.mean + asked.weights))


def logistic_and_text(asked: Asked) -> Floats:
    """Probability by logistic regression times probability of the known word, as logarithms."""
    return asked.probabilities if asked.logs is None else asked.probabilities + asked.logs


WAYS: dict[str, Way] = {
    "mean_picture": mean_picture,
    "mean_picture_and_text": mean_picture_and_text,
    "palavra": mean_of_both,
    "logistic_times_text": logistic_and_text,
}


def _unit(vector: Floats) -> Floats:
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-9), np.float32)


def _standardised(scores: Floats) -> Floats:
    return np.asarray((scores - scores.mean()) / max(float(scores.std()), 1e-9), np.float32)
