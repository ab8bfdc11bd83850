"""Evaluations: scoring in chunks, per-query results, summaries and what cannot be measured."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from visterm.errors import BadInput
from visterm.evaluation import evaluate, evaluate_scores
from visterm.text import Relevance


@pytest.fixture(scope="module")
def relevance() -> Relevance:
    rng = np.random.default_rng(1)
    queries = random_array((23, 9), density=0.3, format="csr", rng=rng, dtype=np.float32)
    gains = (rng.random((23, 40)) < 0.1).astype(np.float32)
    gains[:, 0] = 1
    gains[4] = 0
    return Relevance(csr_array(queries), csr_array(gains))


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    # Whole numbers, so that many pictures tie.
    return np.random.default_rng(2).integers(3, size=(40, 9)).astype(np.float32)


def test_rows_are_scored_by_their_inner_product_with_the_queries(rows, relevance):
    found = evaluate(rows, relevance, ["AvgP", "median rank"])
    expected = evaluate_scores(relevance.queries @ rows.T, relevance, ["AvgP", "median rank"])
    for name, values in expected.per_query.items():
        np.testing.assert_array_equal(found.per_query[name], values)


@pytest.mark.parametrize("chunk", [1, 7, 23, 1000])
def test_results_do_not_depend_on_the_chunk(rows, relevance, chunk):
    whole, parts = evaluate(rows, relevance), evaluate(rows, relevance, chunk=chunk)
    for name, values in whole.per_query.items():
        np.testing.assert_array_equal(parts.per_query[name], values)
    np.testing.assert_array_equal(parts.relevant, whole.relevant)


def test_column_ordered_and_float64_rows_give_the_same(rows, relevance):
    expected = evaluate(rows, relevance).mean()
    assert evaluate(np.asfortranarray(rows), relevance).mean() == expected
    assert evaluate(rows.astype(np.float64), relevance).mean() == expected


def test_a_query_without_relevant_pictures_is_skipped_counted_and_left_out_of_the_mean(
    rows, relevance
):
    found = evaluate(rows, relevance, "AvgP")
    kept = np.arange(23) != 4
    assert found.skipped == 1
    assert np.isnan(found.per_query["AvgP"][4])
    assert found.mean()["AvgP"] == pytest.approx(found.per_query["AvgP"][kept].mean())
    without = evaluate(rows, relevance.take(kept), "AvgP")
    assert without.skipped == 0
    assert without.mean() == found.mean()


def test_words_and_relevant_pictures_are_counted_for_every_query(rows, relevance):
    found = evaluate(rows, relevance)
    np.testing.assert_array_equal(found.words, relevance.words_per_query)
    np.testing.assert_array_equal(found.relevant, relevance.relevant_per_query)
    assert len(found) == 23


def test_a_word_of_weight_0_is_a_word_of_its_query():
    weightless = csr_array((np.float32([0, 1]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    found = evaluate([[1, 0], [0, 1]], Relevance(weightless, csr_array(np.float32([[0, 1]]))))
    assert found.words.tolist() == [2]
    assert found.mean()["AvgP"] == 1.0


def test_median_rank_is_summarised_by_the_median_not_the_mean():
    queries = csr_array(np.ones((3, 1), dtype=np.float32))
    gains = np.zeros((3, 30), dtype=np.float32)
    gains[[0, 1, 2], [0, 1, 29]] = 1
    scores = np.tile(-np.arange(30.0), (3, 1))
    found = evaluate_scores(scores, Relevance(queries, csr_array(gains)), ["median rank"])
    assert found.per_query["median rank"].tolist() == [1, 2, 30]
    assert found.mean() == {"median rank": 2.0}


def test_a_slice_keeps_the_chosen_queries_and_an_empty_one_has_no_mean(rows, relevance):
    found = evaluate(rows, relevance, ["AvgP"])
    mask = np.arange(23) < 3
    part = found.slice(mask)
    assert part.per_query["AvgP"].tolist() == found.per_query["AvgP"][:3].tolist()
    assert (len(part), part.words.tolist()) == (3, found.words[:3].tolist())
    assert np.isnan(found.slice(np.zeros(23, dtype=bool)).mean()["AvgP"])


@pytest.mark.parametrize("mask", [[True], list(range(23)), np.ones((23, 1), dtype=bool)])
def test_a_mask_that_is_not_one_truth_a_query_is_refused(rows, relevance, mask):
    with pytest.raises(BadInput, match="each of the 23 queries"):
        evaluate(rows, relevance).slice(mask)


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
        evaluate(change(rows), relevance)


def test_wrong_names_and_chunks_are_refused(rows, relevance):
    with pytest.raises(BadInput, match="no measure is called 'mAP'"):
        evaluate(rows, relevance, ["mAP"])
    with pytest.raises(BadInput, match="chunk"):
        evaluate(rows, relevance, chunk=0)


def test_relevance_that_names_no_picture_of_this_set_is_refused(rows, relevance):
    nothing = Relevance(relevance.queries, csr_array((23, 40), dtype=np.float32))
    with pytest.raises(BadInput, match="none of the 23 queries"):
        evaluate(rows, nothing)


def test_importing_the_room_loads_neither_numba_nor_scipy():
    code = (
        "import sys, visterm.evaluation, visterm.evaluation.trec;"
        "print([m for m in ('numba', 'scipy', 'sklearn') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
