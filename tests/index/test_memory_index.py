"""An index in memory, and `rank`, against sorting all products."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from visterm import Index, Pamir, Vocabulary, rank
from visterm.errors import BadInput
from visterm.index.scan import best


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 40), st.sampled_from([3, 40, 5000]))
def test_the_best_are_those_of_sorting(seed: int, k: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 7, count).astype(np.float32)  # many are equal
    ids = rng.permutation(count).astype(np.int64)
    order = np.lexsort((ids, -scores))[:k]
    found = best(ids, scores, k)
    assert np.array_equal(found[0], ids[order])
    assert np.array_equal(found[1], scores[order])


def test_sparse_dense_and_single_queries_agree() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 8)).astype(np.float32)
    queries = rng.normal(size=(4, 8)) * (rng.random((4, 8)) < 0.5)
    index = Index(rows)
    ids, scores = index.search(queries, 5)
    order = np.argsort(-(queries.astype(np.float32) @ rows.T), axis=1)[:, :5]
    assert np.array_equal(ids, order)
    assert np.array_equal(index.search(csr_array(queries), 5)[0], ids)
    assert np.array_equal(index.search(queries[2], 5)[0], ids[2])
    assert np.allclose(index.search(queries[2], 5)[1], scores[2])


def test_filters_and_ids_of_ones_own() -> None:
    index = Index(np.eye(4), ids=[3, 5, 8, 13])
    assert index.search([4, 3, 2, 1], 4)[0].tolist() == [3, 5, 8, 13]
    assert index.search([4, 3, 2, 1], 4, allow=[13, 5, 99])[0].tolist() == [5, 13]


@pytest.mark.parametrize(
    ("rows", "query", "k"),
    [([[1.0, np.nan]], [1, 1], 1), ([[1.0, 2.0]], [1, 1, 1], 1), ([[1.0, 2.0]], [1, 1], -1)],
)
def test_what_cannot_be_searched_is_refused(rows: list, query: list, k: int) -> None:
    with pytest.raises(BadInput):
        Index(rows).search(query, k)


def test_rank_is_a_search_of_what_the_model_maps() -> None:
    captions, vectors = ["sun sea", "snow", "sea"], [[1.0, 0.6], [0.0, 0.2], [0.1, 0.9]]
    words = Vocabulary.from_captions(captions)
    model = Pamir(max_iter=200).fit(vectors, words.counts(captions))
    ids, scores = rank(model, ["sea", "snow"], vectors, k=3, text_space=words)
    index = Index(model.transform(vectors))
    assert np.array_equal(index.search(words.query_vectors(["sea", "snow"]), 3)[0], ids)
    assert np.array_equal(rank(model, "sea", vectors, k=3, text_space=words)[1], scores[0])
    with pytest.raises(BadInput, match="text_space"):
        rank(model, ["sea"], vectors)
