"""Ranks of true captions against counting by hand, ties and equal captions among them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from visterm.errors import BadInput
from visterm.evaluation.caption_ranks import caption_ranks, equal_captions, true_ranks


def slow_rank(row: np.ndarray, true: list[int], ties: str) -> int:
    """Sort everybody; among equals by number, or with the true ones behind the wrong ones."""
    key = (lambda j: (-row[j], j)) if ties == "order" else (lambda j: (-row[j], j in true))
    order = sorted(range(len(row)), key=key)
    return 1 + min(order.index(j) for j in true)


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(2, 7), st.sampled_from(["order", "last"]))
def test_ranks_are_those_of_sorting(data, n, ties):
    scores = data.draw(arrays(np.float32, (n, n), elements=st.sampled_from([0.0, 0.5, 1.0])))
    captions = data.draw(st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=n, max_size=n))
    found = caption_ranks(scores, captions, ties)
    for i in range(n):
        equal = [j for j in range(n) if captions[j] == captions[i]]
        assert found.equal_count[i] == slow_rank(scores[i], equal, ties)
        assert found.only_own[i] == slow_rank(scores[i], [i], ties)


def test_a_model_that_scores_all_alike_gets_the_middle_or_the_end():
    alike = np.zeros((101, 101))
    assert np.median(true_ranks(alike)) == 51
    assert (true_ranks(alike, ties="last") == 101).all()


def test_equal_captions_are_equal_but_for_case_and_punctuation():
    table = equal_captions(["A sea, blue;", "a blue sea", "a sea blue", "海", "空"]).toarray()
    assert table.astype(int).tolist() == [
        [1, 0, 1, 0, 0],
        [0, 1, 0, 0, 0],
        [1, 0, 1, 0, 0],
        [0, 0, 0, 1, 0],
        [0, 0, 0, 0, 1],
    ]
    among = equal_captions(["a sea"], ["a car", "A sea."]).toarray()
    assert among.tolist() == [[0, 1]]


def test_both_ways_are_reported():
    scores = [[0.1, 0.2, 0.9], [0.0, 1.0, 0.1], [0.5, 0.9, 0.4]]
    summary = caption_ranks(scores, ["a sea", "a car", "a sea"]).summary([1, 2])
    assert summary["equal captions count"] == {"R@1": 2 / 3, "R@2": 1.0, "median rank": 1.0}
    assert summary["only its own"] == {"R@1": 1 / 3, "R@2": 1 / 3, "median rank": 3.0}


def test_what_cannot_be_ranked_is_told():
    with pytest.raises(BadInput, match="2 × 2 scores"):
        caption_ranks([[1.0]], ["a", "b"])
    with pytest.raises(BadInput, match="query 1 has no true"):
        true_ranks(np.eye(2), equal_captions(["a", "b"], ["a", "c"]))
    with pytest.raises(BadInput, match="'order'"):
        true_ranks(np.eye(2), ties="first")
    with pytest.raises(BadInput, match="no true one each"):
        true_ranks(np.ones((3, 2)))
