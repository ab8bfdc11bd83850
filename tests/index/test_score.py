"""The definition of a score, and its two faster forms."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from visterm.index.score import best, score, scores

finite = st.floats(width=32, allow_nan=False, allow_infinity=False)
tables = st.tuples(st.integers(1, 6), st.integers(1, 9)).flatmap(
    lambda shape: st.tuples(
        arrays(np.float32, shape[0], elements=finite), arrays(np.float32, shape, elements=finite)
    )
)


@given(tables)
def test_scoring_columns_gives_every_picture_its_defined_score(
    table: tuple[np.ndarray, np.ndarray],
) -> None:
    weights, columns = table
    with np.errstate(over="ignore"):
        slowly = [score(weights, picture) for picture in columns.T]
    np.testing.assert_array_equal(scores(weights, columns, columns.shape[1]), slowly)


def test_sums_are_rounded_once_and_do_not_overflow_on_the_way() -> None:
    huge = np.float32([3e38, 3e38, -3e38])
    assert score(np.ones(3, np.float32), huge) == np.float32(3e38)
    small = np.float32([1, 2**-24, 2**-24])
    assert score(np.ones(3, np.float32), small) == np.float32(1 + 2**-23)


@given(
    st.lists(st.sampled_from([-1.0, 0.0, 0.5, np.inf]), max_size=30), st.integers(0, 40), st.data()
)
def test_best_is_the_head_of_the_sorted_list(values: list[float], k: int, data: st.DataObject):
    ids = data.draw(st.permutations(range(len(values))))
    expected = sorted(zip(ids, values, strict=True), key=lambda pair: (-pair[1], pair[0]))[:k]
    found = best(np.array(ids, np.int64), np.array(values, np.float32), k)
    assert list(zip(*map(np.ndarray.tolist, found), strict=True)) == expected


@given(
    st.integers(1, 9000),
    st.sampled_from([1, 7, 8, 9, 5000]),
    st.sampled_from([0, 1, 5]),
    st.integers(0, 99),
)
def test_best_is_the_head_of_long_sorted_lists(size: int, k: int, digits: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    ids = rng.permutation(size)
    values = np.maximum(np.round(rng.standard_normal(size), digits), -1).astype(np.float32)
    order = np.lexsort((ids, -values))[:k]
    found = best(ids, values, k)
    np.testing.assert_array_equal(found[0], ids[order])
    np.testing.assert_array_equal(found[1], values[order])
