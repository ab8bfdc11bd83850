"""An index in memory, matrices of queries, and ranking by a model: the same promise everywhere."""

from __future__ import annotations

import tempfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array, random_array

from visterm.errors import BadInput
from visterm.index import DenseIndex, Index
from visterm.index.model_ranking import rank
from visterm.text import Vocabulary
from visterm.text.spaces import Lsa, Words

KINDS = pytest.mark.parametrize("kind", [Index, DenseIndex])


class Given:
    """A model whose pictures are in the text space already."""

    def transform(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(X)


def same(found: tuple[np.ndarray, np.ndarray], expected: tuple[np.ndarray, np.ndarray]) -> bool:
    """Whether two answers are the same, bit for bit."""
    pairs = zip(found, expected, strict=True)
    return all(a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in pairs)


@KINDS
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    pictures=st.one_of(st.integers(0, 40), st.integers(1000, 2500)),
    words=st.integers(1, 9),
    whole=st.booleans(),
    k=st.sampled_from([0, 1, 20, 5000]),
    seed=st.integers(0, 2**32),
)
def test_memory_finds_what_a_folder_finds_bit_for_bit(
    quick, kind, pictures, words, whole, k, seed
) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(-3, 4, (pictures, words)) if whole else rng.normal(size=(pictures, words))
    ids = rng.choice(3 * pictures + 1, pictures, replace=False)
    queries = rng.integers(-2, 3, (4, words)) * rng.random(words)
    with tempfile.TemporaryDirectory(dir=quick) as folder:
        stored, memory = kind.create(folder, words=words), kind.in_memory(rows, ids)
        stored.append(rows, ids)
        for index in (stored, memory):
            index.remove(ids[: pictures // 3])
            index.append(rows[:2])
        assert memory.ids().tolist() == stored.ids().tolist()
        for query in queries:
            assert same(memory.search(query, k), stored.search(query, k))
            allow = ids[::2]
            assert same(memory.search(query, k, allow=allow), stored.search(query, k, allow=allow))


@KINDS
def test_memory_holds_what_was_given_and_not_what_it_later_becomes(kind) -> None:
    rows = np.float32([[1, 0], [0, 1]])
    index = kind.in_memory(rows)
    rows[:] = 7
    assert index.rows([0, 1]).tolist() == [[1, 0], [0, 1]]
    assert index.verify() == []


@KINDS
def test_rows_of_another_shape_are_refused(kind) -> None:
    with pytest.raises(BadInput, match="pictures × words"):
        kind.in_memory([1.0, 2.0])


@KINDS
@pytest.mark.parametrize("form", [csr_array, coo_array, np.asarray])
def test_a_matrix_of_queries_gives_a_row_of_answers_each(kind, form) -> None:
    rng = np.random.default_rng(3)
    index = kind.in_memory(rng.integers(0, 3, (50, 6)))
    queries = random_array((5, 6), density=0.4, random_state=rng, dtype=np.float32).toarray()
    ids, scores = index.search(form(queries), 7)
    assert ids.shape == scores.shape == (5, 7)
    for one, *found in zip(queries, ids, scores, strict=True):
        assert same(tuple(found), index.search(one, 7))


@KINDS
def test_entries_of_a_sparse_query_that_stand_twice_are_added_up(kind) -> None:
    index = kind.in_memory([[1, 0], [0, 3]])
    twice = csr_array((np.float32([1, 1]), np.array([1, 1]), np.array([0, 2])), shape=(1, 2))
    assert index.search(twice, 1)[1].tolist() == [[6.0]]
    assert twice.nnz == 2  # the caller's matrix is left alone


@KINDS
def test_what_a_vocabulary_gives_can_be_searched(kind) -> None:
    words = Vocabulary.of_words(["sea", "snow"])
    index = kind.in_memory([[1, 0], [0, 1], [2, 0]])
    ids, scores = index.search(words.query_vectors(["the sea", "snow"]), 2)
    assert ids.tolist() == [[2, 0], [1, 0]]
    assert scores.tolist() == [[2, 1], [1, 0]]
    assert index.search(words.query_vectors([]), 2)[0].shape[0] == 0


@KINDS
@pytest.mark.parametrize("query", [np.ones((2, 3)), csr_array(np.ones((2, 3)))])
def test_queries_over_other_words_are_refused(kind, query) -> None:
    with pytest.raises(BadInput, match="must hold 2 weights"):
        kind.in_memory([[1, 0]]).search(query, 1)


@settings(max_examples=30, deadline=None)
@given(
    pictures=st.integers(1, 60),
    words=st.integers(1, 8),
    k=st.sampled_from([1, 5, 100]),
    seed=st.integers(0, 2**32),
)
def test_ranking_is_what_an_index_of_the_rows_finds(pictures, words, k, seed) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(-2, 3, (pictures, words)).astype(np.float32)
    queries = csr_array(rng.integers(0, 3, (6, words)) * rng.random(words))
    expected = Index.in_memory(rows).search(queries, k)
    assert same(rank(Given(), queries, rows, k), expected)
    assert same(rank(Given(), queries.toarray(), rows, k), expected)
    first = rank(Given(), queries.toarray()[0], rows, k)
    assert same(first, (expected[0][0], expected[1][0]))


def test_texts_are_ranked_by_a_vocabulary_and_by_any_text_space() -> None:
    captions = ["sun sea", "snow alps", "sea", "alps sun"]
    words = Vocabulary.from_captions(captions)
    rows = words.counts(captions).toarray()
    ids, _ = rank(Given(), ["sea", "alps"], rows, 2, text_space=words)
    assert ids.tolist() == [[0, 2], [1, 3]]
    one, scores = rank(Given(), "sea", rows, 2, text_space=Words().fit(captions))
    assert one.tolist() == [0, 2]
    assert scores.shape == (2,)
    lsa = Lsa(n_components=4, min_captions=1).fit(captions)
    array = np.array(["sea", "alps"])
    assert rank(Given(), array, rows, 2, text_space=words)[0].tolist() == ids.tolist()
    found, _ = rank(Given(), ("sea",), lsa.transform(captions), 1, text_space=lsa)
    assert found.tolist() == [[2]]


def test_texts_without_a_text_space_are_refused() -> None:
    with pytest.raises(BadInput, match="give the text_space"):
        rank(Given(), ["sea"], [[1.0]])
    with pytest.raises(BadInput, match="texts are strings, not float"):
        rank(Given(), [1.0], [[1.0]], text_space=Vocabulary.of_words(["sea"]))
    with pytest.raises(BadInput, match="int is no vocabulary"):
        rank(Given(), "sea", [[1.0]], text_space=3)
