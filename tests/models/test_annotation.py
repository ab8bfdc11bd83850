"""What CMRM, CMTT and PLSA share: what they take, and how P(t|p) becomes text."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from visterm.errors import BadInput
from visterm.models import Cmrm, Cmtt, Plsa
from visterm.models.annotation import as_text, visterm_counts
from visterm.text import Relevance

COUNTS = np.array([[3, 0, 1, 0], [2, 1, 0, 0], [0, 4, 0, 1], [1, 3, 0, 2], [0, 0, 5, 1]])
CAPTIONS = np.array([[1, 0, 1], [1, 0, 0], [0, 1, 0], [0, 1, 1], [0, 0, 1]])
MODELS = [Cmrm(), Cmtt(n_components=2), Plsa(n_components=3, text_steps=5)]

every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)


@every_model
def test_rows_are_probabilities_times_idf_of_unit_length(model):
    model.fit(COUNTS, CAPTIONS)
    probabilities = model.word_probabilities(COUNTS)
    assert (probabilities >= 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    expected = []
    for row in probabilities:
        weighed = [p * -np.log(CAPTIONS[:, t].mean()) for t, p in enumerate(row)]
        length = sum(w * w for w in weighed) ** 0.5
        expected.append([w / length for w in weighed])
    np.testing.assert_allclose(model.transform(COUNTS), expected, rtol=1e-5)


@every_model
def test_negative_counts_are_refused_with_advice(model):
    with pytest.raises(BadInput, match=r"negative numbers.*counts of a codebook"):
        model.fit(-COUNTS, CAPTIONS)
    model.fit(COUNTS, CAPTIONS)
    with pytest.raises(BadInput, match="negative numbers"):
        model.transform(csr_array(-COUNTS))
    with pytest.raises(BadInput, match="negative numbers"):
        model.fit(COUNTS, CAPTIONS, validation=(-COUNTS, CAPTIONS))


@every_model
def test_relevance_instead_of_captions_is_refused(model):
    told = Relevance(csr_array(np.eye(3)), csr_array(CAPTIONS.T.astype(float)))
    with pytest.raises(BadInput, match=r"captions \(pictures × words\)"):
        model.fit(COUNTS, told)


@every_model
def test_relevance_may_judge_validation_pictures_but_not_teach_them(model):
    told = Relevance(csr_array(np.eye(3)), csr_array(CAPTIONS.T.astype(float)))
    model.set_params(retrain=False).fit(COUNTS, CAPTIONS, validation=(COUNTS, told))
    assert 0 < model.validation_ <= 1
    with pytest.raises(BadInput, match="retrain needs captions"):
        model.set_params(retrain=True).fit(COUNTS, CAPTIONS, validation=(COUNTS, told))
    model.set_params(retrain=False)


@every_model
def test_retraining_learns_from_both_sets_with_what_was_chosen(model):
    other_counts, other_captions = COUNTS[::-1] + 1, CAPTIONS[::-1]
    model.set_params(retrain=True).fit(COUNTS, CAPTIONS, validation=(other_counts, other_captions))
    chosen = {n: getattr(model, f"{n}_") for n in model.get_params() if hasattr(model, f"{n}_")}
    both = type(model)(**(model.get_params() | chosen)).fit(
        np.vstack([COUNTS, other_counts]), np.vstack([CAPTIONS, other_captions])
    )
    model.set_params(retrain=False)
    assert model.transform(COUNTS).tobytes() == both.transform(COUNTS).tobytes()
    assert both.idf_.tolist() == model.idf_.tolist()


@every_model
def test_a_fit_with_validation_ranks_as_it_was_judged(model):
    model.fit(COUNTS, CAPTIONS, validation=(COUNTS, CAPTIONS))
    chosen = {n: getattr(model, f"{n}_") for n in model.get_params() if hasattr(model, f"{n}_")}
    alone = type(model)(**(model.get_params() | chosen)).fit(COUNTS, CAPTIONS)
    np.testing.assert_allclose(alone.transform(COUNTS), model.transform(COUNTS), rtol=1e-6)


@every_model
def test_swapping_visterms_changes_nothing_and_swapping_words_swaps_them(model):
    rows = model.fit(COUNTS, CAPTIONS).word_probabilities(COUNTS)
    order = [2, 0, 3, 1]
    swapped = model.fit(COUNTS[:, order], CAPTIONS).word_probabilities(COUNTS[:, order])
    np.testing.assert_allclose(swapped, rows, rtol=1e-9, atol=1e-12)
    if not isinstance(model, Plsa):  # PLSA draws a start for each word
        words = model.fit(COUNTS, CAPTIONS[:, [1, 2, 0]]).word_probabilities(COUNTS)
        np.testing.assert_allclose(words, rows[:, [1, 2, 0]], rtol=1e-9, atol=1e-12)


@every_model
def test_visterms_that_no_training_picture_holds_say_nothing(model):
    unseen = np.hstack([COUNTS, np.zeros((5, 2), dtype=int)])
    model.fit(unseen, CAPTIONS)
    expected = model.word_probabilities(unseen)
    unseen[:, -1] = 7
    np.testing.assert_allclose(model.word_probabilities(unseen), expected, rtol=1e-9)
    only_unseen = np.array([[0, 0, 0, 0, 3, 1]])
    nothing = np.zeros((1, 6))
    guess = model.word_probabilities(only_unseen)
    np.testing.assert_allclose(guess, model.word_probabilities(nothing), rtol=1e-9)
    np.testing.assert_allclose(guess.sum(), 1.0)


@every_model
def test_no_visterm_at_all_is_nothing_to_learn_from(model):
    with pytest.raises(BadInput, match="no picture holds a visterm"):
        model.fit(np.zeros((5, 4)), CAPTIONS)


def test_zeros_that_are_stored_are_no_visterms():
    stored = csr_array((np.array([1.0, 0.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert visterm_counts(stored).nnz == 1
    assert stored.nnz == 2


def test_a_guess_without_weight_stays_zero():
    assert as_text(np.array([[1.0, 0.0]]), np.array([0.0, 3.0])).tolist() == [[0.0, 0.0]]


@every_model
def test_power_raises_counts_before_learning_and_before_mapping(model):
    plain = clone(model).fit(COUNTS**0.5, CAPTIONS)
    damped = clone(model).set_params(power=0.5).fit(COUNTS, CAPTIONS)
    np.testing.assert_allclose(damped.transform(COUNTS), plain.transform(COUNTS**0.5), rtol=1e-6)
    np.testing.assert_allclose(
        damped.word_probabilities(COUNTS), plain.word_probabilities(COUNTS**0.5), rtol=1e-6
    )


@every_model
def test_validation_picks_the_better_power(model):
    each = {
        power: clone(model)
        .set_params(power=power)
        .fit(COUNTS, CAPTIONS, validation=(COUNTS[::-1], CAPTIONS))
        .validation_
        for power in (1.0, 0.25)
    }
    both = clone(model).set_params(power=(1.0, 0.25))
    both.fit(COUNTS, CAPTIONS, validation=(COUNTS[::-1], CAPTIONS))
    assert both.validation_ == max(each.values()) == each[both.power_]


@every_model
@pytest.mark.parametrize("power", [0, 1.5, -1, "half"])
def test_powers_outside_their_range_are_refused(model, power):
    with pytest.raises(BadInput, match="power must be above 0 and at most 1"):
        clone(model).set_params(power=power).fit(COUNTS, CAPTIONS)
