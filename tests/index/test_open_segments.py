"""Ids that lie in any order are found by their order, few or many."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.index import _kernels, open_segments  # noqa: F401 - loaded kernels are used
from visterm.index.open_segments import _sorted_places


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("count", [1, 3, 1_000])
@pytest.mark.parametrize("gaps", [0, 2_000])
def test_places_are_those_of_searchsorted(
    count: int, gaps: int, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not compiled:
        monkeypatch.setattr(open_segments, "_KERNELS", "nobody.has.loaded.them")
    rng = np.random.default_rng(count)
    listed = rng.permutation(1_000 + gaps)[:1_000] + 7
    order = np.argsort(listed).astype(np.int32)
    ids = rng.integers(-5, 3 * 1_000 + 5, count)
    for some in (ids, np.sort(ids)):
        found = _sorted_places(listed, order, some)
        np.testing.assert_array_equal(found, np.searchsorted(listed, some, sorter=order))
