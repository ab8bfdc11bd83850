"""Queries from captions, against the definition written with itertools."""

from __future__ import annotations

import os
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csc_array, csr_array, csr_matrix

from visterm.errors import BadInput
from visterm.text import Relevance, Vocabulary, relevance_from_captions

CAPTIONS = arrays(
    np.int64,
    st.tuples(st.integers(0, 8), st.integers(1, 7)),
    elements=st.sampled_from([0, 0, 1, 3]),
)


def slow_relevance(captions: np.ndarray, max_words: int | None) -> dict[tuple[int, ...], set[int]]:
    """Every set of words that some caption holds, and the pictures whose caption holds it all."""
    held = [frozenset(np.flatnonzero(row).tolist()) for row in captions]
    queries = {
        words
        for words_of in held
        for size in range(1, min(len(words_of), max_words or len(words_of)) + 1)
        for words in combinations(sorted(words_of), size)
    }
    return {q: {p for p, words_of in enumerate(held) if words_of >= set(q)} for q in queries}


def found_relevance(relevance: Relevance) -> dict[tuple[int, ...], set[int]]:
    queries, pictures = relevance.queries, relevance.pictures
    return {
        tuple(queries.indices[queries.indptr[q] : queries.indptr[q + 1]].tolist()): set(
            pictures.indices[pictures.indptr[q] : pictures.indptr[q + 1]].tolist()
        )
        for q in range(len(relevance))
    }


@given(CAPTIONS, st.none() | st.integers(1, 4))
@settings(deadline=None)
def test_queries_and_their_pictures_are_those_of_the_definition(captions, max_words):
    relevance = relevance_from_captions(
        csr_array(captions), np.ones(captions.shape[1]), max_words=max_words
    )
    expected = slow_relevance(captions, max_words)
    assert found_relevance(relevance) == expected
    assert len(relevance) == len(expected)  # and so no query stands twice
    assert relevance.pictures.shape == (len(expected), len(captions))
    assert relevance.words_per_query.tolist() == sorted(len(words) for words in expected)
    assert (relevance.pictures.data == 1).all()
    assert relevance.relevant_per_query.sum() == sum(map(len, expected.values()))


@given(CAPTIONS.filter(lambda captions: captions.any()))
@settings(deadline=None)
def test_query_vectors_weigh_their_words_by_idf(captions):
    idf = np.arange(captions.shape[1], dtype=float)  # word 0 weighs nothing
    relevance = relevance_from_captions(csr_array(captions), idf)
    for vector, words in zip(relevance.queries.toarray(), found_relevance(relevance), strict=True):
        raw = np.zeros(captions.shape[1])
        raw[list(words)] = idf[list(words)] if words != (0,) else 1
        assert vector == pytest.approx(raw / np.linalg.norm(raw), abs=1e-6)


def test_untidy_captions_mean_the_same_and_stay_as_they_were():
    untidy = csr_array(
        (np.array([1, 1, 0, 1]), np.array([2, 0, 1, 2]), np.array([0, 4, 4])), shape=(2, 3)
    )
    relevance = relevance_from_captions(untidy, np.ones(3))
    assert found_relevance(relevance) == {(0,): {0}, (2,): {0}, (0, 2): {0}}
    assert untidy.indices.tolist() == [2, 0, 1, 2]


def test_a_flood_of_word_sets_is_refused_before_it_fills_the_memory():
    with pytest.raises(
        BadInput, match=r"up to 40 words make 1,099,511,627,775 word sets.*max_queries"
    ):
        relevance_from_captions(csr_array(np.ones((1, 40))), np.ones(40))


