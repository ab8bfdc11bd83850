"""A column's codes bound its values, whatever the values are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from visterm.index import layout
from visterm.index.layout import BLOCK, CODES, column, column_size, encode
from visterm.index.recomputed import Recomputed

finite = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(arrays(np.float32, st.tuples(st.integers(1, 3), st.integers(1, 50)), elements=finite))
def test_every_value_lies_between_the_bounds_of_its_code(values: np.ndarray) -> None:
    parts = column(encode(values), values.shape[1])
    for row, lows, highs, codes in zip(values, parts.lows, parts.highs, parts.codes, strict=True):
        assert (lows[codes] <= row).all()
        assert (row <= highs[codes]).all()
        spread = float(row.max()) - float(row.min())
        wide = highs[codes].astype(float) - lows[codes].astype(float)
        assert (wide <= spread / 255 * 1.001 + 1e-6 * float(np.abs(row).max()) + 1e-44).all()
    np.testing.assert_array_equal(parts.exact, values)


@given(
    arrays(np.float32, st.tuples(st.integers(1, 3), st.integers(1, 50)), elements=finite),
    st.floats(0, 10),
)
def test_bounds_hold_what_follows_from_numbers_that_may_be_off(
    numbers: np.ndarray, error: float
) -> None:
    def link(words: slice, some: np.ndarray) -> np.ndarray:
        return np.arctan(some) * (1 + np.arange(3)[words])[:, None]

    recomputed = Recomputed(np.full(3, error), link)
    data = encode(numbers[:1], recomputed, first=2)
    assert data.shape[1] == column_size(numbers.shape[1], CODES)
    parts = column(data, numbers.shape[1])
    assert parts.exact.size == 0
    for move in (-error, 0, error):
        values = link(slice(2, 3), numbers[:1].astype(float) + move)[0].astype(np.float32)
        assert (parts.lows[0][parts.codes[0]] <= values).all()
        assert (values <= parts.highs[0][parts.codes[0]]).all()


def test_codes_of_later_numbers_have_the_scales_of_earlier_ones_where_they_fit() -> None:
    rng = np.random.default_rng(0)
    recomputed = Recomputed(np.zeros(2), lambda words, some: some)
    first = column(encode(rng.random((2, 500), np.float32), recomputed), 500)
    scales = first.facts[:, 0], first.facts[:, 1]
    more = rng.random((2, 100), np.float32)
    more[1] *= 9
    later = column(encode(more, recomputed, 0, scales), 100)
    np.testing.assert_array_equal(later.facts[0, :2], first.facts[0, :2])
    assert later.facts[1, 1] > first.facts[1, 1]


def test_blocks_know_their_highest_and_lowest_codes() -> None:
    values = np.random.default_rng(0).standard_normal(2 * BLOCK + 7).astype(np.float32)
    parts = column(encode(values[None])[0], values.size)
    for number, block in enumerate(np.split(parts.codes, [BLOCK, 2 * BLOCK])):
        assert parts.tops[number] == block.max()
        assert parts.bottoms[number] == block.min()
    assert parts.facts[2:].tolist() == [0, 255]


def test_zero_bytes_are_a_column_of_zeros() -> None:
    zeros = np.zeros((2, 1500), np.float32)
    np.testing.assert_array_equal(encode(zeros), np.zeros((2, column_size(1500)), np.uint8))


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
