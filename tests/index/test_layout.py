"""A column's codes bound its values, whatever the values are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from visterm.index import layout
from visterm.index.layout import BLOCK, column, encode, places

finite = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(arrays(np.float32, st.tuples(st.integers(1, 3), st.integers(1, 50)), elements=finite))
def test_every_value_lies_between_the_bounds_of_its_code(values: np.ndarray) -> None:
    parts = column(encode(values), values.shape[1])
    low, step, below, above, largest = parts.facts.T[:, :, None]
    middle = low + step * parts.codes
    assert (middle + below <= values.astype(np.float64) + 1e-12 * largest).all()
    assert (middle + above >= values.astype(np.float64) - 1e-12 * largest).all()
    assert (largest == np.abs(values).max(axis=1, keepdims=True)).all()
    assert (above - below <= step * 1.001).all()
    np.testing.assert_array_equal(parts.exact, values)


def test_blocks_know_their_highest_and_lowest_values() -> None:
    values = np.random.default_rng(0).standard_normal(2 * BLOCK + 7).astype(np.float32)
    parts = column(encode(values[None])[0], values.size)
    for number, block in enumerate(np.split(values, [BLOCK, 2 * BLOCK])):
        assert parts.highs[number] == block.max()
        assert parts.lows[number] == block.min()


def test_zero_bytes_are_a_column_of_zeros() -> None:
    zeros = np.zeros((2, 1500), np.float32)
    np.testing.assert_array_equal(encode(zeros), np.zeros((2, places(1500).end), np.uint8))


@pytest.mark.parametrize("count", [1, 50, 2 * BLOCK + 7])
def test_compiled_code_encodes_the_same_bytes(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(count)
    values = np.stack(
        [rng.standard_normal(count), np.full(count, -2.5), 1e30 * rng.standard_normal(count)]
    ).astype(np.float32)
    monkeypatch.setattr(layout, "_KERNELS", "a module that is not loaded")
    expected = encode(values)
    monkeypatch.setattr(layout, "_KERNELS", "sys")
    np.testing.assert_array_equal(encode(values), expected)
