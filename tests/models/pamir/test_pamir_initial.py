"""PAMIR that starts from another model: near it, no worse than it, and never touching the rest."""

from __future__ import annotations

import numpy as np
import pytest
from problems import problem

from visterm.errors import BadInput, NotFitted
from visterm.evaluation import mean_average_precision
from visterm.models import Pamir
from visterm.text import relevance_from_captions

SPARSE = problem("sparse")
DENSE = problem("dense")
FEW = 10


def avgp(model: Pamir) -> float:
    told = relevance_from_captions(DENSE.other_Y, model.idf_, max_words=model.max_words)
    return mean_average_precision(told.queries @ model.transform(DENSE.other_X).T, told.pictures)


@pytest.fixture(scope="module")
def taught() -> Pamir:
    return Pamir(max_iter=20_000).fit(DENSE.X, DENSE.Y)


def test_ten_captions_after_a_taught_model_rank_better_than_ten_captions_alone(taught: Pamir):
    few_X, few_Y = DENSE.X[:FEW], DENSE.Y[:FEW]
    from_zero = Pamir(max_iter=2000).fit(few_X, few_Y)
    from_taught = Pamir(max_iter=2000).fit(few_X, few_Y, initial=taught)
    assert avgp(from_taught) > avgp(from_zero)


def test_words_that_no_caption_holds_keep_their_weights_to_the_bit(taught: Pamir):
    captions = DENSE.Y[:FEW].toarray()
    captions[:, ::2] = 0
    captions[0, 1] = 1
    after = Pamir(max_iter=2000).fit(DENSE.X[:FEW], captions, initial=taught)
    np.testing.assert_array_equal(after.weights_[::2], taught.weights_[::2])
    assert (after.weights_ != taught.weights_).any()


def test_what_the_model_knows_already_moves_nothing(taught: Pamir):
    """A model that keeps every margin is where passive steps end: it is handed on unchanged."""
    sure = Pamir(C=1e6, max_iter=200_000).fit(DENSE.X[:FEW], DENSE.Y[:FEW])
    after = Pamir(C=1e6, max_iter=2000).fit(DENSE.X[:FEW], DENSE.Y[:FEW], initial=sure)
    np.testing.assert_allclose(after.weights_, sure.weights_, atol=1e-5)


def test_word_weights_are_those_of_the_model_it_starts_from(taught: Pamir):
    after = Pamir(max_iter=100).fit(DENSE.X[:FEW], DENSE.Y[:FEW], initial=taught)
    np.testing.assert_array_equal(after.idf_, taught.idf_)


@pytest.mark.parametrize("retrain", [False, True])
def test_validation_and_retraining_start_there_too(taught: Pamir, retrain: bool):
    model = Pamir(max_iter=500, retrain=retrain)
    model.fit(
        DENSE.X[:FEW],
        DENSE.Y[:FEW],
        validation=(DENSE.other_X, DENSE.other_Y),
        initial=taught,
    )
    zero = Pamir(max_iter=500, retrain=retrain)
    zero.fit(DENSE.X[:FEW], DENSE.Y[:FEW], validation=(DENSE.other_X, DENSE.other_Y))
    assert model.validation_ > zero.validation_
    np.testing.assert_array_equal(model.idf_, taught.idf_)


def test_the_model_it_starts_from_is_left_alone(taught: Pamir):
    before = taught.weights_.copy()
    Pamir(max_iter=500).fit(DENSE.X[:FEW], DENSE.Y[:FEW], initial=taught)
    np.testing.assert_array_equal(taught.weights_, before)


def test_sparse_vectors_can_start_anywhere_too():
    taught = Pamir(max_iter=5000).fit(SPARSE.X, SPARSE.Y)
    after = Pamir(max_iter=1).fit(SPARSE.X[:FEW], SPARSE.Y[:FEW], initial=taught)
    assert np.abs(after.weights_ - taught.weights_).max() < 0.2


def test_a_model_that_does_not_fit_is_refused(taught: Pamir):
    with pytest.raises(NotFitted):
        Pamir().fit(DENSE.X, DENSE.Y, initial=Pamir())
    with pytest.raises(BadInput, match="same extractor"):
        Pamir().fit(DENSE.X[:, :3], DENSE.Y, initial=taught)
    with pytest.raises(BadInput, match="words"):
        Pamir().fit(DENSE.X, DENSE.Y[:, :2], initial=taught)
