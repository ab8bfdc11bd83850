"""An index without exact values: the same promise, from codes and whoever computes values anew."""

from __future__ import annotations

import json
import tempfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from visterm.errors import BadInput
from visterm.index import Index
from visterm.index.layout import CODES
from visterm.index.recomputed import Recomputed
from visterm.index.score import best, scores


def link(_: object, numbers: np.ndarray) -> np.ndarray:
    """log σ(4 x): steep for small numbers, flat for large ones."""
    odds = 4 * numbers
    return np.minimum(odds, 0) - np.log1p(np.exp(-np.abs(odds)))


class Computed:
    """Numbers by id, given to an index a little wrong, and the values that follow from them."""

    def __init__(self, index: Index, error: float, rng: np.random.Generator) -> None:
        self.index, self.error, self.rng = index, error, rng
        self.numbers: dict[int, np.ndarray] = {}
        self.asked = 0
        index.exact = self.exact

    def append(self, numbers: np.ndarray, ids: np.ndarray, more: np.ndarray | None = None) -> None:
        wrong = numbers + self.error * self.rng.uniform(-0.99, 0.99, numbers.shape)
        self.numbers |= dict(zip(ids.tolist(), numbers, strict=True))
        # Rounding to 32 bits is one more error.
        recomputed = Recomputed(np.full(numbers.shape[1], self.error + 1e-6), link)
        rows = wrong if more is None else np.concatenate([wrong, more], axis=1)
        self.index.append(rows.astype(np.float32), ids, replace=True, recomputed=recomputed)

    def exact(self, words: np.ndarray, ids: np.ndarray) -> np.ndarray:
        self.asked += ids.size
        gone = np.full(len(words), np.nan)
        rows = [self.numbers[one][words] if one in self.numbers else gone for one in ids.tolist()]
        return link(None, np.array(rows).reshape(ids.size, words.size)).astype(np.float32)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    pictures=st.one_of(st.integers(1, 40), st.integers(900, 2600)),
    segments=st.integers(1, 5),
    merged=st.booleans(),
    compiled=st.booleans(),
    is_twin=st.booleans(),
    alike=st.booleans(),
    sign=st.sampled_from(["positive", "any"]),
    k=st.sampled_from([1, 20, 3000]),
    error=st.sampled_from([1e-6, 1e-2]),
    seed=st.integers(0, 2**32),
)
def test_search_and_count_equal_the_full_sort_of_values_that_nobody_keeps(
    quick, pictures, segments, merged, compiled, is_twin, alike, sign, k, error, seed
) -> None:
    rng = np.random.default_rng(seed)
    numbers = rng.standard_normal((pictures, 4)) * [1, 3, 0.2, 1]
    if is_twin:
        numbers = numbers[rng.integers(0, max(1, pictures // 10), pictures)]
    kept = rng.standard_normal((pictures, 2)).astype(np.float32)
    values = np.concatenate([link(None, numbers).astype(np.float32), kept], axis=1)
    ids = rng.choice(3 * pictures, pictures, replace=False)
    words = np.sort(rng.choice(6, rng.integers(1, 6), replace=False))
    weights = rng.standard_normal(words.size).astype(np.float32)
    weights = np.abs(weights) if sign == "positive" else weights
    allow = ids[rng.random(pictures) < 0.6]
    with tempfile.TemporaryDirectory(dir=quick) as folder:
        index = Index.create(folder, words=6)
        index.alike_from = 2 if alike else index.alike_from
        computed = Computed(index, error, rng)
        for some in np.array_split(np.arange(pictures), segments):
            if some.size:
                computed.append(numbers[some], ids[some], kept[some])
        while merged and index.merge():
            pass
        if compiled:
            index.prepare()
        assert set(range(4)) == set(index.coded().tolist())
        lows, highs = index.bounds(np.arange(6), ids)
        assert (lows <= values).all()
        assert (values <= highs).all()
        full = scores(weights, values[:, words].T, pictures)
        for who in (None, allow):
            some = np.ones(pictures, bool) if who is None else np.isin(ids, allow)
            expected = best(ids[some], full[some], k)
            found = index.search((words, weights), k, allow=who)
            if who is not None:
                mask = np.isin(np.arange(3 * pictures), who)
                masked = index.search((words, weights), k, allow=mask)
                np.testing.assert_array_equal(masked[0], expected[0])
            np.testing.assert_array_equal(found[0], expected[0])
            np.testing.assert_array_equal(found[1], expected[1])
            least = full[rng.integers(pictures)]
            count = index.count((words, weights), float(least), allow=who)
            assert count == np.count_nonzero(full[some] >= least)
            listed = index.candidates((words, weights), float(least), allow=who)
            assert set(ids[some][full[some] >= least]) <= set(listed) <= set(ids[some])
        np.testing.assert_array_equal(index.rows(ids), values)


def test_few_pictures_are_computed_anew(tmp_path) -> None:
    rng = np.random.default_rng(0)
    index = Index.create(tmp_path, words=3)
    computed = Computed(index, 1e-6, rng)
    computed.append(2 + rng.standard_normal((20_000, 3)), np.arange(20_000))
    index.prepare()
    index.search(([0, 1, 2], [1, 1, 1]), 20)
    assert computed.asked < 200


def test_merging_copies_codes_and_asks_nobody(tmp_path) -> None:
    rng = np.random.default_rng(0)
    index = Index.create(tmp_path, words=2)
    computed = Computed(index, 1e-6, rng)
    numbers = rng.random((400, 2))
    for some in np.split(np.arange(400), 4):
        computed.append(numbers[some], some)
    apart = index.bounds([0, 1], np.arange(400))
    assert index.merge()
    together = index.bounds([0, 1], np.arange(400))
    np.testing.assert_allclose(together, apart, rtol=0, atol=1e-3)
    assert computed.asked == 0
    computed.append(10 + numbers[:50], np.arange(400, 450))  # beyond what the codes can say
    while index.merge():
        pass
    lows, highs = index.bounds([0, 1], np.arange(450))
    values = computed.exact(np.arange(2), np.arange(450))
    assert ((lows <= values) & (values <= highs)).all()


def test_clicks_are_kept_beside_values_that_are_not(tmp_path) -> None:
    rng = np.random.default_rng(0)
    index = Index.create(tmp_path, words=2)
    computed = Computed(index, 1e-6, rng)
    computed.append(rng.standard_normal((30, 2)), np.arange(30))
    index.add_words(1)
    index.update_word(2, np.arange(30))
    assert index.values([2], [7]).tolist() == [[7]]
    computed.append(rng.standard_normal((5, 2)), np.arange(30, 35), np.ones((5, 1)))
    while index.merge():
        pass
    assert index.values([2], [7, 33]).tolist() == [[7], [1]]
    assert index.coded().tolist() == [0, 1]
    assert index.search(([2], [1]), 1)[0].tolist() == [29]


def test_a_picture_that_has_gone_is_bounded_until_the_index_hears_of_it(tmp_path) -> None:
    index = Index.create(tmp_path, words=1)
    computed = Computed(index, 1e-6, np.random.default_rng(0))
    computed.append(np.array([[1.0], [2.0], [0.5]]), np.arange(3))
    del computed.numbers[1]
    assert index.search(([0], [1]), 2)[0].tolist() == [1, 0]
    index.remove([1])
    assert index.search(([0], [1]), 2)[0].tolist() == [0, 2]


def test_without_anybody_who_computes_them_values_are_refused(tmp_path) -> None:
    index = Index.create(tmp_path, words=1)
    Computed(index, 1e-6, np.random.default_rng(0)).append(np.array([[1.0], [2.0]]), np.arange(2))
    with pytest.raises(BadInput, match="keeps no exact values"):
        Index.open(tmp_path).values([0], [1])
    files = json.loads((tmp_path / "manifest.json").read_text())["segments"][0]["groups"]
    assert [group["layout"] for group in files] == [CODES]


def test_pictures_whose_values_are_kept_are_told_from_those_whose_are_not(tmp_path) -> None:
    index = Index.create(tmp_path, words=2)
    index.append(np.ones((5, 2)))
    assert index.keeping(2).tolist() == [0, 1, 2, 3, 4]
    computed = Computed(index, 1e-6, np.random.default_rng(0))
    computed.append(np.array([[1.0, 2.0]]), np.array([1]))
    assert index.keeping(2).tolist() == [0, 2, 3, 4]
    assert not index.merge()  # their columns are of two kinds
