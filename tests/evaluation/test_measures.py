"""Measures against TREC's own program, and the laws that hold for all of them."""

from __future__ import annotations

import ir_measures
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.evaluation.evaluation import evaluate
from visterm.evaluation.measures import mean_average_precision, measure
from visterm.text import Relevance

FRACTIONS = ["AvgP", "BEP", "RR", "P@1", "P@10", "R@1", "R@10", "nDCG@1", "nDCG@10"]
THEIRS = {"AvgP": "AP", "BEP": "Rprec", "RR": "RR"}


def measured(scores: np.ndarray, gains: np.ndarray, names: list[str]) -> dict[str, np.ndarray]:
    words = csr_array(np.ones((len(gains), 1), dtype=np.float32))
    relevance = Relevance(words, csr_array(np.asarray(gains, dtype=np.float32)))
    return evaluate(scores, relevance, names).per_query


def measured_by_trec(
    scores: np.ndarray, gains: np.ndarray, names: list[str]
) -> dict[str, np.ndarray]:
    """What pytrec_eval gives through ir-measures.

    trec_eval breaks ties by document name, last name first. These names fall as the index grows, so
    that its order among ties is our picture order.
    """
    n = scores.shape[1]
    pictures = [f"p{n - picture:05d}" for picture in range(n)]
    queries = [str(query) for query in range(len(scores))]
    run = {
        query: dict(zip(pictures, map(float, row), strict=True))
        for query, row in zip(queries, scores, strict=True)
    }
    qrels = {
        query: {name: int(gain) for name, gain in zip(pictures, row, strict=True)}
        for query, row in zip(queries, gains, strict=True)
    }
    theirs = {ir_measures.parse_measure(THEIRS.get(name, name)): name for name in names}
    found = {name: np.full(len(queries), np.nan) for name in names}
    for metric in ir_measures.pytrec_eval.iter_calc(list(theirs), qrels, run):
        found[theirs[metric.measure]][int(metric.query_id)] = metric.value
    return found


@pytest.mark.parametrize("levels", [10**6, 5, 1], ids=["no ties", "many ties", "all alike"])
@pytest.mark.parametrize("pictures", [7, 300])
def test_every_measure_agrees_with_trec_eval_also_among_ties(pictures, levels):
    rng = np.random.default_rng(pictures + levels)
    scores = rng.integers(levels, size=(30, pictures)).astype(np.float32)
    gains = rng.integers(1, 4, size=scores.shape) * (rng.random(scores.shape) < 0.15)
    gains[np.arange(30), rng.integers(pictures, size=30)] = 2
    ours, theirs = measured(scores, gains, FRACTIONS), measured_by_trec(scores, gains, FRACTIONS)
    for name in FRACTIONS:
        np.testing.assert_allclose(ours[name], theirs[name], atol=1e-9, err_msg=name)


def test_measures_of_one_ranking_are_those_worked_out_by_hand():
    # Relevant pictures stand at ranks 1, 3 and 6 with gains 1, 3 and 2.
    gains = np.array([[1, 0, 3, 0, 0, 2]])
    found = measured(-np.arange(6.0)[None], gains, [*FRACTIONS, "R@3", "P@4", "median rank"])
    dcg = 1 / np.log2(2) + 3 / np.log2(4) + 2 / np.log2(7)
    ideal = 3 / np.log2(2) + 2 / np.log2(3) + 1 / np.log2(4)
    expected = {
        "AvgP": (1 / 1 + 2 / 3 + 3 / 6) / 3,
        "BEP": 2 / 3,
        "RR": 1.0,
        "P@1": 1.0,
        "P@4": 2 / 4,
        "P@10": 3 / 10,
        "R@1": 1 / 3,
        "R@3": 2 / 3,
        "R@10": 1.0,
        "nDCG@1": 1 / 3,
        "nDCG@10": dcg / ideal,
        "median rank": 1.0,
    }
    assert {name: values[0] for name, values in found.items()} == pytest.approx(expected)


@st.composite
def tie_free(draw: st.DrawFn, gains=(0, 0, 1, 2)) -> tuple[np.ndarray, np.ndarray]:
    """The scores of one query, all different, and the gains of the pictures, one positive."""
    n = draw(st.integers(1, 25))
    scores = np.array(draw(st.permutations(range(n))), dtype=np.float32)
    relevant = draw(st.lists(st.sampled_from(gains), min_size=n, max_size=n))
    assume(any(relevant))
    return scores, np.array(relevant)


