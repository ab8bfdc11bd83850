"""Calibration of versions made before the link: Platt scaling of linear scores.

Their index holds a model's values as they are, until the next writer links them.

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
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.calibration.calibration import Calibration
from visterm.calibration.link import Floats, Link, logistic

MIN_SLOPE = 0.05
"""A higher score is never less likely to answer."""

_ENOUGH = 0.3
_TIMES = 3.0
"""The best probability counts as at most `_ENOUGH`, or so many times what the words have anyway."""
_MORE = 1.5
"""A good match is so many times likelier to answer than any picture."""
_SURE = 0.5
"""What is likelier than not is a good match."""

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
class LinearCalibration:
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
    fallback : LinearCalibration, optional
        What to go by for a query with a word that is not covered: it may be rarer than any that
        was seen, and far worse separated.

    Examples
    --------
    >>> found = LinearCalibration(
    ...     np.zeros(2), np.ones(2), np.log([0.5, 0.1]), np.full(2, 2.0),
    ...     np.array([-2.0, 0, 0, 0, 0]), np.array([2.0, 0, 0, 0, 0]), 0.02, 0.4,
    ... )
    >>> found.probabilities([0], [1.0], [1.0, 3.0]).round(2).tolist()
    [0.5, 0.98]
    >>> round(found.cutoff([0], [1.0], best=3.0), 2)
    1.0
    """

    link: ClassVar[None] = None
    is_known: ClassVar[bool] = True
    means: Floats
    deviations: Floats
    log_frequency: Floats
    separation: Floats
    intercept: Floats
    slope: Floats
    level: float
    fraction: float
    covered: NDArray[np.bool_] | None = None
    fallback: LinearCalibration | None = None

    def probabilities(self, words: ArrayLike, weights: ArrayLike, scores: ArrayLike) -> Floats:
        """The probability that each of the pictures with these scores answers the query."""
        scale = self.scale(words, weights)
        return logistic(scale.intercept + scale.slope * np.asarray(scores, np.float64))

    def cutoff(self, words: ArrayLike, weights: ArrayLike, best: float) -> float:
        """The score from which a match is good, where ``best`` is the highest in the collection."""
        responsible = self._responsible(words)
        scale = responsible.scale(words, weights)
        highest = logistic(np.array([scale.intercept + scale.slope * best]))
        prior = float(np.exp(responsible._description(words, weights)[1]))
        fraction, level = responsible.fraction, responsible.level
        wanted = fraction * min(float(highest[0]), max(_ENOUGH, _TIMES * prior))
        least = min(max(level, _MORE * prior, wanted), _SURE)
        return (float(np.log(least / (1 - least))) - scale.intercept) / scale.slope

    def word_probabilities(self, values: ArrayLike) -> Floats:
        """The probability that a picture shows each word, from its row in the text space.

        Rows of many pictures give as many rows.

        >>> found = LinearCalibration(
        ...     np.zeros(2), np.ones(2), np.log([0.5, 0.1]), np.full(2, 2.0),
        ...     np.array([0.0, 1, 0, 0, 0]), np.array([2.0, 0, 0, 0, 0]), 0.02, 0.4,
        ... )
        >>> found.word_probabilities([1.0, 1.0]).round(2).tolist()
        [0.79, 0.42]
        """
        row = np.asarray(values, np.float64)
        link = self.linked().link
        return logistic(link.intercepts + link.slopes * row)

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

    def linked(self) -> Calibration:
        """The same as a calibration of log-probabilities, from the scales of single words."""
        scales = [self.scale([word], [1.0]) for word in range(len(self.means))]
        intercepts, slopes = np.array(scales).reshape(-1, 2).T
        link = Link(intercepts, slopes)
        return Calibration(link, self.means, self.deviations, self.log_frequency, True)

    def with_more_words(self, count: int) -> LinearCalibration:
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

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> LinearCalibration:
        given: dict[str, Any] = {
            name: np.asarray(stored[key], float) for name, key in _STORED_ARRAYS.items()
        }
        found = cls(**given, level=float(stored["level"]), fraction=float(stored["part"]))
        if "elsewhere" not in stored:
            return found
        covered = np.zeros(len(found.means), dtype=bool)
        covered[np.asarray(stored["taught"], np.int64)] = True
        return replace(found, covered=covered, fallback=cls.from_json(stored["elsewhere"]))

    def _responsible(self, words: ArrayLike) -> LinearCalibration:
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
