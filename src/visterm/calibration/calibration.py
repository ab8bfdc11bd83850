"""Calibration: what a model's values and a query's scores say, and where good matches end.

A word's value becomes the logarithm of a probability, how likely a person would accept the picture
for the word: ``v_t(p) = log σ(i_t + k_t · s_t(p))`` (`Link`). It grows with the value, so pictures
keep their order; and since all words then speak in one unit, nats, a sum over words is the
probability that all of them hold, were they independent. The index holds these logarithms.

A score is such a sum, so ``exp`` of it is the probability that all words
hold, were they independent and somebody's random choice. They are neither: a picture with a beach
has the sea as well, the more so the rarer the two are, and who asks for something has mostly seen
it. So the log odds x of that product are scaled and shifted,
``logit P = a_n + b_n x + c_n Σ log f_t``, f_t how often captions hold a word, by numbers that fit
queries of one, two, and three words and more on validation pictures of three data sets alike. What
is all but certain stays so. The probability grows with the score, so the order of results and of
probabilities never disagree, and nothing in it depends on which other pictures are scored.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.quick_dataclass import dataclass

Floats = NDArray[np.float64]

GOOD = 0.5
"""The probability from which a match is good: it is likelier than not."""
POSSIBLE = 0.1
"""The probability from which a match is possible: less likely, but worth a look.
``benchmarks.honest_answers`` says how often either is right."""
_TINIEST = 1e-37
"""−log P where a probability is one as far as 32 bits can say."""
_NEW_INTERCEPT, _NEW_SLOPE = -4.0, 2.0
"""Of words that a yes began, in units of a word's usual deviation: one picture in fifty, unsure."""
_DEPENDENCE = ((0.0, 1.0, 0.0), (-1.6, 0.78, -0.25), (-2.8, 0.62, -0.3))
"""Intercept, slope of the log odds, and weight of the words' rarity, by words of the query."""
_INDEPENDENT = (0.0, 1.0, 0.0)
_DOUBT = 1.0
"""Log odds are never smaller than those of independent words by more than this."""
_USUAL_SEPARATION = 1.5
"""How many deviations pictures with a word lie above others, where nobody measured it."""


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


class QueryScale(NamedTuple):
    """One query's way from a score to log odds: ``max(intercept + slope · x, x − _DOUBT)``."""

    per_word: float
    """What makes a score one of words that count once each."""
    intercept: float
    slope: float


