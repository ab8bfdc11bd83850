"""Probabilities: calibrated, growing with the score, and a matter of query and picture alone."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from visterm.calibration.calibration import (
    GOOD,
    POSSIBLE,
    Calibration,
    Link,
    log_odds,
    uncalibrated,
    word_statistics,
)
from visterm.calibration.estimation import calibrate, judged_shift
from visterm.text import Relevance, relevance_from_captions
from visterm.text.weighting import inverse_frequency


def world(seed: int, pictures: int = 600, words: int = 12) -> tuple[np.ndarray, csr_array]:
    """Rows whose words differ in rarity, scale and how well they are told apart, and captions."""
    random = np.random.default_rng(seed)
    held = random.random((pictures, words)) < np.linspace(0.03, 0.4, words)
    held[np.arange(pictures), random.integers(0, words, pictures)] = True
    apart = np.linspace(3.0, 0.7, words)
    scale, shift = np.geomspace(0.1, 10, words), np.linspace(-5, 5, words)
    rows = (random.standard_normal((pictures, words)) + apart * held) * scale + shift
    return rows.astype(np.float32), csr_array(held.astype(np.float64))


@cache
def estimated(seed: int = 0) -> tuple[Calibration, Relevance, np.ndarray]:
    rows, captions = world(seed)
    frequency = np.asarray(captions.mean(axis=0)).ravel()
    other, captioned = world(seed + 1)
    queries = relevance_from_captions(captioned, inverse_frequency(captions), max_words=2)
    return calibrate(rows, captions, frequency), queries, other


def scored(found: Calibration, relevance: Relevance, rows: np.ndarray) -> np.ndarray:
    """Sums of log-probabilities, queries × pictures."""
    return relevance.queries.astype(bool).astype(np.float64) @ found.link.rows(rows).T


def asked(relevance: Relevance) -> list[np.ndarray]:
    queries = relevance.queries
    return [queries.indices[a:b] for a, b in pairwise(queries.indptr)]


def probabilities(found: Calibration, relevance: Relevance, rows: np.ndarray) -> np.ndarray:
    pairs = zip(asked(relevance), scored(found, relevance, rows), strict=True)
    return np.stack([found.probabilities(words, np.ones(len(words)), one) for words, one in pairs])


def test_of_pictures_with_a_probability_about_that_part_has_the_word() -> None:
    found, _, rows = estimated()
    predicted, held = np.exp(found.link.rows(rows)), world(1)[1].toarray() > 0
    for low, high in ((0.02, 0.1), (0.1, 0.3), (0.3, 0.6), (0.6, 0.9)):
        inside = (predicted >= low) & (predicted < high)
        assert inside.sum() > 100
        mean, true = predicted[inside].mean(), held[inside].mean()
        assert abs(mean - true) < 0.25 * (high - low) + 0.1 * true


def test_odds_make_up_for_what_captions_leave_out() -> None:
    rows, captions = world(0)
    frequency = np.asarray(captions.mean(axis=0)).ravel()
    every, some = (calibrate(rows, captions, frequency, mention_rate=r) for r in (1.0, 0.4))
    np.testing.assert_allclose(some.link.intercepts - every.link.intercepts, np.log(2.5))
    np.testing.assert_array_equal(some.link.slopes, every.link.slopes)


def test_a_word_of_two_captions_is_not_sure_of_anything() -> None:
    rows, captions = world(0)
    more = np.concatenate([rows, np.random.default_rng(7).standard_normal((600, 30))], axis=1)
    # Thirty words that stand in two captions each, hardly any of them in held-out ones.
    held = csr_array((captions.data, captions.indices, captions.indptr), shape=(600, 42))
    frequency = np.append(np.asarray(captions.mean(axis=0)).ravel(), np.full(30, 2 / 6000))
    found = calibrate(more.astype(np.float32), held, frequency)
    highest = np.exp(found.link.rows(more.astype(np.float32))).max(axis=0)
    assert highest[12:].max() < 0.1
    assert highest[:6].min() > 0.5


def test_few_held_out_pictures_adapt_what_is_known_and_many_replace_it() -> None:
    known = estimated()[0]
    rows, captions = world(9)
    frequency = np.asarray(captions.mean(axis=0)).ravel()
    statistics = word_statistics(rows)

    def away(count: int, *, adapted: bool) -> float:
        """How far predictions are from what many pictures say."""
        found = calibrate(
            rows[:count],
            captions[:count],
            frequency,
            known=known.with_statistics(*statistics) if adapted else None,
            statistics=statistics,
        )
        truth = calibrate(rows, captions, frequency)
        return float(np.abs(np.exp(found.link.rows(rows)) - np.exp(truth.link.rows(rows))).mean())

    assert away(12, adapted=True) < 0.7 * away(12, adapted=False)
    assert away(600, adapted=True) == away(600, adapted=False)


def test_what_is_known_of_scores_follows_how_frequent_words_are_here() -> None:
    found, _, rows = estimated()
    rarer = found.with_frequency(found.log_frequency - np.log(2))
    before, after = (log_odds(one.link.rows(rows[:50])) for one in (found, rarer))
    np.testing.assert_allclose(before - after, np.log(2), rtol=1e-3, atol=1e-3)


def test_pictures_that_show_a_word_correct_what_its_description_says() -> None:
    random = np.random.default_rng(0)
    rates = np.tile([0.04, 0.2], 10)
    held = random.random((600, 20)) < rates
    rows = (random.standard_normal((600, 20)) + 2 * held).astype(np.float32)
    # By all captions the words are equally frequent, and they are separated alike.
    found = calibrate(rows, csr_array(held.astype(float)), np.full(20, 0.1))
    predicted = np.exp(found.link.rows(rows)).mean(axis=0)
    np.testing.assert_allclose(predicted, held.mean(axis=0), rtol=0.25)


def test_words_of_which_no_caption_tells_anything_are_left_to_the_fallback() -> None:
    rows, captions = world(0)
    frequency = np.asarray(captions.mean(axis=0)).ravel()
    frequency[3] = 0.0
    found = calibrate(rows, captions, frequency)
    assert (found.link.intercepts[3], found.link.slopes[3]) == (0.0, 1.0)


def test_the_least_score_has_the_probability_that_was_asked_for() -> None:
    found, _, _ = estimated()
    for words, weights in (([1], [1.0]), ([1, 4], [1.0, 2.0]), ([1, 4, 5], [1.0, 1.0, -1.0])):
        for probability in (POSSIBLE, GOOD, 0.9):
            least = found.least_score(words, weights, probability)
            assert found.probabilities(words, weights, [least])[0] == pytest.approx(probability)


def test_of_what_is_called_good_most_is_right() -> None:
    found, relevance, rows = estimated()
    answers = relevance.pictures.toarray() > 0
    scores = scored(found, relevance, rows)
    leasts = [found.least_score(words, np.ones(len(words)), GOOD) for words in asked(relevance)]
    is_good = scores >= np.array(leasts)[:, None]
    assert is_good.any()
    assert answers[is_good].mean() > 0.5


def test_what_captions_settle_is_likely_for_any_number_of_words() -> None:
    found, _, _ = estimated()
    for count in (1, 2, 3, 6):
        words = np.arange(count)
        likely = found.probabilities(words, np.ones(count), [count * np.log(0.99)])[0]
        assert 0.85 < likely <= 1.0


@settings(deadline=None)
@given(st.lists(st.floats(-50, 0), min_size=2, max_size=20))
def test_a_higher_score_is_never_less_likely_to_answer(scores: list[float]) -> None:
    found, _, _ = estimated()
    for words, weights in (([0], [1.0]), ([2, 9], [1.0, 1.0]), ([3, 4], [2.0, -1.0])):
        likely = found.probabilities(words, weights, sorted(scores))
        assert (np.diff(likely) >= 0).all()


def test_a_model_of_another_scale_gives_the_same_probabilities() -> None:
    found, _, rows = estimated()
    larger = found.with_statistics(*word_statistics(rows * 7 + 3))
    same = found.with_statistics(*word_statistics(rows))
    np.testing.assert_allclose(larger.link.rows(rows * 7 + 3), same.link.rows(rows), 1e-3)


def test_judgements_shift_towards_what_they_say_and_a_wrong_one_hardly_matters() -> None:
    odds = np.linspace(-1, 2, 8)
    likely = np.full(8, True)
    assert judged_shift(odds, likely) > 0.2
    assert judged_shift(odds, ~likely) < -0.2
    one_wrong = np.arange(8) > 0
    assert judged_shift(odds, one_wrong) > 0.5 * judged_shift(odds, likely)
    assert abs(judged_shift(np.full(500, -9.0), np.full(500, True))) <= 2.0


def test_a_shift_changes_probabilities_and_the_cutoff_but_not_the_order() -> None:
    found, _, _ = estimated()
    lower = found.shifted(-1.0)
    scores = np.linspace(-8, -0.1, 30)
    before, after = (one.probabilities([1, 4], [1.0, 1.0], scores) for one in (found, lower))
    assert (after < before).all()
    assert (np.diff(after) > 0).all()
    least = lower.least_score([1, 4], [1.0, 1.0], GOOD)
    assert lower.probabilities([1, 4], [1.0, 1.0], least) == pytest.approx(GOOD)
    assert least > found.least_score([1, 4], [1.0, 1.0], GOOD)


def test_a_weight_for_all_words_changes_no_probability() -> None:
    found, _, _ = estimated()
    for words in ([3], [2, 3]):
        ones = np.ones(len(words))
        twice = found.probabilities(words, 2 * ones, [-4.0])
        assert twice == pytest.approx(found.probabilities(words, ones, [-2.0]))


def test_shares_of_a_replaced_word_make_one_word() -> None:
    found, _, _ = estimated()
    found = replace(found, log_frequency=np.full(12, -3.0))
    shared = found.probabilities([2, 3], [0.7, 0.3], [-1.0])
    assert shared == pytest.approx(found.probabilities([2], [1.0], [-1.0]))


def test_the_link_keeps_the_order_of_values_and_gives_them_back() -> None:
    found, _, rows = estimated()
    logs = found.link.rows(rows)
    assert (logs <= 0).all()
    np.testing.assert_array_equal(np.argsort(logs, axis=0)[-20:], np.argsort(rows, axis=0)[-20:])
    words = np.arange(rows.shape[1])
    np.testing.assert_allclose(found.link.values(words, logs), rows, atol=1e-3)


@settings(deadline=None)
@given(st.floats(-20, 20), st.floats(-20, 20))
def test_offsets_add_up_to_the_log_probability_of_the_moved_value(value: float, move: float):
    link = Link(np.array([-1.0]), np.array([0.7]))
    logs = link.rows(np.array([[value]], np.float32))
    added = link.offsets([0], log_odds(logs), np.array([[move]]))
    np.testing.assert_allclose(logs + added, link.rows(np.array([[value + move]])), atol=1e-5)


def test_what_is_stored_is_read_back() -> None:
    found, _, _ = estimated()
    again = Calibration.from_json(json.loads(json.dumps(found.to_json())))
    assert again.least_score([1], [1.0], GOOD) == found.least_score([1], [1.0], GOOD)
    nobody_knows = uncalibrated(np.zeros(2), np.ones(2), np.log([0.1, 0.2]))
    assert not Calibration.from_json(nobody_knows.to_json()).is_known


def test_a_word_that_is_not_covered_goes_by_the_fallback() -> None:
    here, _, rows = estimated()
    there = estimated(seed=5)[0]
    covered = np.arange(rows.shape[1]) != 3
    logs = here.with_fallback(covered, there).link.rows(rows)
    np.testing.assert_array_equal(logs[:, 3], there.link.rows(rows)[:, 3])
    np.testing.assert_array_equal(logs[:, covered], here.link.rows(rows)[:, covered])


def test_a_dozen_pictures_are_enough_to_say_something_sane() -> None:
    rows, captions = world(3, pictures=12)
    found = calibrate(rows, captions, np.asarray(captions.mean(axis=0)).ravel())
    likely, held = np.exp(found.link.rows(rows)), captions.toarray() > 0
    assert np.isfinite(likely).all()
    assert likely[held].mean() > likely[~held].mean()
