"""Clicks are fitted together, each by how likely it is right, and bounded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visterm.models.feedback import ERROR, VARIANCE, ClickSet, Metric, bounded


def clicks(
    relevant: list[bool],
    prior: list[list[float]],
    products: np.ndarray | None = None,
    *,
    shares: list[list[float]] | None = None,
    error: float = 0.0,
) -> ClickSet:
    odds, count = np.array(prior), len(relevant)
    return ClickSet(
        relevant=np.array(relevant),
        weights=np.ones(count),
        errors=np.full(count, error),
        shares=np.ones_like(odds) if shares is None else np.array(shares),
        prior=odds,
        rest=np.zeros(count),
        products=np.eye(count) if products is None else products,
    )


def odds_after(some: ClickSet) -> np.ndarray:
    return some.prior + VARIANCE * some.products @ some.fitted()


def log_posterior(some: ClickSet, coefficients: np.ndarray) -> float:
    """The formula, slowly: every click's log-likelihood, and the Gaussian."""
    odds = some.prior + VARIANCE * some.products @ coefficients
    total = -0.5 * VARIANCE * float(np.sum(coefficients * (some.products @ coefficients)))
    for relevant, row, shares in zip(some.relevant, odds, some.shares, strict=True):
        fit = 1.0
        for one, share in zip(row, shares, strict=True):
            fit *= (1 / (1 + np.exp(-np.sign(share) * one))) ** abs(share)
        total += float(np.log(fit if relevant else 1 - fit))
    return total


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_without_errors_the_fit_is_where_the_posterior_is_highest(seed: int) -> None:
    random = np.random.default_rng(seed)
    vectors = random.standard_normal((4, 6)) / np.sqrt(6)
    some = clicks([True, False, True, False], random.normal(size=(4, 1)), vectors @ vectors.T)
    found = some.fitted()
    highest = log_posterior(some, found)
    for change in 0.05 * random.standard_normal((20, 4, 1)):
        assert log_posterior(some, found + change) < highest + 1e-3


def test_a_yes_lifts_and_a_no_sinks_pictures_and_what_is_like_them() -> None:
    alike = np.array([[1.0, 0.8], [0.8, 1.0]])
    for relevant in (True, False):
        some = clicks([relevant, relevant], [[0.0], [0.0]], alike)
        lone = replace(some, weights=np.array([1.0, 1e-9]))
        moved = odds_after(lone)[:, 0] * (1 if relevant else -1)
        assert moved[0] > moved[1] > 0


def test_one_no_does_not_undo_a_sure_picture_and_more_that_agree_do() -> None:
    sure, alike = [[4.0]] * 4, np.full((4, 4), 0.95) + 0.05 * np.eye(4)
    one = clicks([False], sure[:1], error=ERROR)
    several = clicks([False] * 4, sure, alike, error=ERROR)
    assert odds_after(one)[0, 0] > 0, "it is more likely an answer than not"
    assert odds_after(several)[0, 0] < 0


def test_a_click_that_others_contradict_counts_less() -> None:
    alike = np.full((4, 4), 0.9) + 0.1 * np.eye(4)
    trusting, wary = (
        clicks([True, True, True, False], [[0.0]] * 4, alike, error=error) for error in (0.0, ERROR)
    )
    assert abs(wary.fitted()[3, 0]) < 0.8 * abs(trusting.fitted()[3, 0])


def test_a_no_to_several_words_blames_the_one_that_was_unsure() -> None:
    moved = clicks([False], [[3.0, 0.0]]).fitted()[0]
    assert moved[1] < 3 * moved[0] < 0


def test_a_yes_sinks_an_unwanted_word() -> None:
    wanted, unwanted = clicks([True], [[0.0, 0.0]], shares=[[1.0, -1.0]]).fitted()[0]
    assert unwanted < 0 < wanted


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


@pytest.mark.parametrize(("harm", "part"), [(0.0, 1.0), (0.03, 0.5), (0.07, 0.25), (9.0, 0.0)])
def test_a_step_is_halved_until_it_does_no_more_harm_than_may_be(harm: float, part: float) -> None:
    assert bounded(lambda share: share * harm, most=0.02) == part
