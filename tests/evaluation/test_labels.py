"""Labels both ways against the measures of single queries, and annotation against its formulas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.evaluation.evaluation import evaluate
from visterm.evaluation.labels import annotation, labels_both_ways
from visterm.text import Relevance

TABLES = st.tuples(
    arrays(np.float32, (7, 5), elements=st.sampled_from([0.0, 0.2, 0.5, 0.9])),
    arrays(np.float32, (7, 5), elements=st.sampled_from([0.0, 0.0, 1.0])),
).filter(lambda pair: pair[1].any())


def of_single_queries(scores: np.ndarray, true: np.ndarray) -> dict[str, float]:
    words = csr_array(np.ones((len(true), 1), dtype=np.float32))
    return evaluate(scores, Relevance(words, csr_array(true)), ["P@2", "AvgP"]).mean()


@settings(max_examples=60, deadline=None)
@given(TABLES)
def test_both_ways_are_the_means_over_single_queries(tables):
    scores, true = tables
    both = labels_both_ways(scores, csr_array(true), k=2)
    ways = [(both.to_labels, scores, true), (both.to_pictures, scores.T, true.T)]
    for ranked, table, held in ways:
        slow = of_single_queries(np.ascontiguousarray(table), np.ascontiguousarray(held))
        assert ranked.precision == pytest.approx(slow["P@2"])
        assert ranked.mean_average_precision == pytest.approx(slow["AvgP"])
        assert ranked.measured == held.any(axis=1).sum()
        assert ranked.measured + ranked.skipped == len(held)


@settings(max_examples=60, deadline=None)
@given(TABLES, st.integers(1, 5))
def test_annotation_is_what_counting_word_by_word_gives(tables, words):
    scores, true = tables
    given_ = [
        sorted(range(5), key=lambda label, row=row: (-row[label], label))[:words] for row in scores
    ]
    precisions, recalls = [], []
    for label in np.flatnonzero(true.any(axis=0)):
        got = [i for i in range(7) if label in given_[i]]
        right = sum(true[i, label] for i in got)
        precisions.append(right / len(got) if got else 0.0)
        recalls.append(right / true[:, label].sum())
    found = annotation(scores, csr_array(true), words)
    p, r = np.mean(precisions), np.mean(recalls)
    assert found.precision == pytest.approx(p)
    assert found.recall == pytest.approx(r)
    assert found.f1 == pytest.approx(2 * p * r / (p + r) if p + r else 0.0)
    assert found.n_plus == np.count_nonzero(recalls)
    assert found.labels == len(recalls)


def test_perfect_scores_annotate_perfectly():
    true = csr_array(np.eye(4, dtype=np.float32))
    found = annotation(np.eye(4), true, words=1)
    assert (found.precision, found.recall, found.f1, found.n_plus) == (1.0, 1.0, 1.0, 4)


def test_what_cannot_be_measured_is_told():
    true = csr_array(np.eye(3, dtype=np.float32))
    with pytest.raises(BadInput, match="cannot give 4 of 3"):
        annotation(np.eye(3), true, words=4)
    with pytest.raises(BadInput, match="same pictures"):
        annotation(np.eye(2), true, words=1)
    with pytest.raises(BadInput, match="NaN"):
        annotation(np.full((3, 3), np.nan), true, words=1)
    with pytest.raises(BadInput, match="nothing to measure"):
        labels_both_ways(np.eye(3), csr_array((3, 3), dtype=np.float32))
    with pytest.raises(BadInput, match="K ≥ 1"):
        labels_both_ways(np.eye(3), true, k=0)
