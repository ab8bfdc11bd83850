"""Ways from a model's values to probabilities, side by side: `benchmarks.calibration --compare`.

Each learns from the pictures that a collection held out of its training, and says log-probabilities
of words for other pictures. Values are standardised, word by word, by those of the held-out
pictures, and by the collection's for the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from visterm.calibration.calibration import Calibration, log_logistic, logistic, word_statistics

Floats = NDArray[np.float64]
Rows = NDArray[np.float32]
Way = Callable[["HeldOut", Rows], Rows]

_ENOUGH = 5
"""Held-out pictures with a word from which on a word has a curve of its own."""
_LEAST = 1e-4
"""A step of an isotonic curve is neither impossible nor certain."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out pictures: values by the model that did not see them, and their captions' words."""

    values: Rows
    captions: NDArray[np.bool_]
    mention_rate: float
    calibration: Calibration

    @property
    def words(self) -> NDArray[np.int64]:
        """Words that enough of the pictures show."""
        return np.flatnonzero(self.captions.sum(axis=0) >= _ENOUGH)

    def standardised(self) -> Floats:
        means, deviations = word_statistics(self.values)
        return (self.values - means) / deviations

    def standardised_others(self, values: Rows) -> Floats:
        return (values - self.calibration.means) / self.calibration.deviations

    def odds(self) -> Floats:
        """Log odds of the held-out pictures by the collection's own link, for all words, as those
        that captions mention a word."""
        means, deviations = self.calibration.means, self.calibration.deviations
        link, numbers = self.calibration.link, np.arange(self.values.shape[1])
        alike = self.standardised() * deviations + means
        return link.odds(numbers, alike) + np.log(self.mention_rate)

    def accepted(self, mentioned: Floats) -> Rows:
        """Log-probabilities that a person accepts words, from log odds of their mention."""
        return log_logistic(mentioned - np.log(self.mention_rate)).astype(np.float32)


def kept(held: HeldOut, values: Rows) -> Rows:
    """What the collection does: one logistic regression, corrected word by word."""
    return held.calibration.link.rows(values)


def platt(held: HeldOut, values: Rows) -> Rows:
    """A logistic curve a word (J. Platt, 1999, with his targets)."""
    from sklearn.linear_model import LogisticRegression

    def fit(z: Floats, mentions: NDArray[np.bool_], others: Floats) -> Floats:
        count = int(mentions.sum())
        targets = (count + 1) / (count + 2), 1 / (len(z) - count + 2)
        sure = np.where(mentions, targets[0], 1 - targets[1])
        twice = np.concatenate([z, z])[:, None]
        classes = np.concatenate([mentions, ~mentions])
        weights = np.concatenate([sure, 1 - sure])
        curve = LogisticRegression(C=np.inf).fit(twice, classes, weights)
        found: Floats = curve.decision_function(others[:, None])
        return found

    return _by_word(held, values, fit)


def isotonic(held: HeldOut, values: Rows) -> Rows:
    """An isotonic curve a word."""

    def fit(z: Floats, mentions: NDArray[np.bool_], others: Floats) -> Floats:
        return _isotonic(z, mentions, others)

    return _by_word(held, values, fit)


def isotonic_together(held: HeldOut, values: Rows) -> Rows:
    """One isotonic curve for all words over what is kept."""
    words = np.flatnonzero(held.captions.any(axis=0))
    known = held.odds()[:, words].ravel()
    before = _odds(held, values)
    found = _isotonic(known, held.captions[:, words].ravel(), before.ravel())
    # Steps would tie pictures that are told apart.
    return held.accepted(found.reshape(before.shape) + 1e-6 * before)


def beta_together(held: HeldOut, values: Rows) -> Rows:
    """Beta calibration (M. Kull et al., 2017) over what is kept, for all words."""
    from sklearn.linear_model import LogisticRegression

    words = np.flatnonzero(held.captions.any(axis=0))
    known, mentions = held.odds()[:, words].ravel(), held.captions[:, words].ravel()
    curve = LogisticRegression(C=np.inf).fit(_beta(known), mentions)
    before = _odds(held, values)
    found = _beta(before.ravel()) @ curve.coef_[0] + curve.intercept_[0]
    return held.accepted(found.reshape(before.shape))


WAYS: dict[str, Way] = {
    "kept": kept,
    "platt": platt,
    "isotonic": isotonic,
    "isotonic_together": isotonic_together,
    "beta_together": beta_together,
}


def _by_word(
    held: HeldOut,
    values: Rows,
    fit: Callable[[Floats, NDArray[np.bool_], Floats], Floats],
) -> Rows:
    """A curve a word; words that few pictures show stay as they are kept."""
    rows = kept(held, values)
    z, others = held.standardised(), held.standardised_others(values)
    for word in held.words.tolist():
        mentioned = fit(z[:, word], held.captions[:, word], others[:, word])
        rows[:, word] = held.accepted(mentioned)
    return rows


def _odds(held: HeldOut, values: Rows) -> Floats:
    numbers = np.arange(values.shape[1])
    return held.calibration.link.odds(numbers, values) + np.log(held.mention_rate)


def _isotonic(known: Floats, mentions: NDArray[np.bool_], others: Floats) -> Floats:
    """Log odds by an isotonic regression from values to mentions."""
    from sklearn.isotonic import IsotonicRegression

    curve = IsotonicRegression(y_min=_LEAST, y_max=1 - _LEAST, out_of_bounds="clip")
    probability = curve.fit(known, mentions.astype(float)).predict(others)
    return np.log(probability / (1 - probability))


def _beta(odds: Floats) -> Floats:
    """The two features of beta calibration, ``log p`` and ``−log(1 − p)``."""
    likely = logistic(odds)
    return np.stack([np.log(likely + 1e-12), -np.log1p(-likely + 1e-12)], axis=1)
