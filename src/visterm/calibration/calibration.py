"""Calibration: what a query's score says of a picture, and where its good matches end.

A score is a sum of log-probabilities (`Link`), so ``exp`` of it is the probability that all words
hold, were they independent. They are not: a picture with a beach has the sea as well. So for
queries of several words the log odds of that product are scaled and shifted, by numbers learnt for
each number of words; one word alone is what its link says. The probability grows with the score,
so the order of results and of probabilities never disagree, and nothing in it depends on which
other pictures are scored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.calibration.cutoff import probability_threshold
from visterm.calibration.link import Floats, Link, log_logistic, log_odds, logistic

_USUAL_SEPARATION = 1.5
"""How many deviations pictures with a word lie above others, where nobody measured it."""


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
    dependence : array of shape (m, 2)
        Intercept and slope of the log odds of queries of 1, 2 … m words and more.
    level, fraction : float or None
        The probability below which no match is good, and the fraction of the best one's that a good
        match must have. None where no held-out picture says what probabilities are worth.

    Examples
    --------
    >>> link = Link(np.array([0.0, -2.0]), np.array([1.0, 2.0]))
    >>> plain = np.array([[0.0, 1.0]])
    >>> found = Calibration(link, np.zeros(2), np.ones(2), np.log([0.5, 0.1]), plain, 0.02, 0.4)
    >>> found.probabilities([1], [1.0], np.log([0.5, 0.9])).round(2).tolist()
    [0.5, 0.9]
    >>> float(np.exp(found.cutoff([1], [1.0], best=np.log(0.9))).round(2))
    0.15
    """

    link: Link
    means: Floats
    deviations: Floats
    log_frequency: Floats
    dependence: Floats
    level: float | None = None
    fraction: float | None = None

    @property
    def is_known(self) -> bool:
        """Whether held-out pictures, or those of the starter, say what scores are worth."""
        return self.level is not None

    def probabilities(self, words: ArrayLike, weights: ArrayLike, scores: ArrayLike) -> Floats:
        """The probability that each of the pictures with these scores answers the query."""
        size, (intercept, slope) = self._scale(weights)
        logs = np.minimum(np.asarray(scores, np.float64) * size, 0.0)
        return logistic(intercept + slope * log_odds(logs))

    def cutoff(self, words: ArrayLike, weights: ArrayLike, best: float) -> float:
        """The score from which a match is good, where ``best`` is the highest in the collection."""
        assert self.level is not None
        assert self.fraction is not None
        size, (intercept, slope) = self._scale(weights)
        highest = self.probabilities(words, weights, [best])
        wanted = np.asarray(words, np.int64)[np.asarray(weights) > 0]
        prior = np.exp(self.log_frequency[wanted].sum())
        least = float(probability_threshold(highest, prior, self.fraction, self.level)[0])
        odds = (np.log(least / (1 - least)) - intercept) / slope
        return float(log_logistic(odds)) / size

    def with_statistics(self, means: Floats, deviations: Floats) -> Calibration:
        """The same for another model's values, as for the model trained on all captions."""
        slopes = self.link.slopes * self.deviations / deviations
        intercepts = self.link.intercepts + self.link.slopes * self.means - slopes * means
        return replace(self, link=Link(intercepts, slopes), means=means, deviations=deviations)

    def with_fallback(self, covered: NDArray[np.bool_], fallback: Calibration) -> Calibration:
        """The same, but words that are not ``covered`` are linked as by ``fallback``."""
        link = Link(
            np.where(covered, self.link.intercepts, fallback.link.intercepts),
            np.where(covered, self.link.slopes, fallback.link.slopes),
        )
        return replace(self, link=link)

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
        stored = {
            "link": self.link.to_json(),
            "means": self.means.tolist(),
            "spreads": self.deviations.tolist(),
            "rarity": self.log_frequency.tolist(),
            "dependence": self.dependence.tolist(),
        }
        return stored | ({"level": self.level, "part": self.fraction} if self.is_known else {})

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Calibration:
        return cls(
            Link.from_json(stored["link"]),
            means=np.asarray(stored["means"], float),
            deviations=np.asarray(stored["spreads"], float),
            log_frequency=np.asarray(stored["rarity"], float),
            dependence=np.asarray(stored["dependence"], float),
            level=stored.get("level"),
            fraction=stored.get("part"),
        )

    def _scale(self, weights: ArrayLike) -> tuple[float, Floats]:
        """What makes a score one of words that count once each, and the dependence of so many."""
        sizes = np.abs(np.asarray(weights, np.float64))
        count = float(np.minimum(sizes, 1.0).sum())  # shares of a replaced word make one together
        row = np.clip(round(count) - 1, 0, len(self.dependence) - 1)
        return count / (float(sizes.sum()) or 1.0), self.dependence[int(row)]


def uncalibrated(means: Floats, deviations: Floats, log_frequency: Floats) -> Calibration:
    """Links from how usual words are alone: two Gaussians of one deviation each."""
    apart = _USUAL_SEPARATION
    slopes = apart / deviations
    intercepts = log_frequency - 0.5 * apart**2 - slopes * means
    plain = np.array([[0.0, 1.0]])
    return Calibration(Link(intercepts, slopes), means, deviations, log_frequency, plain)


def word_statistics(rows: NDArray[np.floating]) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each word's values over pictures × words.

    >>> [found.tolist() for found in word_statistics(np.array([[0.0, 5.0], [2.0, 5.0]]))]
    [[1.0, 5.0], [1.0, 1.0]]
    """
    deviations = rows.std(axis=0, dtype=np.float64)
    return rows.mean(axis=0, dtype=np.float64), np.where(deviations > 0, deviations, 1.0)
