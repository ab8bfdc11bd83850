"""Platt scaling whose slope and intercept depend on the query: scores to probabilities.

A score says which of two pictures answers better, not whether either does: scores of frequent and
rare words, of one word and of four, live on different scales. So a score is first standardised by
its query's words, ``z = (s − Σ q_t μ_t) / √(Σ q_t² σ_t²)``, with μ_t and σ_t the mean and standard
deviation of a word's values over pictures at large; then a logistic function of z, whose intercept
and slope depend on how rare the words are, how many there are and how well each is separated,
makes it a probability. Nothing in it depends on which other pictures are scored.

J. Platt, Probabilistic outputs for support vector machines, 1999, is the idea for one classifier.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.calibration.cutoff import Floats, probability_threshold

MIN_SLOPE = 0.05
"""A higher score is never less likely to answer."""

# Attributes under the keys that stored calibrations have had from the first.
_STORED_ARRAYS = {
    "means": "means",
    "deviations": "spreads",
    "log_frequency": "rarity",
    "separation": "separation",
    "intercept": "place",
    "slope": "slope",
}


class PlattScale(NamedTuple):
    """One query's way from a score to the logarithm of the odds: ``intercept + slope · score``."""

    intercept: float
    slope: float


@dataclass(frozen=True, eq=False)
class Calibration:
    """Probabilities for the scores of one model.

    Attributes
    ----------
    means, deviations : arrays of shape (T,)
        Mean and standard deviation of each word's values over pictures at large.
    log_frequency : array of shape (T,)
        Logarithm of the fraction of captions that hold the word.
    separation : array of shape (T,)
        How many standard deviations pictures with the word lie above pictures at large.
    intercept, slope : arrays of shape (5,)
        What a query's description (`query_description`) contributes to the odds, and to how fast
        they grow with z.
    level : float
        The probability below which no match is good.
    fraction : float
        The fraction of the best one's probability that a good match must have.
    covered : array of bool of shape (T,), optional
        Which words validation pictures said something about.
    fallback : Calibration, optional
        What to go by for a query with a word that is not covered: it may be rarer than any that
        was seen, and far worse separated.

    Examples
    --------
    >>> found = Calibration(
    ...     np.zeros(2), np.ones(2), np.log([0.5, 0.1]), np.full(2, 2.0),
    ...     np.array([-2.0, 0, 0, 0, 0]), np.array([2.0, 0, 0, 0, 0]), 0.02, 0.4,
    ... )
    >>> found.probabilities([0], [1.0], [1.0, 3.0]).round(2).tolist()
    [0.5, 0.98]
    >>> round(found.cutoff([0], [1.0], best=3.0), 2)
    1.0
    """

    means: Floats
    deviations: Floats
    log_frequency: Floats
    separation: Floats
    intercept: Floats
    slope: Floats
    level: float
    fraction: float
    covered: NDArray[np.bool_] | None = None
    fallback: Calibration | None = None

    def probabilities(self, words: ArrayLike, weights: ArrayLike, scores: ArrayLike) -> Floats:
        """The probability that each of the pictures with these scores answers the query."""
        scale = self.scale(words, weights)
        return logistic(scale.intercept + scale.slope * np.asarray(scores, np.float64))

    def cutoff(self, words: ArrayLike, weights: ArrayLike, best: float) -> float:
        """The score from which a match is good, where ``best`` is the highest in the collection."""
        responsible = self._responsible(words)
        scale = responsible.scale(words, weights)
        highest = logistic(np.array([scale.intercept + scale.slope * best]))
        prior = np.exp(responsible._description(words, weights)[1])
        fraction, level = responsible.fraction, responsible.level
        least = float(probability_threshold(highest, prior, fraction, level)[0])
        return (float(np.log(least / (1 - least))) - scale.intercept) / scale.slope

    def word_probabilities(self, values: ArrayLike) -> Floats:
        """The probability that a picture shows each word, from its row in the text space.

        Rows of many pictures give as many rows.

        >>> found = Calibration(
        ...     np.zeros(2), np.ones(2), np.log([0.5, 0.1]), np.full(2, 2.0),
        ...     np.array([0.0, 1, 0, 0, 0]), np.array([2.0, 0, 0, 0, 0]), 0.02, 0.4,
        ... )
        >>> found.word_probabilities([1.0, 1.0]).round(2).tolist()
        [0.79, 0.42]
        """
        row = np.asarray(values, np.float64)
        scales = [self.scale([word], [1.0]) for word in range(row.shape[-1])]
        intercept, slope = np.array(scales).reshape(-1, 2).T
        return logistic(intercept + slope * row)

    def scale(self, words: ArrayLike, weights: ArrayLike) -> PlattScale:
        """How scores of one query become odds."""
        if (responsible := self._responsible(words)) is not self:
            return responsible.scale(words, weights)
        chosen, q = np.asarray(words, np.int64), np.asarray(weights, np.float64)
        description = self._description(chosen, q)
        slope = max(float(description @ self.slope), MIN_SLOPE)
        mean = float(q @ self.means[chosen])
        deviation = float(np.sqrt(np.square(q) @ np.square(self.deviations[chosen]))) or 1.0
        intercept = float(description @ self.intercept) - slope * mean / deviation
        return PlattScale(intercept, slope / deviation)

    def with_statistics(self, means: Floats, deviations: Floats) -> Calibration:
        """The same for another model's values, as for the model trained on all captions."""
        return replace(self, means=means, deviations=deviations)

    def with_fallback(self, covered: NDArray[np.bool_], fallback: Calibration) -> Calibration:
        """The same, but ``fallback`` for queries with words that are not ``covered``."""
        return replace(self, covered=covered, fallback=fallback)

    def with_more_words(self, count: int) -> Calibration:
        """The same with so many words after the others, of which nothing is known yet.

        They count as rare as the rarest, and as well separated as most.
        """
        if not count:
            return self

        def more(values: Floats, value: float) -> Floats:
            return np.concatenate([values, np.full(count, value)])

        return replace(
            self,
            means=more(self.means, 0.0),
            deviations=more(self.deviations, float(np.median(self.deviations))),
            log_frequency=more(self.log_frequency, float(self.log_frequency.min())),
            separation=more(self.separation, float(np.median(self.separation))),
            covered=None if self.covered is None else np.append(self.covered, [False] * count),
            fallback=None if self.fallback is None else self.fallback.with_more_words(count),
        )

    def to_json(self) -> dict[str, Any]:
        stored = {key: getattr(self, name).tolist() for name, key in _STORED_ARRAYS.items()}
        stored |= {"level": self.level, "part": self.fraction}
        if self.covered is not None and self.fallback is not None:
            stored["taught"] = np.flatnonzero(self.covered).tolist()
            stored["elsewhere"] = self.fallback.to_json()
        return stored

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Calibration:
        given: dict[str, Any] = {
            name: np.asarray(stored[key], float) for name, key in _STORED_ARRAYS.items()
        }
        found = cls(**given, level=float(stored["level"]), fraction=float(stored["part"]))
        if "elsewhere" not in stored:
            return found
        covered = np.zeros(len(found.means), dtype=bool)
        covered[np.asarray(stored["taught"], np.int64)] = True
        return found.with_fallback(covered, cls.from_json(stored["elsewhere"]))

    def _responsible(self, words: ArrayLike) -> Calibration:
        """Which of the two covers all of these words."""
        if self.fallback is None or self.covered is None:
            return self
        return self if self.covered[np.asarray(words, np.int64)].all() else self.fallback

    def _description(self, words: ArrayLike, weights: ArrayLike) -> Floats:
        return query_description(words, weights, self.log_frequency, self.separation)


def query_description(
    words: ArrayLike, weights: ArrayLike, log_frequency: Floats, separation: Floats
) -> Floats:
    """One, rarity of the words wanted, how many, how well separated, and that squared."""
    chosen, q = np.asarray(words, np.int64), np.asarray(weights, np.float64)
    wanted = chosen[q > 0]
    apart = float(np.square(q) @ separation[chosen]) / (float(q @ q) or 1.0)
    rarity = float(log_frequency[wanted].sum())
    return np.array([1.0, rarity, len(wanted) - 1.0, apart, apart * apart])


def word_statistics(rows: NDArray[np.floating]) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each word's values over pictures × words.

    >>> [found.tolist() for found in word_statistics(np.array([[0.0, 5.0], [2.0, 5.0]]))]
    [[1.0, 5.0], [1.0, 1.0]]
    """
    deviations = rows.std(axis=0, dtype=np.float64)
    return rows.mean(axis=0, dtype=np.float64), np.where(deviations > 0, deviations, 1.0)


def logistic(odds: Floats) -> Floats:
    return 0.5 * (1.0 + np.tanh(0.5 * odds))