@given(tie_free())
@settings(deadline=None)
def test_a_fraction_lies_between_0_and_1_and_a_first_rank_between_1_and_n(case):
    scores, gains = case
    found = measured(scores[None], gains[None], [*FRACTIONS, "median rank"])
    assert all(0 <= found[name][0] <= 1 + 1e-12 for name in FRACTIONS)
    assert 1 <= found["median rank"][0] <= len(scores)


@given(tie_free())
@settings(deadline=None)
def test_a_perfect_ranking_gives_1(case):
    _, gains = case
    relevant, names = np.count_nonzero(gains), ["AvgP", "BEP", "RR", "P@1", "nDCG@1", "nDCG@10"]
    names += [f"P@{relevant}", f"R@{relevant}"]
    found = measured(gains[None].astype(np.float32), gains[None], names)
    assert {name: values[0] for name, values in found.items()} == pytest.approx(
        dict.fromkeys(names, 1.0)
    )


@given(tie_free(), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_without_ties_the_order_of_the_pictures_does_not_matter(case, random):
    scores, gains = case
    shuffled = list(range(len(scores)))
    random.shuffle(shuffled)
    names = [*FRACTIONS, "median rank"]
    before = measured(scores[None], gains[None], names)
    after = measured(scores[None, shuffled], gains[None, shuffled], names)
    assert {n: v[0] for n, v in before.items()} == {n: v[0] for n, v in after.items()}


@given(tie_free(gains=(0, 1)), st.data())
@settings(deadline=None)
def test_a_relevant_picture_that_swaps_upward_never_lowers_average_precision(case, data):
    scores, gains = case
    picture = data.draw(st.sampled_from(np.flatnonzero(gains).tolist()))
    above = np.flatnonzero(scores >= scores[picture]).tolist()
    other = data.draw(st.sampled_from(above))
    swapped = scores.copy()
    swapped[[picture, other]] = scores[[other, picture]]
    before, after = (measured(s[None], gains[None], ["AvgP"])["AvgP"][0] for s in (scores, swapped))
    if gains[other]:
        assert after == before
    else:
        assert after > before


@given(tie_free())
@settings(deadline=None)
def test_scoring_everything_alike_earns_what_the_picture_order_gives(case):
    scores, gains = case
    names = [*FRACTIONS, "median rank"]
    alike = measured(np.full_like(scores, 0.5)[None], gains[None], names)
    in_order = measured(-np.arange(len(scores), dtype=np.float32)[None], gains[None], names)
    relevant = np.flatnonzero(gains) + 1
    assert {n: v[0] for n, v in alike.items()} == {n: v[0] for n, v in in_order.items()}
    expected = np.mean([np.sum(relevant <= rank) / rank for rank in relevant])
    assert alike["AvgP"][0] == pytest.approx(expected)


def test_mean_average_precision_is_the_mean_of_avgp_over_queries_with_relevant_pictures():
    rng = np.random.default_rng(3)
    scores = rng.integers(20, size=(40, 300)).astype(np.float32)
    gains = (rng.random(scores.shape) < rng.choice([0.01, 0.6], size=(40, 1))).astype(np.float32)
    gains[7] = 0
    per_query = measured(scores, gains, ["AvgP"])["AvgP"]
    assert np.isnan(per_query[7])
    expected = np.nanmean(per_query)
    assert mean_average_precision(scores, csr_array(gains)) == pytest.approx(expected)


def test_mean_average_precision_of_nothing_is_refused():
    with pytest.raises(BadInput, match="nothing to measure"):
        mean_average_precision(np.zeros((1, 2)), csr_array((1, 2)))


@pytest.mark.parametrize("name", ["AvgP", "BEP", "RR", "median rank", "P@10", "R@50", "nDCG@7"])
def test_a_measure_carries_its_name_one_sentence_and_a_citation(name):
    found = measure(name)
    assert found.name == name
    assert found.description.endswith(".")
    assert found.description.count(".") == 1
    assert any(year in found.citation for year in ("1999", "2002", "2005", "2013"))


@pytest.mark.parametrize(
    "name", ["avgp", "P10", "P@", "P@0", "P@-1", "P@1.5", "MAP@10", "", "P@１"]
)
def test_an_unknown_measure_is_refused_with_a_list_of_those_that_exist(name):
    with pytest.raises(BadInput, match=r"AvgP, BEP, RR, median rank, P@k, R@k, nDCG@k"):
        measure(name)
