"""Slices of queries: by number of words, by number of answers, by what training held."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.evaluation import seen_queries, slices
from visterm.text import Relevance


def relevance_of(queries: list[list[int]], relevant: list[int], words: int = 5) -> Relevance:
    """Queries by their word numbers, all of weight 0 (so that only the stored entries count)."""
    indptr = np.cumsum([0, *map(len, queries)])
    indices = np.array([word for query in queries for word in query], dtype=np.int32)
    vectors = csr_array(
        (np.zeros(len(indices), np.float32), indices, indptr), (len(queries), words)
    )
    gains = np.arange(6)[None] < np.array(relevant)[:, None]
    return Relevance(vectors, csr_array(gains.astype(np.float32)))


def test_queries_are_parted_by_words_and_by_three_relevant_pictures():
    masks = slices(relevance_of([[0], [0, 1], [1, 2, 3], [4]], [3, 2, 6, 1]))
    assert {name: np.flatnonzero(mask).tolist() for name, mask in masks.items()} == {
        "single": [0, 3],
        "multi": [1, 2],
        "easy": [0, 2],
        "difficult": [1, 3],
    }


def test_a_query_is_seen_when_some_training_set_holds_the_same_set_of_words():
    test = relevance_of([[0], [0, 1], [1, 2, 3], [4], [1, 2]], [1] * 5)
    training = relevance_of([[1, 0], [3], [1, 2]], [1] * 3)
    validation = relevance_of([[3, 1, 2], [0, 4]], [1] * 2)
    assert np.flatnonzero(seen_queries(test, training)).tolist() == [1, 4]
    assert np.flatnonzero(seen_queries(test, training, validation)).tolist() == [1, 2, 4]
    assert not seen_queries(test).any()


def test_seen_and_unseen_are_slices_where_the_mask_is_given():
    test = relevance_of([[0], [1]], [1, 1])
    masks = slices(test, seen_queries(test, relevance_of([[1]], [1])))
    assert masks["seen"].tolist() == [False, True]
    assert masks["unseen"].tolist() == [True, False]
    assert "seen" not in slices(test)


def test_the_index_type_of_the_matrices_does_not_matter():
    test, training = relevance_of([[0, 3]], [1]), relevance_of([[3, 0]], [1])
    training.queries.indices = training.queries.indices.astype(np.int64)
    assert seen_queries(test, training).all()


def test_masks_and_vocabularies_that_do_not_fit_are_refused():
    test = relevance_of([[0], [1]], [1, 1])
    with pytest.raises(BadInput, match="each of the 2 queries"):
        slices(test, [True])
    with pytest.raises(BadInput, match="each of the 2 queries"):
        slices(test, [0, 1])
    with pytest.raises(BadInput, match="same vocabulary"):
        seen_queries(test, relevance_of([[0]], [1], words=4))
