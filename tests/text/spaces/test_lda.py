"""LDA with the topics of scikit-learn's, and its own promises."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.decomposition import LatentDirichletAllocation

from visterm.errors import BadInput
from visterm.text.spaces.topics import Lda


def documents(n=120, seed=0):
    """Documents of three subjects with words of their own, and some words of all."""
    rng = np.random.default_rng(seed)
    words = np.full((3, 30), 0.2)
    for subject in range(3):
        words[subject, 8 * subject : 8 * subject + 8] = 4
    mixtures = rng.dirichlet(np.full(3, 0.1), n)
    return csr_array(rng.poisson(mixtures @ words)), mixtures


def test_mixtures_are_those_of_scikit_learn_with_the_same_topics():
    counts, _ = documents()
    theirs = LatentDirichletAllocation(3, max_iter=5, random_state=0, max_doc_update_iter=100)
    theirs.fit(counts)
    ours = Lda(3)
    ours.topics_ = theirs.components_.T.copy()
    np.testing.assert_allclose(ours.transform(counts), theirs.transform(counts), atol=5e-3)


def test_documents_of_one_subject_share_a_topic():
    counts, mixtures = documents()
    found = Lda(3, max_iter=20, batch_size=40).fit(counts).transform(counts).argmax(axis=1)
    clear = mixtures.max(axis=1) > 0.9
    for subject in range(3):
        topics = found[clear & (mixtures.argmax(axis=1) == subject)]
        assert (topics == np.bincount(topics).argmax()).mean() > 0.9


def test_perplexity_falls_from_the_vocabulary_towards_the_documents():
    counts, _ = documents(300)
    one = Lda(1, max_iter=3).fit(counts[:200]).perplexity(counts[200:])
    three = Lda(3, max_iter=10, batch_size=64).fit(counts[:200]).perplexity(counts[200:])
    assert three < 0.8 * one < 30


def test_rows_sum_to_one_and_seeds_repeat():
    counts, _ = documents()
    first, second = (Lda(4, max_iter=2).fit(counts) for _ in range(2))
    assert first.topics_.tobytes() == second.topics_.tobytes()
    np.testing.assert_allclose(first.transform(counts).sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(first.topics_of_words().sum(axis=1), 1, rtol=1e-5)


def test_counts_that_are_none_are_refused():
    with pytest.raises(BadInput, match="negative"):
        Lda(2).fit([[1, -1]])
    with pytest.raises(BadInput, match="empty"):
        Lda(2).fit([[0, 0]])
    with pytest.raises(BadInput, match="n_components must be"):
        Lda(0).fit([[1, 1]])
    with pytest.raises(BadInput, match="2 words"):
        Lda(1, max_iter=1).fit([[1, 1]]).transform([[1]])
