"""The promise: the same ids and scores, ties by id, as sorting the full product."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from visterm.errors import BadInput
from visterm.index import Index
from visterm.index.layout import BLOCK
from visterm.index.score import best, scores

SKEWS = (
    *("normal", "skewed", "albums", "ties", "constant", "sparse", "extreme", "twins", "offset"),
    *("tight", "lost"),
)


def draw(skew: str, pictures: int, words: int, rng: np.random.Generator) -> np.ndarray:
    """Rows of one character."""
    rows = rng.standard_normal((pictures, words))
    if skew == "skewed":
        rows = np.exp(3 * rows)
    elif skew == "albums":
        rows = np.where(np.arange(pictures)[:, None] // 50 % 7 == np.arange(words) % 7, 5, 0) + rows
    elif skew == "ties":
        rows = np.round(rows)
    elif skew == "constant":
        rows[:, ::2] = np.float32(0.1)
        rows[:, 1::4] = 7e30
    elif skew == "sparse":
        rows[rng.random(rows.shape) < 0.99] = 0
    elif skew == "extreme":
        rows = rng.choice([3.4e38, -3.4e38, 1e-45, -1e-45, 1.0, 0.0, 1e20], rows.shape)
    elif skew == "twins":
        rows = rows[rng.integers(0, max(1, pictures // 10), pictures)]
    elif skew == "offset":
        rows = 1e6 + rows / 16
    elif skew == "tight":  # Every value as far above its code as it can be.
        rows = (rng.integers(249, 255, rows.shape) + 0.49) / 255
        rows[0], rows[-1] = 0, 1
    elif skew == "lost":  # Sums so large on the way that double precision loses the rest.
        rows *= 1e15
        rows[:, ::2] = np.float32(7e30)
    return rows.astype(np.float32)


def draw_weights(style: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """The weights of a query, of one character."""
    weights = rng.standard_normal(count)
    if style == "positive":
        weights = np.abs(weights)
    elif style == "zeros":
        weights[::2] = 0
    elif style == "uneven":
        weights *= 10.0 ** rng.integers(-30, 8, count)
    elif style == "equal":
        weights = np.sign(weights)
    return weights.astype(np.float32)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    skew=st.sampled_from(SKEWS),
    style=st.sampled_from(["any", "positive", "zeros", "uneven", "equal"]),
    pictures=st.one_of(st.integers(1, 40), st.integers(900, 2600)),
    words=st.integers(1, 14),
    segments=st.integers(1, 4),
    k=st.sampled_from([1, 2, 20, 100, 3000]),
    seed=st.integers(0, 2**32),
)
def test_search_equals_the_full_sort(
    quick, slow, answer, skew, style, pictures, words, segments, k, seed
) -> None:
    rng = np.random.default_rng(seed)
    rows = draw(skew, pictures, words, rng)
    asked = rng.choice(words, rng.integers(1, words + 1), replace=False)
    weights = draw_weights(style, asked.size, rng)
    reference = slow(words)
    reference.append(rows)
    expected = reference.search(asked, weights, k)
    with tempfile.TemporaryDirectory(dir=quick) as folder:
        index = Index.create(folder, words=words)
        # The later a segment, the smaller its ids, so that ties are not broken by the order.
        for ids in reversed(np.array_split(np.arange(pictures), segments)):
            index.append(rows[ids], ids)
        index.prepare()
        assert answer(index.search((asked, weights), k)) == expected
        assert answer(index.search((asked, weights), k, n_jobs=2)) == expected
        with pytest.MonkeyPatch.context() as patch:
            patch.delitem(sys.modules, "visterm.index._kernels")
            assert answer(index.search((asked, weights), k)) == expected
            assert "visterm.index._kernels" not in sys.modules


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    skew=st.sampled_from(SKEWS),
    share=st.sampled_from([0.0, 0.02, 0.5, 1.0]),
    removed=st.sampled_from([0.0, 0.3, 0.95]),
    listed=st.booleans(),
    alike=st.booleans(),
    k=st.sampled_from([1, 20]),
    seed=st.integers(0, 2**32),
)
def test_filtered_and_removed_pictures_are_never_found_or_counted(
    quick, slow, answer, skew, share, removed, listed, alike, k, seed
) -> None:
    rng = np.random.default_rng(seed)
    pictures, words = int(rng.integers(1, 2500)), 5
    rows = draw(skew, pictures, words, rng)
    ids = rng.choice(3 * pictures, pictures, replace=False) if rng.random() < 0.5 else None
    asked = rng.choice(words, rng.integers(0, 4), replace=False)
    weights = draw_weights("any", asked.size, rng)
    reference = slow(words)
    reference.append(rows, ids)
    gone = np.array([number for number in reference.rows if rng.random() < removed], np.int64)
    reference.remove(gone)
    allowed = rng.random(rng.integers(1, 4 * pictures)) < share
    with tempfile.TemporaryDirectory(dir=quick) as folder:
        index = Index.create(folder, words=words)
        index.segment_size = 1 + pictures // 2
        index.alike_from = 2 if alike else index.alike_from
        index.shared_from = 2 if alike else index.shared_from
        index.prepare()
        index.append(rows, ids)
        assert index.remove(gone) == gone.size
        allow = rng.permutation(np.flatnonzero(allowed)) if listed else allowed
        assert answer(index.search((asked, weights), k)) == reference.search(asked, weights, k)
        assert answer(index.search((asked, weights), k, allow=allow)) == reference.search(
            asked, weights, k, np.flatnonzero(allowed)
        )
        every = reference.search(asked, weights, pictures, np.flatnonzero(allowed))
        for _, least in every[:: max(1, len(every) // 3)]:
            expected = sum(found >= least for _, found in every)
            assert index.count((asked, weights), least, allow=allow) == expected
            listed_ids = index.candidates((asked, weights), least, allow=allow)
            assert sorted(listed_ids) == sorted(one for one, found in every if found >= least)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    skew=st.sampled_from(SKEWS),
    style=st.sampled_from(["any", "positive", "equal"]),
    length=st.integers(1, 10),
    k=st.sampled_from([1, 20, 500]),
    seed=st.integers(0, 2**32),
)
def test_search_equals_the_full_sort_over_many_blocks(quick, skew, style, length, k, seed) -> None:
    rng = np.random.default_rng(seed)
    rows = draw(skew, 30_000, length, rng)
    weights = draw_weights(style, length, rng)
    expected = best(np.arange(30_000), scores(weights, rows.T, 30_000), k)
    with tempfile.TemporaryDirectory(dir=quick) as folder:
        index = Index.create(folder, words=length)
        for ids in np.split(np.arange(30_000), [25_000, 27_000])[::-1]:
            index.append(rows[ids], ids)
        index.prepare()
        found = index.search(weights, k)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


def test_ties_go_to_smaller_ids_though_higher_blocks_are_scanned_first(folder) -> None:
    rows = np.ones((40 * 1024, 1), np.float32)
    rows[20 * 1024 :: 1024] = 2
    index = Index.create(folder, words=1)
    index.append(rows)
    index.prepare()
    expected = [*range(20 * 1024, 40 * 1024, 1024), *range(10)]
    assert index.search(([0], [1]), 30)[0].tolist() == expected


@pytest.mark.parametrize("seed", range(8))
def test_what_double_precision_loses_is_lost_in_the_bounds_too(folder, slow, answer, seed) -> None:
    rows = draw("lost", 600, 3, np.random.default_rng(seed))
    reference = slow(3)
    reference.append(rows)
    index = Index.create(folder, words=3)
    for ids in reversed(np.array_split(np.arange(600), 6)):
        index.append(rows[ids], ids)
    index.prepare()
    query = [0, 1, 2], [1, 1, -1]
    for k in (1, 5, 30, 70):
        assert answer(index.search(query, k)) == reference.search(*query, k)


def test_an_empty_query_finds_the_smallest_ids_with_score_zero(folder) -> None:
    index = Index.create(folder, words=2)
    index.append(np.ones((5, 2)), ids=[9, 4, 7, 1, 3])
    index.remove([3])
    for query in (([], []), ([1], [0]), np.zeros(2)):
        ids, scores = index.search(query, 3)
        assert ids.tolist() == [1, 4, 7]
        assert scores.tolist() == [0, 0, 0]


def test_an_index_without_pictures_finds_none(folder) -> None:
    ids, scores = Index.create(folder, words=2).search(([0], [1]), 3)
    assert (ids.size, scores.size) == (0, 0)


@pytest.mark.parametrize("sign", [1, -1])
def test_what_cannot_win_is_not_read(folder, sign) -> None:
    rows = sign * np.random.default_rng(0).random((50 * 1024, 2), np.float32)
    rows[30 * 1024 : 31 * 1024] += sign
    index = Index.create(folder, words=2)
    index.append(rows)
    index.prepare()
    asked = np.array([0, 1]), sign * np.ones(2, np.float32)
    *pruned, counts = index._search(*asked, 20, None, 1, skip=True)
    *full, all_counts = index._search(*asked, 20, None, 1, skip=False)
    np.testing.assert_array_equal(pruned, full)
    assert counts[0] <= 40  # Some blocks are looked at first; most others' bounds are below.
    assert all_counts[0] == 50 * 1024 / BLOCK
    assert all_counts[1] < 500


def test_rows_come_back_exactly_and_in_the_order_asked(folder) -> None:
    rows = np.random.default_rng(0).standard_normal((30, 4)).astype(np.float32)
    index = Index.create(folder, words=4)
    index.segment_size = 8
    index.append(rows, ids=np.arange(30)[::-1])
    np.testing.assert_array_equal(index.rows([3, 29, 0]), rows[[26, 0, 29]])
    with pytest.raises(BadInput, match="picture 30 is not in the index"):
        index.rows([2, 30])


def test_updating_a_word_changes_it_alone_in_every_segment(folder) -> None:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((30, 4)).astype(np.float32)
    index = Index.create(folder, words=4)
    index.segment_size = 8
    index.append(rows, ids=rng.permutation(30))
    rows = index.rows(np.arange(30))
    for word in (2, 0, 2):
        rows[:, word] = rng.standard_normal(30)
        index.update_word(word, rows[:, word])
        np.testing.assert_array_equal(index.rows(np.arange(30)), rows)
    rows[[7, 3], 1:3] = [[1, 2], [3, 4]]
    index.update_words([1, 2], [[1, 2], [3, 4]], ids=[7, 3])
    np.testing.assert_array_equal(Index.open(folder).rows(np.arange(30)), rows)
    index.update_word(0, np.zeros(30))
    assert max(len(segment.groups) for segment in index._manifest.segments) <= 4


def test_columns_are_read_and_replaced_as_pictures_lie(folder) -> None:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((300, 4)).astype(np.float32)
    index = Index.create(folder, words=4)
    index.segment_size, index.alike_from = 256, 16
    index.append(rows, ids=rng.permutation(300))
    index.remove([5, 200])
    assert [segment.order is None for segment in index.manifest.segments] == [False, True]
    ids = index.ids()
    rows = index.rows(ids)
    columns = index.columns([1, 3])
    assert columns.shape == (2, index.places) == (2, 300)
    for numbers, places in index.placed():
        np.testing.assert_array_equal(columns[:, places].T, index.values([1, 3], numbers))
    columns = columns[::-1] + rng.standard_normal(columns.shape).astype(np.float32)
    for numbers, places in index.placed():
        rows[np.ix_(np.searchsorted(ids, numbers), [1, 3])] = columns[:, places].T
    index.update_columns([1, 3], columns)
    assert index.ids() is ids, "pictures have stayed where they were"
    np.testing.assert_array_equal(Index.open(folder).rows(ids), rows)
    assert not index.verify()


def test_wrong_columns_are_refused_and_change_nothing(folder) -> None:
    index = Index.create(folder, words=2)
    index.append([[1, 2], [3, 4]])
    for words, columns in [
        ([2], [[1, 2]]),
        ([0], [[1]]),
        ([0, 0], [[1, 2]] * 2),
        ([1], [[1, np.inf]]),
    ]:
        with pytest.raises(BadInput):
            index.update_columns(words, np.array(columns, np.float32))
    assert index.rows([0, 1]).tolist() == [[1, 2], [3, 4]]
    assert index.version == 1


def test_values_updated_one_by_one_are_joined_without_writing_the_others_again(folder) -> None:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((30, 40)).astype(np.float32)
    index = Index.create(folder, words=40)
    index.append(rows)
    (whole,) = index.manifest.segments[0].groups
    for word in (*range(0, 40, 2), 6):
        rows[:, word] = rng.standard_normal(30)
        index.update_word(word, rows[:, word])
    assert index.merge()
    assert not index.merge()
    kept, joined = index.manifest.segments[0].groups
    assert kept == whole
    assert joined.words == list(range(0, 40, 2))
    assert not Index.open(folder).verify()
    np.testing.assert_array_equal(Index.open(folder).rows(np.arange(30)), rows)


def test_added_words_are_zero_until_they_are_updated(folder) -> None:
    index = Index.create(folder, words=1)
    index.append([[1], [2]])
    index.add_words(2)
    index.append([[3, 4, 5]])
    index.prepare()
    assert index.rows([0, 2]).tolist() == [[1, 0, 0], [3, 4, 5]]
    assert index.search(([1], [-1]), 3)[0].tolist() == [0, 1, 2]
    index.update_word(1, [9, 8, 7])
    assert index.search(([1], [-1]), 3)[0].tolist() == [2, 1, 0]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1, np.nan]], "row 0 holds nan for word 1"),
        ([[0, 0], [np.inf, 0]], "row 1 holds inf for word 0"),
        ([[1e39, 0]], r"row 0 holds 1e\+39"),
        ([[1, 2, 3]], "2 a picture"),
        ([1, 2], "2 a picture"),
        ([["a", "b"]], "must be numbers"),
    ],
)
def test_rows_that_cannot_be_stored_are_refused(folder, rows, message) -> None:
    index = Index.create(folder, words=2)
    with pytest.raises(BadInput, match=message):
        index.append(rows)
    assert (len(index), index.version) == (0, 0)


def test_wrong_updates_are_refused_and_change_nothing(folder) -> None:
    index = Index.create(folder, words=2)
    index.append([[1, 2], [3, 4]])
    for word, values, ids in [
        (2, [1, 2], None),
        (0, [1], None),
        (0, [[1, 2]], None),
        (0, [np.nan, 1], None),
        (0, [1, 2], [0, 5]),
    ]:
        with pytest.raises(BadInput):
            index.update_word(word, values, ids)
    assert index.rows([0, 1]).tolist() == [[1, 2], [3, 4]]
    assert index.version == 1


@pytest.fixture
def folder() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as name:
        yield name
