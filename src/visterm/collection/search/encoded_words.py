"""Words that no model has met, where pictures are described by a dual encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.calibration.calibration import Calibration, Floats
from visterm.collection.feedback.encoder_words import SEPARATION, word_directions
from visterm.index.columns import WordWeights
from visterm.quick_dataclass import dataclass

if TYPE_CHECKING:
    from visterm.collection.store.snapshot import Snapshot

FREQUENCY = 0.02
"""How many pictures in one show a word of which nothing is known."""


def encoded_weights(now: Snapshot, words: Sequence[str]) -> list[WordWeights]:
    """What makes the columns of words: how far pictures lie above the others."""
    known: dict[str, WordWeights] = now.remembered("encoded words", dict)
    if new := [word for word in words if word not in known]:
        key = now.words.version.extractor
        pictures = now.pictures(key)
        assert pictures is not None
        vectors, usual = word_directions(key, pictures, new)
        biases = np.log(FREQUENCY) - 0.5 * SEPARATION**2 - usual
        for word, vector, bias in zip(new, vectors, biases, strict=True):
            known[word] = WordWeights(float(bias), vector.astype(np.float32))
    return [known[word] for word in words]


@dataclass(frozen=True)
class EncodedCalibration:
    """A calibration for queries whose last words no model has met."""

    known: Calibration
    unseen: int

    def probabilities(self, words: ArrayLike, weights: ArrayLike, scores: ArrayLike) -> Floats:
        return self.known.probabilities(self._numbers(words), weights, scores)

    def least_score(self, words: ArrayLike, weights: ArrayLike, probability: float) -> float:
        return self.known.least_score(self._numbers(words), weights, probability)

    def odds(self, words: ArrayLike, weights: ArrayLike, scores: ArrayLike) -> Floats:
        return self.known.odds(self._numbers(words), weights, scores)

    def shifted(self, shift: float) -> EncodedCalibration:
        return replace(self, known=self.known.shifted(shift))

    def _numbers(self, words: ArrayLike) -> NDArray[np.int64]:
        count = len(self.known.log_frequency)
        return np.append(np.asarray(words, np.int64), np.arange(count - self.unseen, count))


def calibrated(known: Calibration, unseen: int) -> EncodedCalibration:
    """The calibration with so many more words, as usual as `FREQUENCY` says."""
    more = known.with_more_words(unseen)
    more.log_frequency[len(more.log_frequency) - unseen :] = np.log(FREQUENCY)
    return EncodedCalibration(more, unseen)
