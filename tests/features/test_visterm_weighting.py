"""Visterm counts and weights against the formulas, one number at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from visterm.features.bag_of_visterms import (
    count_visterms,
    join_channels,
    weigh_visterms,
)
from visterm.matrices import unit_rows

SIZE = 6
numbers = arrays(
    np.int64, st.tuples(st.integers(0, 5), st.integers(0, 9)), elements=st.integers(0, SIZE - 1)
)
weights = arrays(np.float32, SIZE, elements=st.just(0.0) | st.floats(2**-12, 8, width=32))


def lengths(vectors: csr_array) -> np.ndarray:
    return np.sqrt((vectors.toarray().astype(np.float64) ** 2).sum(axis=1))


@given(numbers)
def test_counts_are_how_often_a_visterm_stands_in_a_picture(numbers: np.ndarray) -> None:
    counts = count_visterms(numbers, SIZE)
    expected = [[(row == v).sum() for v in range(SIZE)] for row in numbers]
    assert counts.shape == (len(numbers), SIZE)
    assert counts.dtype == np.float32
    assert counts.toarray().tolist() == expected
    assert counts.has_canonical_format


@pytest.mark.parametrize("root", [True, False])
@given(numbers=numbers, idf=weights)
def test_weights_are_tf_idf_of_unit_length(
    root: bool, numbers: np.ndarray, idf: np.ndarray
) -> None:
    counts = count_visterms(numbers, SIZE)
    weighed = weigh_visterms(counts, idf, root=root).toarray()
    for row, tf in zip(weighed, counts.toarray().tolist(), strict=True):
        raw = [(math.sqrt(c) if root else c) * float(w) for c, w in zip(tf, idf, strict=True)]
        length = math.sqrt(sum(x * x for x in raw)) or 1.0
        assert np.allclose(row, [x / length for x in raw], atol=1e-6)


@given(arrays(np.float32, (4, 5), elements=st.floats(-100, 100, width=32)))
def test_rows_have_unit_length_and_empty_ones_stay_empty(dense: np.ndarray) -> None:
    dense[np.abs(dense) < 1e-3] = 0
    vectors = csr_array(dense)
    unit = unit_rows(vectors)
    assert unit.dtype == np.float32
    assert np.allclose(lengths(unit), (lengths(vectors) > 0).astype(float), atol=1e-6)
    assert np.allclose(unit.toarray() * lengths(vectors)[:, None], dense, atol=1e-4)
    assert np.array_equal(vectors.toarray(), dense)


@given(numbers, weights)
def test_channels_share_the_length_of_a_picture_equally(
    numbers: np.ndarray, idf: np.ndarray
) -> None:
    counts = count_visterms(numbers, SIZE)
    one = weigh_visterms(counts, np.ones(SIZE, np.float32), root=False)
    other = weigh_visterms(counts, idf, root=True)
    joined = join_channels([one, other])
    assert joined.shape == (len(numbers), 2 * SIZE)
    speaking = (lengths(one) > 0).astype(float) + (lengths(other) > 0)
    share = np.sqrt(np.maximum(speaking, 1))[:, None]
    assert np.allclose(joined.toarray()[:, :SIZE] * share, one.toarray(), atol=1e-6)
    assert np.allclose(joined.toarray()[:, SIZE:] * share, other.toarray(), atol=1e-6)