@dataclass(frozen=True, eq=False)
class Calibration:
    """Probabilities for the scores of one model.

    Attributes
    ----------
    link : Link
        How each word's values become log-probabilities.
    means, deviations : arrays of shape (T,)
        Mean and standard deviation of each word's values over pictures at large.
    log_frequency : array of shape (T,)
        Logarithm of the fraction of captions that hold the word.
    is_known : bool
        Whether held-out pictures, or those of the starter, say what values are worth.
    rivals : array of shape (m, 2)
        Pairs of words of which the first, never measured on any picture, looks much like the
        second: a picture shows one of them.
    shift : float
        Added to the log odds of one query's pictures, after some of them were judged.

    Examples
    --------
    >>> link = Link(np.array([0.0, -2.0]), np.array([1.0, 2.0]))
    >>> found = Calibration(link, np.zeros(2), np.ones(2), np.log([0.05, 0.01]), True)
    >>> found.probabilities([0, 1], [1.0, 1.0], np.log([0.05, 0.5, 0.98])).round(2).tolist()
    [0.12, 0.57, 0.97]
    >>> float(np.exp(found.least_score([0, 1], [1.0, 1.0], 0.5)).round(2))
    0.4
    """

    link: Link
    means: Floats
    deviations: Floats
    log_frequency: Floats
    is_known: bool = False
    rivals: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 2), np.int64))
    shift: float = 0.0

    def probabilities(self, words: ArrayLike, weights: ArrayLike, scores: ArrayLike) -> Floats:
        """The probability that each of the pictures with these scores answers the query."""
        return logistic(self.odds(words, weights, scores))

    def odds(self, words: ArrayLike, weights: ArrayLike, scores: ArrayLike) -> Floats:
        """Their log odds."""
        scale = self.scale(words, weights)
        odds = log_odds(np.minimum(np.asarray(scores, np.float64) * scale.per_word, 0.0))
        return np.maximum(scale.intercept + scale.slope * odds, odds - _DOUBT) + self.shift

    def shifted(self, shift: float) -> Calibration:
        """The same for one query, whose clicks say that log odds are too low by so much."""
        return replace(self, shift=shift)

    def least_score(self, words: ArrayLike, weights: ArrayLike, probability: float) -> float:
        """The score from which pictures answer with this probability or a higher one."""
        scale = self.scale(words, weights)
        wanted = np.log(probability / (1 - probability)) - self.shift
        odds = min((wanted - scale.intercept) / scale.slope, wanted + _DOUBT)
        return float(log_logistic(np.asarray(odds))) / scale.per_word

    def exclusive(self, logs: ArrayLike) -> Floats:
        """Probabilities of all words where those with rivals share what a picture shows with them,
        in proportion to their odds: which of words that exclude each other to choose.

        >>> pair = Calibration(Link(np.zeros(2), np.ones(2)), np.zeros(2), np.ones(2), np.zeros(2),
        ...     rivals=np.array([[1, 0]]))
        >>> pair.exclusive(np.log([[0.9, 0.75]])).round(2).tolist()
        [[0.9, 0.19]]
        """
        known = np.minimum(np.asarray(logs, np.float64), 0.0)
        if not len(self.rivals):
            return np.exp(known)
        odds = np.exp(np.minimum(log_odds(known), 30.0))
        words, others = self.rivals.T
        every = odds.copy()
        np.add.at(every.T, words, odds.T[others])
        return np.exp(known) * odds / np.maximum(every, 1e-300)

    def scale(self, words: ArrayLike, weights: ArrayLike) -> QueryScale:
        """How scores of one query become odds; negative words count in its score alone."""
        chosen, q = np.asarray(words, np.int64), np.asarray(weights, np.float64)
        sizes = np.minimum(np.abs(q), 1.0)  # shares of a replaced word make one together
        wanted = np.where(q > 0, sizes, 0.0)
        count = round(float(wanted.sum()))
        rarity = float(wanted @ self.log_frequency[chosen])
        known = _DEPENDENCE[min(count, len(_DEPENDENCE)) - 1] if count else _INDEPENDENT
        per_word = float(sizes.sum()) / (float(np.abs(q).sum()) or 1.0)
        return QueryScale(per_word, known[0] + known[2] * rarity, known[1])

    def with_statistics(self, means: Floats, deviations: Floats) -> Calibration:
        """The same for another model's values, as for the model trained on all captions."""
        slopes = self.link.slopes * self.deviations / deviations
        intercepts = self.link.intercepts + self.link.slopes * self.means - slopes * means
        return replace(self, link=Link(intercepts, slopes), means=means, deviations=deviations)

    def flattened(self, share: ArrayLike) -> Calibration:
        """The same with slopes of this share, of each word or of all, around the means."""
        slopes = np.asarray(share) * self.link.slopes
        intercepts = self.link.intercepts + (self.link.slopes - slopes) * self.means
        return replace(self, link=Link(intercepts, slopes))

    def with_frequency(self, log_frequency: Floats) -> Calibration:
        """The same where words are so frequent: odds grow in proportion."""
        intercepts = self.link.intercepts + log_frequency - self.log_frequency
        return replace(self, link=Link(intercepts, self.link.slopes), log_frequency=log_frequency)

    def with_fallback(self, covered: NDArray[np.bool_], fallback: Calibration) -> Calibration:
        """The same, but words that are not ``covered`` are as ``fallback`` knows them."""
        link = Link(
            np.where(covered, self.link.intercepts, fallback.link.intercepts),
            np.where(covered, self.link.slopes, fallback.link.slopes),
        )
        frequency = np.where(covered, self.log_frequency, fallback.log_frequency)
        rivals = fallback.rivals[~covered[fallback.rivals[:, 0]]]
        return replace(self, link=link, log_frequency=frequency, rivals=rivals)

    def with_more_words(self, count: int) -> Calibration:
        """The same with so many words after the others, of which nothing is known yet."""
        if not count:
            return self
        unit = float(np.median(self.deviations))
        return replace(
            self,
            link=self.link.with_more_words(count, unit),
            means=np.append(self.means, np.zeros(count)),
            deviations=np.append(self.deviations, np.full(count, unit)),
            log_frequency=np.append(self.log_frequency, [self.log_frequency.min()] * count),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "link": self.link.to_json(),
            "means": self.means.tolist(),
            "spreads": self.deviations.tolist(),
            "rarity": self.log_frequency.tolist(),
            "known": self.is_known,
            "rivals": self.rivals.tolist(),
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Calibration:
        return cls(
            Link.from_json(stored["link"]),
            means=np.asarray(stored["means"], float),
            deviations=np.asarray(stored["spreads"], float),
            log_frequency=np.asarray(stored["rarity"], float),
            is_known=bool(stored["known"]),
            rivals=np.asarray(stored.get("rivals", []), np.int64).reshape(-1, 2),
        )


def uncalibrated(means: Floats, deviations: Floats, log_frequency: Floats) -> Calibration:
    """Links from how usual words are alone: two Gaussians of one deviation each."""
    apart = _USUAL_SEPARATION
    slopes = apart / deviations
    intercepts = log_frequency - 0.5 * apart**2 - slopes * means
    return Calibration(Link(intercepts, slopes), means, deviations, log_frequency)


def word_statistics(rows: NDArray[np.floating]) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each word's values over pictures × words.

    >>> [found.tolist() for found in word_statistics(np.array([[0.0, 5.0], [2.0, 5.0]]))]
    [[1.0, 5.0], [1.0, 1.0]]
    """
    deviations = rows.std(axis=0, dtype=np.float64)
    return rows.mean(axis=0, dtype=np.float64), np.where(deviations > 0, deviations, 1.0)
