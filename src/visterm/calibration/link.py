"""The link: a model's value of a word becomes the logarithm of a probability.

``v_t(p) = log σ(i_t + k_t · s_t(p))``, with an intercept and a slope a word: how likely a person
would accept the picture for the word. It grows with the value, so pictures keep their order; and
since all words then speak in one unit, nats, a sum over words is the probability that all of them
hold, were they independent. The index holds these logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_TINIEST = 1e-37
"""−log P where a probability is one as far as 32 bits can say."""
_NEW_INTERCEPT, _NEW_SLOPE = -4.0, 2.0
"""Of words that a yes began, in units of a word's usual deviation: one picture in fifty, unsure."""


@dataclass(frozen=True, eq=False)
class Link:
    """Intercepts and slopes (T,) of the words.

    Examples
    --------
    >>> link = Link(np.array([0.0, -2.0]), np.array([1.0, 2.0]))
    >>> rows = link.rows(np.array([[1.0, 1.0]], np.float32))
    >>> np.exp(rows.astype(float)).round(2).tolist()
    [[0.73, 0.5]]
    >>> link.values([0, 1], rows).round(2).tolist()
    [[1.0, 1.0]]
    """

    intercepts: Floats
    slopes: Floats

    def __len__(self) -> int:
        return len(self.slopes)

    def rows(self, values: NDArray[np.floating]) -> NDArray[np.float32]:
        """Log-probabilities of a model's rows, pictures × as many words as it knows."""
        count = values.shape[1]
        slopes, intercepts = self.slopes[:count], self.intercepts[:count]
        odds = slopes.astype(np.float32) * values + intercepts.astype(np.float32)
        return log_logistic(odds).astype(np.float32, copy=False)

    def values(self, words: ArrayLike, logs: NDArray[np.floating]) -> Floats:
        """A model's values from log-probabilities of some words, pictures × these words."""
        chosen = np.asarray(words, np.int64)
        return (log_odds(logs) - self.intercepts[chosen]) / self.slopes[chosen]

    def odds(self, words: ArrayLike, values: NDArray[np.floating]) -> Floats:
        """Log odds of a model's values of some words, pictures × these words."""
        chosen = np.asarray(words, np.int64)
        return self.intercepts[chosen] + self.slopes[chosen] * values

    def offsets(
        self, words: ArrayLike, odds: NDArray[np.floating], moves: NDArray[np.floating]
    ) -> NDArray[np.float32]:
        """What moves of a model's values add to the log-probabilities of words of some odds, in
        the precision of these."""
        moved = odds + (self.slopes[np.asarray(words, np.int64)] * moves).astype(odds.dtype)
        return (log_logistic(moved) - log_logistic(odds)).astype(np.float32)

    def with_more_words(self, count: int, unit: float) -> Link:
        """The same with so many words after the others, which are rare and unsure."""
        return Link(
            np.append(self.intercepts, np.full(count, _NEW_INTERCEPT)),
            np.append(self.slopes, np.full(count, _NEW_SLOPE / unit)),
        )

    def to_json(self) -> dict[str, Any]:
        return {"intercepts": self.intercepts.tolist(), "slopes": self.slopes.tolist()}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Link:
        return cls(np.asarray(stored["intercepts"], float), np.asarray(stored["slopes"], float))


def logistic(odds: Floats) -> Floats:
    return 0.5 * (1.0 + np.tanh(0.5 * odds))


def log_logistic(odds: NDArray[np.floating]) -> NDArray[np.floating]:
    """``log σ(x)``, in the precision of x."""
    return np.minimum(odds, 0) - np.log1p(np.exp(-np.abs(odds)))


def log_odds(logs: ArrayLike) -> Floats:
    """The log odds of probabilities given by their logarithms: the inverse of `log_logistic`.

    >>> log_odds(log_logistic(np.array([-500.0, -3.0, 2.0, 20.0]))).round(6).tolist()
    [-500.0, -3.0, 2.0, 20.0]
    """
    unlikely = np.maximum(-np.asarray(logs, np.float64), _TINIEST)
    return np.where(unlikely > 30, -unlikely, -np.log(np.expm1(np.minimum(unlikely, 30))))
