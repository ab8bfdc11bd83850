"""What a trained model's values are worth: links from pictures that nobody learnt from.

A model that can say what a picture would have scored had it not been learnt from
(`Model.left_out`) is calibrated on all its captioned pictures, others on the held-out ones. So a
word that pictures do not show, however many captions hold it, gets a flat link around its base
rate, and adds nearly the same to every picture.
"""

from __future__ import annotations

from dataclasses import replace
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
_UNMEASURED = 0.8
"""The part of the usual slope of a word that the starter does not know and that no left-out picture
measures: its one example must look very much like a picture for that to be a good match."""
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
    unmeasured, elsewhere = uncalibrated(means, deviations, -training_set.vocabulary.idf), None
    if starter is not None and training_set.initial is not None:
        elsewhere = _as_the_starter(starter, training_set, at_large, means, deviations)
        means, deviations = elsewhere.means, elsewhere.deviations
        unmeasured = elsewhere.flattened(np.where(_known(training_set.initial), 1.0, _UNMEASURED))
    left_out, statistics = learner.left_out(), (means, deviations)
    if left_out is not None:
        numbers, rows = left_out
    elif judged is not None:
        numbers = np.flatnonzero(training_set.held)
        rows = judged.transform(training_set.vectors[numbers])
        statistics = word_statistics(judged.transform(at_large))
    frequency = _frequency(training_set)
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


def _as_the_starter(
    starter: Starter,
    training_set: TrainingSet,
    at_large: Vectors,
    means: NDArray[np.float64],
    deviations: NDArray[np.float64],
) -> Calibration:
    """The starter's links for values of a model that learnt, of such means and deviations here.

    Only the starter knows what is usual: in a collection that never shows an insect, the picture
    most like one is no insect, and one caption with an insect changes nothing about that. Captions
    have moved and scaled the values of their words, so the pictures at large say which of the
    starter's values is which of the model's.
    """
    assert training_set.initial is not None
    link = starter.calibration(training_set.vocabulary)
    captioned = np.isin(np.arange(len(means)), training_set.captions.indices)
    before, spread = word_statistics(training_set.initial.transform(at_large))
    scale = deviations / spread
    moved = captioned & _known(training_set.initial)
    own = np.where(captioned, means, link.means), np.where(captioned, deviations, link.deviations)
    usual = (
        np.where(moved, means + (link.means - before) * scale, own[0]),
        np.where(moved, link.deviations * scale, own[1]),
    )
    return replace(link.with_statistics(*usual), means=own[0], deviations=own[1])


def _known(initial: Model) -> NDArray[np.bool_]:
    """The words that training starts from something with."""
    weights = initial.linear_weights()
    assert weights is not None
    return np.asarray(weights.any(axis=1))


def _frequency(training_set: TrainingSet) -> NDArray[np.float64]:
    """The part of captions that hold each word; 0 for words that a single one holds.

    Of these no left-out picture says anything: without it, the word was not learnt at all.
    """
    counts = np.bincount(training_set.captions.indices, minlength=len(training_set.vocabulary))
    return np.where(counts > 1, counts, 0) / len(training_set)
