from __future__ import annotations

import numpy as np
import pytest

from visterm.collection.feedback._kernels import coded_products


@pytest.mark.parametrize("width", [1, 7, 16, 17, 48, 1280])
def test_products_of_codes_are_the_same_bits_whatever_is_asked_for_with_them(width: int) -> None:
    rng = np.random.default_rng(width)
    codes = rng.integers(0, 256, (40, width), np.uint8)
    scales = np.column_stack([rng.normal(size=40), rng.random(40)]).astype(np.float32)
    directions = rng.normal(size=(3, width)).astype(np.float32)
    places = rng.permutation(40)[:31].astype(np.int64)
    found = np.empty((3, 31), np.float32)
    coded_products(codes, scales, places, directions, found)
    rows = scales[places, :1] + scales[places, 1:] * codes[places].astype(np.float64)
    expected = directions.astype(np.float64) @ rows.T
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4 * width**0.5)
    for number in range(3):
        alone = np.empty((1, 31), np.float32)
        coded_products(codes, scales, places, directions[number : number + 1], alone)
        assert alone[0].tobytes() == found[number].tobytes()
