"""Queries are read in one way, and wrong ones are refused in words."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.errors import BadInput
from visterm.index.query_vector import read_count, read_query


def test_a_pair_and_a_vector_are_the_same_query() -> None:
    pair = read_query(([5, 2], [1, -2]), words=6)
    vector = read_query(np.array([0, 0, -2.0, 0, 0, 1]), words=6)
    for one, other in zip(pair, vector, strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype


def test_an_empty_query_is_a_query() -> None:
    words, weights = read_query(([], []), words=3)
    assert (words.size, weights.size) == (0, 0)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (([3], [1]), "asks for word 3, but words go from 0 to 2"),
        (([-1], [1]), "asks for word -1"),
        (([0, 1], [1]), "one weight a word"),
        (([0, 0], [1, 2]), "word 0 stands twice"),
        (([0.5], [1]), "whole numbers"),
        (([0], [np.nan]), "finite"),
        (([0], [1e39]), "finite"),
        (np.zeros(2), "3 weights"),
        (np.zeros((1, 3)), "3 weights"),
    ],
)
def test_wrong_queries_are_refused_in_words(query: object, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_query(query, words=3)  # type: ignore[arg-type]


def test_k_must_be_a_count() -> None:
    with pytest.raises(BadInput, match="0 or more"):
        read_count(-1)
