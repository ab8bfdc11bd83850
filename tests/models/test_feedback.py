"""Clicks are PAMIR's own steps, in the model's units, and bounded."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visterm.models import Pamir
from visterm.models.feedback import MARGIN, STEP, Compared, Metric, Pair, bounded, pairs_of


def learn(
    vectors: np.ndarray,
    scores: np.ndarray,
    pairs: list[Pair],
    unit: float = 1.0,
    metric: Metric | None = None,
) -> np.ndarray:
    return Compared(vectors, metric).learn(scores, pairs, unit=unit)


def slowly(
    vectors: np.ndarray, weights: np.ndarray, pairs: list[tuple[int, int]], unit: float
) -> np.ndarray:
    """The formula: l = max(0, ε − w·(b − w)), τ = min(C, l/‖b − w‖²), C‖b − w‖² = STEP units."""
    found = weights.astype(float).copy()
    for better, worse in pairs:
        difference = vectors[better] - vectors[worse]
        square = float(difference @ difference)
        if square > 1e-12:
            loss = max(0.0, MARGIN * unit - float(found @ difference))
            found += min(STEP * unit / square, loss / square) * difference
    return found


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 8), st.floats(0.01, 100))
def test_learning_is_the_passive_aggressive_step_pair_by_pair(
    seed: int, count: int, unit: float
) -> None:
    random = np.random.default_rng(seed)
    vectors, weights = random.standard_normal((count, 5)), random.standard_normal(5)
    pairs = [tuple(random.integers(0, count, 2).tolist()) for _ in range(10)]
    moved = learn(vectors, vectors @ weights, pairs, unit=unit)
    expected = slowly(vectors, weights, pairs, unit)
    np.testing.assert_allclose(weights + moved, expected, rtol=1e-6, atol=1e-8)


def test_it_is_the_same_step_as_a_click_of_pamir() -> None:
    vectors = np.array([[1.0, 0.0, 0.2], [0.0, 1.0, 0.1]])
    model = Pamir(C=STEP / float(np.square(vectors[0] - vectors[1]).sum()))
    model.partial_fit(vectors, np.eye(2), steps=0)
    model.update([1.0, 0.0], vectors[0], vectors[1], margin=MARGIN)
    moved = learn(vectors, np.zeros(2), [(0, 1)])
    np.testing.assert_allclose(moved, model.weights_[0], rtol=1e-6)


@settings(deadline=None)
@given(st.floats(1e-3, 1e3))
def test_other_units_give_the_same_step_in_those_units(unit: float) -> None:
    vectors = np.random.default_rng(1).standard_normal((4, 6))
    scores = vectors @ np.random.default_rng(2).standard_normal(6)
    pairs = [(0, 1), (0, 2), (3, 0)]
    once = learn(vectors, scores, pairs)
    np.testing.assert_allclose(learn(vectors, scores * unit, pairs, unit=unit), once * unit)


def test_no_pair_is_moved_apart_by_more_than_the_bound() -> None:
    vectors = np.random.default_rng(3).standard_normal((2, 6)) * 100
    for metric in (None, Metric.of(vectors)):
        moved = vectors @ learn(vectors, np.array([-1e6, 1e6]), [(0, 1)], unit=0.5, metric=metric)
        assert moved[0] - moved[1] == pytest.approx(STEP * 0.5)


def test_a_metric_is_the_inverse_of_the_spread_and_one() -> None:
    random = np.random.default_rng(4)
    vectors = random.standard_normal((500, 8)) * np.linspace(3, 0.1, 8)
    centred = vectors - vectors.mean(axis=0)
    spread = centred.T @ centred / len(centred)
    spread /= np.trace(spread) / 8
    expected = np.linalg.inv(spread + np.eye(8))
    np.testing.assert_allclose(Metric.of(vectors).applied(np.eye(8)), expected, atol=1e-5)


def test_a_metric_of_few_or_equal_pictures_does_no_harm() -> None:
    np.testing.assert_array_equal(Metric.of(np.ones((3, 4))).applied(np.eye(4)), np.eye(4))
    few = Metric.of(np.eye(4)[:2]).applied(np.eye(4))
    assert np.isfinite(few).all()
    assert (np.linalg.eigvalsh(few) > 0).all()


def test_learning_in_a_metric_is_learning_of_whitened_vectors() -> None:
    random = np.random.default_rng(5)
    vectors, weights = random.standard_normal((6, 5)), random.standard_normal(5)
    metric = Metric.of(random.standard_normal((50, 5)) * [4, 2, 1, 1, 0.5])
    root = np.linalg.cholesky(metric.applied(np.eye(5)))
    pairs = [(0, 1), (2, 3), (0, 4), (5, 0)]
    whitened = learn(vectors @ root, vectors @ weights, pairs)
    moved = learn(vectors, vectors @ weights, pairs, metric=metric)
    np.testing.assert_allclose(vectors @ moved, vectors @ root @ whitened, atol=1e-6)


def test_pictures_that_look_the_same_are_left_alone() -> None:
    assert not learn(np.ones((2, 3)), np.array([0.0, 1.0]), [(0, 1)]).any()


def test_a_yes_beats_what_got_a_no_and_others_and_a_no_loses_to_what_got_a_yes() -> None:
    assert pairs_of(0, True, [1], [2], [3, 4]) == [(0, 2), (0, 3), (0, 4)]
    assert pairs_of(0, False, [1], [2], [3]) == [(1, 0), (3, 0)]


@pytest.mark.parametrize(("harm", "part"), [(0.0, 1.0), (0.03, 0.5), (0.07, 0.25), (9.0, 0.0)])
def test_a_step_is_halved_until_it_does_no_more_harm_than_may_be(harm: float, part: float) -> None:
    assert bounded(lambda share: share * harm, most=0.02) == part
