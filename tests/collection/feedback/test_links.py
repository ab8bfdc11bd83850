from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from visterm.calibration.link import log_logistic
from visterm.collection.feedback._links import linked_offsets, put


@settings(deadline=None)
@given(st.integers(0, 1200), st.floats(-40, 40), st.floats(0.01, 30), st.integers(0, 99))
def test_moved_products_add_what_the_link_says(n: int, intercept: float, slope: float, seed: int):
    moves, values = np.random.default_rng(seed).normal(0, 9, (2, n)).astype(np.float32)
    found = np.empty(n, np.float32)
    linked_offsets(moves, values, 0.25, intercept, slope, found)
    before = intercept + slope * values.astype(np.float64)
    after = before + slope * (moves.astype(np.float64) - 0.25)
    expected = log_logistic(after) - log_logistic(before)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=2e-8)


def test_a_number_that_is_none_stays_none() -> None:
    moves, values = np.float32([[np.nan, 1], [1, np.nan]])
    found = np.zeros(2, np.float32)
    linked_offsets(moves, values, 0.0, 0.0, 1.0, found)
    assert np.isnan(found).all()


def test_values_are_put_where_they_belong() -> None:
    column = np.zeros(4, np.float32)
    put(np.float32([1, 2]), np.array([3, 0], np.int32), column)
    assert column.tolist() == [2, 0, 0, 1]