@pytest.mark.parametrize("length", [3, 60])
def test_of_many_queries_some_are_drawn_always_the_same_and_all_that_answer_are_known(length):
    """Captions of three words are few enough to list all queries, those of sixty are not."""
    rng = np.random.default_rng(0)
    held = np.zeros((80, 90))
    for row in held:
        row[rng.choice(90, length, replace=False)] = 1
    some, again = (
        relevance_from_captions(csr_array(held), np.ones(90), max_words=4, max_queries=100)
        for _ in range(2)
    )
    assert 90 <= len(some) <= 100
    assert (some.queries != again.queries).nnz == 0
    asked = some.queries.toarray() > 0
    assert len(np.unique(asked, axis=0)) == len(some)
    expected = (held[None] >= asked[:, None]).all(axis=2)
    assert (some.pictures.toarray() == expected).all()
    assert expected.any(axis=1).all()
    if length > 4:
        assert set(some.words_per_query) >= {2, 3, 4}, "not only the largest, which are most"


def test_queries_of_less_than_one_word_are_refused():
    with pytest.raises(BadInput, match="max_words must be at least 1"):
        relevance_from_captions(csr_array(np.ones((1, 2))), np.ones(2), max_words=0)


def test_queries_and_pictures_must_have_a_row_each():
    with pytest.raises(BadInput, match="2 queries but 3 rows"):
        Relevance(csr_array((2, 4)), csr_array((3, 5)))


@pytest.mark.parametrize("gain", [0.0, -1.0, np.nan])
def test_gains_that_are_not_positive_are_refused(gain):
    pictures = csr_array((np.array([gain]), np.array([0]), np.array([0, 1])), shape=(1, 2))
    with pytest.raises(BadInput, match="gains must be positive"):
        Relevance(csr_array(np.ones((1, 1))), pictures)


@pytest.mark.parametrize("layout", [csc_array, csr_matrix, np.asarray])
def test_other_layouts_are_read_row_by_row(layout):
    table = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 0.0]])
    relevance = Relevance(layout(np.eye(2)), layout(table))
    assert relevance.relevant_per_query.tolist() == [2, 1]
    assert relevance.pictures.toarray().tolist() == table.tolist()


def test_taking_queries_keeps_their_pictures():
    relevance = Relevance(csr_array(np.eye(3)), csr_array(np.eye(3)[::-1]))
    for chosen in (np.array([2, 0]), np.array([True, False, True])):
        taken = relevance.take(chosen)
        assert taken.queries.toarray().tolist() == np.eye(3)[chosen].tolist()
        assert taken.pictures.toarray().tolist() == np.eye(3)[::-1][chosen].tolist()


@pytest.fixture(scope="module")
def corel_test_captions() -> list[str]:
    file = Path(os.environ.get("VISTERM_DATA", "")) / "corel5k" / "test.tsv"
    if not file.is_file():
        pytest.skip(f"no Corel captions at {file}; set VISTERM_DATA to the folder of data sets")
    return [line.split("\t")[1] for line in file.read_text(encoding="utf-8").splitlines()]


def test_corel_gives_the_statistics_of_the_papers(corel_test_captions):
    vocabulary = Vocabulary.from_captions(corel_test_captions, min_captions=2)
    relevance = relevance_from_captions(vocabulary.counts(corel_test_captions), vocabulary.idf)
    words, relevant = relevance.words_per_query, relevance.relevant_per_query
    assert len(vocabulary) == 179
    assert len(relevance) == 2241
    assert ((words == 1).sum(), (words > 1).sum()) == (179, 2062)
    assert ((relevant >= 3).sum(), (relevant < 3).sum()) == (421, 1820)
    assert (round(relevant.mean(), 2), round(words.mean(), 2)) == (2.37, 2.51)


def test_levels_ask_for_every_gain_and_the_higher_ones():
    gains = csr_array(np.array([[2.0, 1.0, 0.0, 2.0], [0.0, 5.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]))
    graded = Relevance(csr_array(np.eye(3, dtype=np.float32)), gains)
    plain = graded.levels()
    asked = plain.queries.toarray().argmax(axis=1).tolist()
    answers = (plain.pictures.toarray() > 0).astype(int).tolist()
    assert sorted(zip(asked, map(tuple, answers), strict=True)) == [
        (0, (1, 0, 0, 1)),
        (0, (1, 1, 0, 1)),
        (1, (0, 1, 0, 0)),
    ]
    again = plain.levels()
    assert (again.pictures != plain.pictures).nnz == 0
