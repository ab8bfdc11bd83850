"""Probabilities: calibrated, growing with the score, and a matter of query and picture alone."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from visterm.calibration import (
    Calibration,
    calibrate,
    mean_f1,
    probability_threshold,
    word_statistics,
)
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
    relevance = relevance_from_captions(captions, inverse_frequency(captions), max_words=2)
    frequency = np.asarray(captions.mean(axis=0)).ravel()
    other, captioned = world(seed + 1)
    queries = relevance_from_captions(captioned, inverse_frequency(captions), max_words=2)
    return calibrate(rows, relevance, frequency), queries, other


def probabilities(found: Calibration, relevance: Relevance, rows: np.ndarray) -> np.ndarray:
    queries = relevance.queries
    scores = queries @ rows.T
    return np.stack(
        [
            found.probabilities(queries.indices[a:b], queries.data[a:b], scores[number])
            for number, (a, b) in enumerate(zip(queries.indptr, queries.indptr[1:], strict=False))
        ]
    )


def test_of_pictures_with_a_probability_about_that_part_answers() -> None:
    found, relevance, rows = estimated()
    predicted = probabilities(found, relevance, rows)
    answers = relevance.pictures.toarray() > 0
    for low, high in ((0.02, 0.1), (0.1, 0.3), (0.3, 0.6), (0.6, 0.9)):
        inside = (predicted >= low) & (predicted < high)
        assert inside.sum() > 100
        mean, true = predicted[inside].mean(), answers[inside].mean()
        assert abs(mean - true) < 0.25 * (high - low) + 0.3 * true


def test_the_cutoff_is_better_than_one_score_for_all_queries() -> None:
    found, relevance, rows = estimated()
    answers = relevance.pictures.toarray() > 0
    scores = relevance.queries @ rows.T
    queries = relevance.queries
    edges = zip(queries.indptr, queries.indptr[1:], strict=False)
    cutoff = [
        found.cutoff(queries.indices[a:b], queries.data[a:b], float(row.max()))
        for (a, b), row in zip(edges, scores, strict=True)
    ]
    ours = mean_f1(scores >= np.array(cutoff)[:, None], answers)
    best = max(
        mean_f1(scores >= one, answers) for one in np.quantile(scores, np.arange(0, 1, 0.01))
    )
    assert ours > 1.3 * best


def test_the_cutoff_is_where_the_chance_crosses_the_probability_threshold() -> None:
    found, _, _ = estimated()
    words, weights = [1, 4], [0.8, 0.6]
    for best in (-5.0, 0.0, 2.0, 50.0):
        highest = found.probabilities(words, weights, [best])
        cutoff = found.cutoff(words, weights, best)
        prior = np.exp(found.log_frequency[words].sum())
        expected = probability_threshold(highest, prior, found.fraction, found.level)[0]
        assert found.probabilities(words, weights, [cutoff])[0] == pytest.approx(expected)


def test_a_sure_match_is_good_and_a_hopeless_one_is_not_whatever_the_best_one_is() -> None:
    for best in (0.01, 0.2, 0.9, 1.0):
        assert 0.03 <= probability_threshold(best, 0.01, 0.5, 0.03) <= 0.15


def test_for_frequent_words_more_is_asked_than_what_any_picture_has() -> None:
    assert probability_threshold(1.0, 0.15, 0.9, 0.03) == pytest.approx(0.405)
    assert probability_threshold(0.2, 0.2, 0.4, 0.03) == pytest.approx(0.3), (
        "scores that say nothing find nothing"
    )
    assert probability_threshold(1.0, 0.9, 0.7, 0.03) == 0.5, "what is likelier than not is good"


@settings(deadline=None)
@given(st.lists(st.floats(-50, 50), min_size=2, max_size=20))
def test_a_higher_score_is_never_less_likely_to_answer(scores: list[float]) -> None:
    found, _, _ = estimated()
    for words, weights in (([0], [1.0]), ([2, 9], [0.6, 0.8]), ([3, 4], [0.9, -0.4])):
        likely = found.probabilities(words, weights, sorted(scores))
        assert (np.diff(likely) >= 0).all()


def test_a_model_of_another_scale_gives_the_same_probabilities() -> None:
    found, _, rows = estimated()
    larger = found.with_statistics(*word_statistics(rows * 7 + 3))
    same = found.with_statistics(*word_statistics(rows))
    np.testing.assert_allclose(
        larger.probabilities([2], [1.0], rows[:, 2] * 7 + 3),
        same.probabilities([2], [1.0], rows[:, 2]),
        1e-3,
    )


def test_words_of_a_picture_have_the_probabilities_of_their_queries() -> None:
    found, _, rows = estimated()
    each = [found.probabilities([word], [1.0], [rows[5, word]])[0] for word in range(rows.shape[1])]
    np.testing.assert_allclose(found.word_probabilities(rows[5]), each)


def test_what_is_stored_is_read_back() -> None:
    found, _, _ = estimated()
    again = Calibration.from_json(json.loads(json.dumps(found.to_json())))
    assert again.cutoff([1], [1.0], 2.0) == found.cutoff([1], [1.0], 2.0)


def test_a_query_with_a_word_that_is_not_covered_goes_by_the_fallback() -> None:
    here, _, rows = estimated()
    there = estimated(seed=5)[0]
    covered = np.arange(rows.shape[1]) != 3
    found = here.with_fallback(covered, there)
    found = Calibration.from_json(json.loads(json.dumps(found.to_json())))
    for words, expected in (([2], here), ([3], there), ([2, 3], there), ([2, 4], here)):
        weights = np.full(len(words), 0.7)
        assert found.probabilities(words, weights, [0.5]) == expected.probabilities(
            words, weights, [0.5]
        )
        assert found.cutoff(words, weights, 2.0) == expected.cutoff(words, weights, 2.0)
    of_words = found.word_probabilities(rows[5])
    assert of_words[3] == there.word_probabilities(rows[5])[3]
    assert (of_words[covered] == here.word_probabilities(rows[5])[covered]).all()


def test_a_dozen_pictures_are_enough_to_say_something_sane() -> None:
    rows, captions = world(3, pictures=12)
    relevance = relevance_from_captions(captions, inverse_frequency(captions), max_words=2)
    found = calibrate(rows, relevance, np.asarray(captions.mean(axis=0)).ravel())
    likely = probabilities(found, relevance, rows)
    assert np.isfinite(likely).all()
    answers = relevance.pictures.toarray() > 0
    assert likely[answers].mean() > likely[~answers].mean()
