"""Ranks of relevant pictures: the tie rule, both ways of counting, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.evaluation import _kernels
from visterm.evaluation.ranking import relevant_ranks, top

# Few distinct values, so that most pictures tie with some other, and both infinities.
TYING = st.sampled_from([-np.inf, -1.0, -0.0, 0.0, 0.25, 1.0, np.inf])


def slow_order(row: np.ndarray) -> list[int]:
    return sorted(range(len(row)), key=lambda picture: (-row[picture], picture))


@st.composite
def scored(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    shape = draw(st.tuples(st.integers(1, 4), st.integers(1, 12)))
    scores = draw(arrays(np.float32, shape, elements=TYING))
    gains = draw(arrays(np.float32, shape, elements=st.sampled_from([0, 0, 1, 3])))
    return scores, gains


@given(scored())
@settings(deadline=None)
def test_ranks_and_gains_are_those_of_a_full_sort_with_ties_in_picture_order(case):
    scores, gains = case
    ranked = relevant_ranks(scores, csr_array(gains))
    for row, gain, (ranks, found) in zip(scores, gains, ranked, strict=True):
        order = slow_order(row)
        expected = [rank for rank, picture in enumerate(order, start=1) if gain[picture]]
        assert ranks.tolist() == expected
        assert found.tolist() == [gain[picture] for picture in order if gain[picture]]


@pytest.mark.parametrize("levels", [3, 10**6])
@pytest.mark.parametrize("relevant", [1, _kernels.FEW, _kernels.FEW + 1, 400])
def test_counting_and_searching_agree_with_a_full_sort_on_either_side_of_the_switch(
    relevant, levels
):
    rng = np.random.default_rng(relevant)
    scores = rng.integers(levels, size=(1, 400)).astype(np.float32)
    gains = np.zeros((1, 400), dtype=np.float32)
    gains[0, rng.permutation(400)[:relevant]] = rng.integers(1, 9, size=relevant)
    ranked = relevant_ranks(scores, csr_array(gains))
    order = slow_order(scores[0])
    assert ranked.ranks.tolist() == [r for r, p in enumerate(order, 1) if gains[0, p]]
    assert ranked.gains.tolist() == [gains[0, p] for p in order if gains[0, p]]


def test_float64_scores_that_float32_would_tie_stay_apart():
    close = [[1.0, 1.0 + 1e-12]]
    assert relevant_ranks(close, csr_array([[1, 0]])).ranks.tolist() == [2]


def test_repeated_unsorted_and_zero_gains_are_brought_in_order_without_touching_the_input():
    untidy = csr_array(
        (np.array([2.0, 1.0, 0.0, 1.0]), np.array([2, 0, 1, 2]), np.array([0, 4])), shape=(1, 3)
    )
    ranked = relevant_ranks([[0.1, 0.5, 0.9]], untidy)
    assert ranked.ranks.tolist() == [1, 3]
    assert ranked.gains.tolist() == [3.0, 1.0]
    assert untidy.indices.tolist() == [2, 0, 1, 2]


def test_a_nan_score_is_refused_and_named_even_for_a_query_without_relevant_pictures():
    scores = [[0.0, 1.0], [0.0, np.nan]]
    with pytest.raises(BadInput, match="query 1 for picture 1 is NaN"):
        relevant_ranks(scores, csr_array([[1, 0], [0, 0]]))


@pytest.mark.parametrize(
    ("scores", "gains", "why"),
    [
        ([[1.0, 2.0]], [[1, 0, 0]], "1 × 2 but relevance is 1 × 3"),
        ([1.0, 2.0], [[1, 0]], "queries × pictures"),
        ([["a", "b"]], [[1, 0]], "numbers"),
        ([[1.0, 2.0]], [[1, -1]], "negative"),
        ([[1.0, 2.0]], [[1, np.nan]], "NaN"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(scores, gains, why):
    with pytest.raises(BadInput, match=why):
        relevant_ranks(scores, csr_array(np.array(gains, dtype=np.float32)))


@given(arrays(np.float32, st.integers(0, 12), elements=TYING), st.integers(0, 15))
def test_top_is_the_head_of_a_full_sort_with_ties_in_picture_order(row, k):
    assert top(row, k).tolist() == slow_order(row)[:k]


def test_top_ranks_whole_numbers_too():
    assert top(np.array([0, 3, 3], dtype=np.uint8), 2).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("row", "k", "why"), [([1.0], -1, "-1"), ([np.nan], 1, "NaN"), ([[1.0]], 1, "one query")]
)
def test_top_refuses_what_has_no_order(row, k, why):
    with pytest.raises(BadInput, match=why):
        top(row, k)
