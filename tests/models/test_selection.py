"""Values to choose from, and the AvgP that decides."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.models.selection import candidates, held_relevance, quality
from visterm.text import Relevance


def positive(number):
    return number > 0


def test_one_value_needs_no_validation_pictures_and_several_do():
    assert candidates("C", 2.0, None, positive, "positive") == [2.0]
    assert candidates("C", (1.0, 2.0), "pictures", positive, "positive") == [1.0, 2.0]
    assert candidates("C", np.array([1.0]), None, positive, "positive") == [1.0]
    with pytest.raises(BadInput, match="choosing C among several needs validation pictures"):
        candidates("C", [1.0, 2.0], None, positive, "positive")


@pytest.mark.parametrize("wrong", [0, -1.0, float("nan"), "much", None, (1.0, -1.0), (), [[1.0]]])
def test_values_out_of_bounds_are_named(wrong):
    with pytest.raises(BadInput, match="C must be positive"):
        candidates("C", wrong, "pictures", positive, "positive")


def test_held_captions_become_queries_and_given_relevance_stays():
    captions = csr_array(np.array([[1, 1, 0], [0, 1, 0]]))
    made = held_relevance(captions, 2, np.ones(3), None)
    assert sorted(made.relevant_per_query.tolist()) == [1, 1, 2]
    assert len(held_relevance(captions, 2, np.ones(3), 1)) == 2
    given = Relevance(csr_array(np.eye(3)), csr_array(np.ones((3, 2))))
    assert held_relevance(given, 2, np.ones(3), None) is given
    with pytest.raises(BadInput, match="knows 4 words"):
        held_relevance(captions, 2, np.ones(4), None)


def test_quality_is_the_mean_average_precision_of_the_products():
    relevance = Relevance(csr_array(np.eye(2)), csr_array(np.array([[1.0, 0.0], [1.0, 0.0]])))
    rows = np.array([[0.9, 0.1], [0.2, 0.8]])  # first for one query, second for the other
    assert quality(rows, relevance) == 0.75
