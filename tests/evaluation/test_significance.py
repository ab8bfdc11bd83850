"""The signed-rank test over queries, pictures drawn again, and the best of several models."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import rankdata

from visterm.errors import BadInput
from visterm.evaluation import Evaluation, best_of, compare
from visterm.evaluation.significance import resampled_means, resampled_p_value
from visterm.text import Relevance


def evaluation_of(values: list[float] | np.ndarray, measure: str = "AvgP") -> Evaluation:
    ones = np.ones(len(values), dtype=np.int64)
    return Evaluation({measure: np.array(values, dtype=np.float64)}, ones, ones)


def exact_p_value(differences: np.ndarray) -> float:
    """The definition: how many of the 2^n ways to give signs are as one-sided as the one seen."""
    ranks = rankdata(np.abs(differences))
    sums = np.array([np.dot(signs, ranks) for signs in product([-1, 1], repeat=len(ranks))])
    return float(np.mean(np.abs(sums) >= abs(np.dot(np.sign(differences), ranks))))


def test_the_p_value_is_the_fraction_of_sign_patterns_as_one_sided_as_this_one():
    ours = np.array([0.9, 0.3, 0.55, 0.81, 0.4, 0.77, 0.2, 0.6, 0.95])
    theirs = np.array([0.2, 0.31, 0.5, 0.4, 0.15, 0.6, 0.35, 0.3, 0.75])
    result = compare(evaluation_of(ours), evaluation_of(theirs))
    assert result.p_value == pytest.approx(exact_p_value(ours - theirs))
    assert (result.better, result.worse) == (7, 2)
    assert result.difference == pytest.approx(np.mean(ours - theirs))


def test_equal_evaluations_do_not_differ():
    same = evaluation_of([0.1, 0.5, 1.0])
    result = compare(same, same)
    assert (result.difference, result.p_value, result.better, result.worse) == (0, 1, 0, 0)
    assert not result.significant
    assert not result.above


def test_a_significant_loss_is_significant_but_not_above():
    low, high = evaluation_of(np.arange(20) / 40), evaluation_of(np.arange(20) / 20 + 0.05)
    assert compare(high, low).above
    assert compare(low, high).significant
    assert not compare(low, high).above
    assert compare(low, high).p_value == compare(high, low).p_value


def test_a_higher_mean_owed_to_a_few_queries_is_not_above():
    baseline = np.full(40, 0.3)
    ours = baseline - np.linspace(0.01, 0.02, 40)
    ours[:4] = 1.0
    result = compare(evaluation_of(ours), evaluation_of(baseline))
    assert result.difference > 0
    assert result.significant
    assert not result.above


def test_a_lower_median_rank_is_better():
    near = evaluation_of(np.arange(1, 21), "median rank")
    far = evaluation_of(np.arange(1, 21) * 2, "median rank")
    result = compare(near, far, "median rank")
    assert (result.better, result.worse, result.above) == (20, 0, True)
    assert result.difference == pytest.approx(-10.5)


def test_queries_that_cannot_be_measured_take_no_part():
    def with_hole(values: np.ndarray) -> Evaluation:
        relevant = np.ones(len(values) + 1, dtype=np.int64)
        relevant[0] = 0
        return Evaluation({"AvgP": np.array([np.nan, *values])}, relevant, relevant)

    ours, theirs = np.linspace(0.2, 0.9, 9), np.linspace(0.1, 0.5, 9)
    expected = compare(evaluation_of(ours), evaluation_of(theirs))
    assert compare(with_hole(ours), with_hole(theirs)) == expected


def test_confidence_sets_the_bar():
    ours, theirs = evaluation_of(np.arange(6) / 5 + 0.1), evaluation_of(np.arange(6) / 10)
    result = compare(ours, theirs)
    assert result.p_value == pytest.approx(2 / 2**6)
    assert result.significant
    assert not compare(ours, theirs, confidence=0.99).significant
    with pytest.raises(BadInput, match="between 0 and 1"):
        compare(ours, theirs, confidence=95)


def test_the_best_is_above_every_other_one_or_there_is_none():
    rng = np.random.default_rng(0)
    low, middle = rng.random(60) * 0.4, rng.random(60) * 0.4
    models = {"a": evaluation_of(low), "b": evaluation_of(middle)}
    assert best_of(models, "AvgP") is None
    assert best_of({**models, "c": evaluation_of(low + middle + 0.1)}) == "c"
    twin = {"c": evaluation_of(low + 0.5), "d": evaluation_of(low + 0.5)}
    assert best_of({**models, **twin}) is None
    assert best_of({"a": evaluation_of(low)}) is None


def test_evaluations_of_other_queries_or_measures_are_refused():
    with pytest.raises(BadInput, match="different queries"):
        compare(evaluation_of([0.1, 0.2]), evaluation_of([0.1]))
    with pytest.raises(BadInput, match="BEP was not measured"):
        compare(evaluation_of([0.1]), evaluation_of([0.1]), "BEP")


def test_resampled_means_are_those_of_pictures_drawn_again_and_measured_anew():
    rng = np.random.default_rng(3)
    rows = rng.random((30, 4)).astype(np.float32)
    queries = csr_array(np.eye(4, dtype=np.float32))
    pictures = (rng.random((4, 30)) < 0.3).astype(np.float32)
    found = resampled_means(rows, Relevance(queries, csr_array(pictures)), samples=20)
    drawn = np.random.default_rng(0).multinomial(30, np.full(30, 1 / 30), size=20)
    for mean, times in zip(found, drawn, strict=True):
        each = []
        for query in range(4):
            order = np.repeat(np.argsort(-rows[:, query]), times[np.argsort(-rows[:, query])])
            last = np.flatnonzero(np.append(order[1:] != order[:-1], True))
            rank = last[np.searchsorted(last, np.arange(30))]  # copies of a picture share it
            is_hit = pictures[query][order] > 0
            if is_hit.any():
                each.append((np.cumsum(is_hit)[rank] / (rank + 1))[is_hit].mean())
        assert mean == pytest.approx(np.mean(each))


def test_pictures_that_queries_share_make_a_difference_less_certain():
    """A hundred queries of the same ten pictures say no more than one of them."""
    rng = np.random.default_rng(0)
    good, bad = rng.random((10, 1)) + 0.3 * np.arange(10)[:, None] % 2, rng.random((10, 1))
    asked = csr_array(np.ones((100, 1), np.float32))
    relevant = csr_array(np.tile(np.arange(10) % 2, (100, 1)).astype(np.float32))
    many = Relevance(asked, relevant)
    one = many.take(np.arange(1))
    p_values = [
        resampled_p_value(resampled_means(good, some), resampled_means(bad, some))
        for some in (many, one)
    ]
    assert p_values[0] == pytest.approx(p_values[1])
