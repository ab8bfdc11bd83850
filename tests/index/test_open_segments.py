"""Ids that lie in any order are found by their order, few or many."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.index.open_segments import _sorted_places


@pytest.mark.parametrize("count", [1, 3, 1_000])
def test_places_are_those_of_searchsorted(count: int) -> None:
    rng = np.random.default_rng(count)
    listed = rng.permutation(3 * 1_000)[:1_000]
    order = np.argsort(listed).astype(np.int32)
    ids = rng.integers(-5, 3 * 1_000 + 5, count)
    found = _sorted_places(listed, order, ids)
    np.testing.assert_array_equal(found, np.searchsorted(listed, ids, sorter=order))
