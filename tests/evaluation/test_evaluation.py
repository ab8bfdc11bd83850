"""Evaluations: scoring in chunks, per-query results, summaries and what cannot be measured."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from visterm.errors import BadInput
from visterm.evaluation import compare, evaluate, evaluate_rows
from visterm.text import Relevance


@pytest.fixture(scope="module")
def relevance() -> Relevance:
    rng = np.random.default_rng(1)
    queries = random_array((23, 9), density=0.3, format="csr", random_state=rng, dtype=np.float32)
    gains = (rng.random((23, 40)) < 0.1).astype(np.float32)
    gains[:, 0] = 1
    gains[4] = 0
    return Relevance(csr_array(queries), csr_array(gains))


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    # Whole numbers, so that many pictures tie.
    return np.random.default_rng(2).integers(3, size=(40, 9)).astype(np.float32)


def test_rows_are_scored_by_their_inner_product_with_the_queries(rows, relevance):
    found = evaluate_rows(rows, relevance, ["AvgP", "median rank"])
    expected = evaluate(relevance.queries @ rows.T, relevance, ["AvgP", "median rank"])
    for name, values in expected.per_query.items():
        np.testing.assert_array_equal(found.per_query[name], values)


@pytest.mark.parametrize("chunk", [1, 7, 23, 1000])
def test_results_do_not_depend_on_the_chunk(rows, relevance, chunk):
    whole, parts = evaluate_rows(rows, relevance), evaluate_rows(rows, relevance, chunk=chunk)
    for name, values in whole.per_query.items():
        np.testing.assert_array_equal(parts.per_query[name], values)
    np.testing.assert_array_equal(parts.relevant, whole.relevant)


def test_column_ordered_and_float64_rows_give_the_same(rows, relevance):
    expected = evaluate_rows(rows, relevance).mean()
    assert evaluate_rows(np.asfortranarray(rows), relevance).mean() == expected
    assert evaluate_rows(rows.astype(np.float64), relevance).mean() == expected


def test_a_query_without_relevant_pictures_is_skipped_counted_and_left_out_of_the_mean(
    rows, relevance
):
    found = evaluate_rows(rows, relevance, "AvgP")
    kept = np.arange(23) != 4
    assert found.skipped == 1
    assert np.isnan(found.per_query["AvgP"][4])
    assert found.mean()["AvgP"] == pytest.approx(found.per_query["AvgP"][kept].mean())
    without = evaluate_rows(rows, relevance.take(kept), "AvgP")
    assert without.skipped == 0
    assert without.mean() == found.mean()


def test_words_and_relevant_pictures_are_counted_for_every_query(rows, relevance):
    found = evaluate_rows(rows, relevance)
    np.testing.assert_array_equal(found.words, relevance.words_per_query)
    np.testing.assert_array_equal(found.relevant, relevance.relevant_per_query)
    assert len(found) == 23


def test_a_word_of_weight_0_is_a_word_of_its_query():
    weightless = csr_array((np.float32([0, 1]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    found = evaluate_rows([[1, 0], [0, 1]], Relevance(weightless, csr_array(np.float32([[0, 1]]))))
    assert found.words.tolist() == [2]
    assert found.mean()["AvgP"] == 1.0


def test_median_rank_is_summarised_by_the_median_not_the_mean():
    queries = csr_array(np.ones((3, 1), dtype=np.float32))
    gains = np.zeros((3, 30), dtype=np.float32)
    gains[[0, 1, 2], [0, 1, 29]] = 1
    scores = np.tile(-np.arange(30.0), (3, 1))
    found = evaluate(scores, Relevance(queries, csr_array(gains)), ["median rank"])
    assert found.per_query["median rank"].tolist() == [1, 2, 30]
    assert found.mean() == {"median rank": 2.0}


def test_a_slice_keeps_the_chosen_queries_and_an_empty_one_has_no_mean(rows, relevance):
    found = evaluate_rows(rows, relevance, ["AvgP"])
    mask = np.arange(23) < 3
    part = found.slice(mask)
    assert part.per_query["AvgP"].tolist() == found.per_query["AvgP"][:3].tolist()
    assert (len(part), part.words.tolist()) == (3, found.words[:3].tolist())
    assert np.isnan(found.slice(np.zeros(23, dtype=bool)).mean()["AvgP"])


@pytest.mark.parametrize("mask", [[True], list(range(23)), np.ones((23, 1), dtype=bool)])
def test_a_mask_that_is_not_one_truth_a_query_is_refused(rows, relevance, mask):
    with pytest.raises(BadInput, match="each of the 23 queries"):
        evaluate_rows(rows, relevance).slice(mask)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda rows: rows[:-1], r"\(39, 9\).*40 pictures and 9 words"),
        (lambda rows: rows[:, :-1], r"\(40, 8\).*40 pictures and 9 words"),
        (lambda rows: np.where(rows > 1, np.nan, rows), "NaN"),
        (csr_array, "dense"),
        (lambda rows: [["a"]], "dense"),
    ],
    ids=["pictures", "words", "NaN", "sparse", "letters"],
)
def test_rows_that_do_not_fit_are_refused_with_the_reason(rows, relevance, change, why):
    with pytest.raises(BadInput, match=why):
        evaluate_rows(change(rows), relevance)


def test_wrong_names_and_chunks_are_refused(rows, relevance):
    with pytest.raises(BadInput, match="no measure is called 'mAP'"):
        evaluate_rows(rows, relevance, ["mAP"])
    with pytest.raises(BadInput, match="chunk"):
        evaluate_rows(rows, relevance, chunk=0)


def test_relevance_that_names_no_picture_of_this_set_is_refused(rows, relevance):
    nothing = Relevance(relevance.queries, csr_array((23, 40), dtype=np.float32))
    with pytest.raises(BadInput, match="none of the 23 queries"):
        evaluate_rows(rows, nothing)


def test_importing_the_package_loads_neither_numba_nor_scipy():
    code = (
        "import sys, visterm.evaluation;"
        "print([m for m in ('numba', 'scipy', 'sklearn') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


QRELS = {
    "gains as a sparse matrix": csr_array(np.float32([[0, 1, 1], [1, 0, 0]])),
    "gains as an array": [[0, 1, 1], [1, 0, 0]],
    "sets by row": {1: {0}, 0: {1, 2}},
    "sets by name, in the order of the rows": {"sea": {1, 2}, "snow": [0]},
    "sets in a list": [{1, 2}, {0}],
    "gains by picture": {0: {1: 1.0, 2: 1.0}, 1: {0: 1.0}},
    "numbers of NumPy": {np.int64(0): np.array([2, 1]), np.int64(1): np.array([0])},
}


@pytest.mark.parametrize("form", QRELS)
def test_qrels_mean_the_same_in_every_form(form: str):
    scores = [[0.9, 0.8, 0.1], [0.2, 0.9, 0.4]]
    words = csr_array(np.float32([[1, 0], [1, 1]]))
    gains = csr_array(np.float32([[0, 1, 1], [1, 0, 0]]))
    expected = evaluate(scores, Relevance(words, gains))
    found = evaluate(scores, QRELS[form])
    assert found.mean() == expected.mean()
    assert found.words is None
    assert expected.words.tolist() == [1, 2]
    assert compare(found, expected).p_value == 1.0  # the same queries, so they can be compared


def test_queries_that_numbered_qrels_leave_out_are_not_measured():
    found = evaluate([[0.9, 0.8], [0.2, 0.9]], {1: {1}}, ["RR"])
    assert found.skipped == 1
    assert found.mean() == {"RR": 1.0}


@pytest.mark.parametrize(
    ("qrels", "said"),
    [
        ({2: {0}}, "query 2, but scores have 2 rows"),
        ({"sea": {0}}, "of 1 queries, but scores have 2 rows"),
        ([{0}, {0}, {1}], "of 3 queries, but scores have 2 rows"),
        ({0: {7}}, "picture 7, but pictures are the columns"),
        ({0: {"a.jpg"}}, "picture 'a.jpg', but pictures are the columns"),
        ([[0, 1], [1]], "a set of pictures for each query"),
        ([[0, 1, 0]], "2 × 2 but relevance is 1 × 3"),
    ],
)
def test_qrels_that_do_not_fit_the_scores_are_refused(qrels: object, said: str):
    with pytest.raises(BadInput, match=said):
        evaluate([[0.9, 0.8], [0.2, 0.9]], qrels)


def test_an_evaluation_shows_its_means_and_ranks_as_they_are():
    found = evaluate([[0.2, 0.9], [0.8, 0.1]], {0: {0}}, ["AvgP", "median rank"])
    assert repr(found) == "Evaluation(2 queries, AvgP 50.0, median rank 2.0)"
    assert repr(found.slice([False, True])) == "Evaluation(1 queries, AvgP nan, median rank nan)"
