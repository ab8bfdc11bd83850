"""What a trained model's values are worth: links from pictures that nobody learnt from.

A model that can say what a picture would have scored had it not been learnt from
(`Model.left_out`) is calibrated on all its captioned pictures, others on the held-out ones. So a
word that pictures do not show, however many captions hold it, gets a flat link around its base
rate, and adds nearly the same to every picture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.calibration.calibration import Calibration, uncalibrated, word_statistics
from visterm.calibration.estimation import ENOUGH, calibrate, rarer

if TYPE_CHECKING:
    from visterm.collection.training.training_set import TrainingSet
    from visterm.features.extractor import Rows as Vectors
    from visterm.models import Model
    from visterm.starter import Starter

_UNLIKE = 40.0
"""So many captions are worth half of what left-out pictures say: other pictures are less alike."""
_ENOUGH_LEFT_OUT = 10
"""With fewer pictures that were left out, only how usual words are is known."""


def calibrated(
    at_large: Vectors,
    learner: Model,
    judged: Model | None,
    training_set: TrainingSet,
    starter: Starter | None,
) -> Calibration:
    """The calibration of a model that learnt from all captions.

    ``judged`` did not learn from the held-out pictures; ``at_large`` are vectors of some pictures,
    captioned or not.
    """
    means, deviations = word_statistics(learner.transform(at_large))
    found = uncalibrated(means, deviations, -training_set.vocabulary.idf)
    elsewhere = None
    if starter is not None:
        # Of words that no caption here holds, only the starter knows what is usual: in a collection
        # that never shows an insect, the picture most like one is no insect.
        captioned = np.isin(np.arange(len(means)), training_set.captions.indices)
        elsewhere = starter.calibration(training_set.vocabulary)
        means = np.where(captioned, means, elsewhere.means)
        deviations = np.where(captioned, deviations, elsewhere.deviations)
        found = elsewhere = elsewhere.with_statistics(means, deviations)
    left_out, statistics = learner.left_out(), (means, deviations)
    if left_out is not None:
        numbers, rows = left_out
    elif judged is not None:
        numbers = np.flatnonzero(training_set.held)
        rows = judged.transform(training_set.vectors[numbers])
        statistics = word_statistics(judged.transform(at_large))
    frequency, unmeasured = _frequency(training_set), found
    if left_out is None and judged is None:
        return unmeasured
    if len(rows) < _ENOUGH_LEFT_OUT or not frequency.any():
        return unmeasured
    # What the starter knows of scores is adapted by few pictures, and replaced by many.
    is_adapted = elsewhere is not None and len(rows) < ENOUGH
    found = calibrate(
        rows,
        training_set.captions[numbers],
        frequency,
        mention_rate=training_set.mention_rate,
        known=elsewhere.with_frequency(-training_set.vocabulary.idf)
        if elsewhere is not None and is_adapted
        else None,
        statistics=statistics,
    ).with_statistics(means, deviations)
    found = found.flattened(len(training_set) / (len(training_set) + _UNLIKE))
    others = training_set.others
    if left_out is not None and others is not None:
        words = np.flatnonzero(frequency)
        found = rarer(found, words, rows, learner.transform(others))
    return found.with_fallback(frequency > 0, unmeasured)


def _frequency(training_set: TrainingSet) -> NDArray[np.float64]:
    """The part of captions that hold each word; 0 for words that a single one holds.

    Of these no left-out picture says anything: without it, the word was not learnt at all.
    """
    counts = np.bincount(training_set.captions.indices, minlength=len(training_set.vocabulary))
    return np.where(counts > 1, counts, 0) / len(training_set)
