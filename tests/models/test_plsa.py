"""PLSA against EM written slowly, and the laws of its three walks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import islice, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import held_relevance
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.models import Plsa
from visterm.models._plsa_kernels import Counts, walk_folding, walk_text, walk_visterms
from visterm.models.selection import quality

COUNTS = np.array(
    [[3, 0, 1, 0], [2, 1, 0, 0], [0, 4, 0, 1], [1, 3, 0, 2], [0, 0, 5, 1], [1, 0, 2, 0]]
)
CAPTIONS = np.array([[1, 0, 1], [1, 0, 0], [0, 1, 0], [0, 1, 1], [0, 0, 1], [1, 0, 2]])


def normalised(table, of_columns):
    """Rows, or columns, divided by their sums."""
    if of_columns:
        return [list(row) for row in zip(*normalised(list(zip(*table, strict=True)), False),
                                         strict=True)]  # fmt: skip
    return [[x / (sum(row) or 1.0) for x in row] for row in table]


def em_step(counts, mine, theirs, *, pictures_are_mine):
    """E: P(z|i,j) ∝ a_iz b_jz. M: a_iz ∝ Σ_j c_ij P(z|i,j)."""
    aspects = range(len(mine[0]))
    new = [[0.0] * len(mine[0]) for _ in mine]
    for i, row in enumerate(counts):
        for j, count in enumerate(row):
            joint = [mine[i][z] * theirs[j][z] for z in aspects]
            for z in aspects:
                new[i][z] += count * joint[z] / sum(joint) if sum(joint) else 0.0
    return normalised(new, of_columns=not pictures_are_mine)


def slowly(counts, captions, new_counts, aspects, steps, seed):
    """P(t|p) of new pictures, with ``steps`` of each EM."""
    random = np.random.default_rng(seed)
    words = normalised(random.random((len(captions[0]), aspects)).tolist(), True)
    pictures = normalised(random.random((len(captions), aspects)).tolist(), False)
    for _ in range(steps):
        pictures, words = (
            em_step(captions, pictures, words, pictures_are_mine=True),
            em_step(np.transpose(captions), words, pictures, pictures_are_mine=False),
        )
    visterms = [[1.0 / len(counts[0])] * aspects for _ in counts[0]]
    for _ in range(steps):
        visterms = em_step(np.transpose(counts), visterms, pictures, pictures_are_mine=False)
    prior = [sum(column) / len(pictures) for column in zip(*pictures, strict=True)]
    folded = [prior for _ in new_counts]
    for _ in range(steps):
        folded = em_step(new_counts, folded, visterms, pictures_are_mine=True)
    return [
        [sum(a * b for a, b in zip(row, word, strict=True)) for word in words] for row in folded
    ]


@pytest.mark.parametrize(("aspects", "steps"), [(1, 3), (2, 1), (3, 4), (7, 2)])
def test_equals_em_written_slowly(aspects, steps):
    new = np.array([[1, 1, 0, 0], [0, 2, 0, 5], [1, 0, 3, 0]])
    model = Plsa(n_components=aspects, text_steps=steps, visterm_steps=steps, folding_steps=steps)
    guess = model.fit(COUNTS, CAPTIONS).word_probabilities(new)
    expected = slowly(COUNTS, CAPTIONS, new, aspects, steps, seed=0)
    np.testing.assert_allclose(guess, expected, rtol=1e-8, atol=1e-12)


small_counts = st.lists(
    st.lists(st.integers(0, 5), min_size=4, max_size=4), min_size=3, max_size=7
).filter(lambda table: any(map(any, table)))


@settings(max_examples=40, deadline=None)
@given(small_counts, small_counts, st.integers(1, 6), st.integers(0, 5))
def test_the_likelihood_never_falls_in_any_walk(captions, new, aspects, seed):
    told = csr_array(np.array(captions))
    with ThreadPoolExecutor(2) as threads:
        texts = list(islice(walk_text(told, aspects, seed, threads), 25))
        pictures = texts[4][0]
        by_visterm = Counts(csr_array(told.T.tocsr()))
        visual = list(islice(walk_visterms(by_visterm, pictures, threads), 25))
        prior = pictures.sum(axis=0) / pictures.sum()
        by_picture = Counts(csr_array(np.array(new)))
        folded = list(islice(walk_folding(by_picture, visual[2][0], prior, threads), 25))
    for walk in (texts, visual, folded):
        likelihood = [step[-1] for step in walk]
        for before, after in pairwise(likelihood):
            assert after >= before - 1e-9 * abs(before)


def test_every_factor_is_a_distribution():
    model = Plsa(n_components=4, text_steps=8).fit(COUNTS, CAPTIONS)
    for factors in (model.words_, model.visterms_):
        assert (factors >= 0).all()
        np.testing.assert_allclose(factors.sum(axis=0), 1.0)
    np.testing.assert_allclose(model.prior_.sum(), 1.0)
    assert len(model.text_likelihood_) == 8
    assert (np.diff(model.text_likelihood_) >= -1e-9).all()
    assert (np.diff(model.visterm_likelihood_) >= -1e-9).all()


def test_the_number_of_threads_does_not_show():
    rows = [
        Plsa(n_components=5, n_jobs=n_jobs).fit(COUNTS, CAPTIONS).transform(COUNTS).tobytes()
        for n_jobs in (1, 2, 5, None)
    ]
    assert len(set(rows)) == 1


def test_validation_takes_the_best_moment_of_all():
    held, captions = COUNTS[::-1] // 2 + np.eye(6, 4, dtype=int), csr_array(CAPTIONS[[1, 0, 2] * 2])
    offered = {"n_components": (2, 4), "text_steps": (3, 9)}
    model = Plsa(**offered, visterm_steps=3, folding_steps=4, power=1.0)
    model.fit(COUNTS, CAPTIONS, validation=(held, captions))
    relevance = held_relevance(captions, 6, model.idf_, 4)
    reached = {
        (k, t, v, f): quality(
            Plsa(n_components=k, text_steps=t, visterm_steps=v, folding_steps=f)
            .fit(COUNTS, CAPTIONS)
            .transform(held),
            relevance,
        )
        for k in offered["n_components"]
        for t in offered["text_steps"]
        for v in (1, 2, 3)
        for f in (1, 2, 3, 4)
    }
    chosen = (model.n_components_, model.text_steps_, model.visterm_steps_, model.folding_steps_)
    assert model.validation_ == max(reached.values()) == reached[chosen]
    assert len(model.visterm_likelihood_) == model.visterm_steps_


def test_pictures_without_a_caption_teach_nothing():
    counts, captions = np.vstack([COUNTS, [[9, 9, 0, 9]]]), np.vstack([CAPTIONS, [[0, 0, 0]]])
    rows = Plsa(n_components=3).fit(counts, captions).word_probabilities(COUNTS)
    expected = Plsa(n_components=3).fit(COUNTS, CAPTIONS).word_probabilities(COUNTS)
    np.testing.assert_allclose(rows, expected)


def test_a_picture_of_nothing_is_the_average_picture():
    model = Plsa(n_components=3).fit(COUNTS, CAPTIONS)
    guess = model.word_probabilities(np.zeros((1, 4)))
    np.testing.assert_allclose(guess[0], model.words_ @ model.prior_)


def test_the_scale_of_a_picture_does_not_matter_when_it_is_folded_in():
    model = Plsa(n_components=3).fit(COUNTS, CAPTIONS)
    np.testing.assert_allclose(
        model.word_probabilities(COUNTS * 9), model.word_probabilities(COUNTS), rtol=1e-9
    )


def test_hundreds_of_aspects_for_three_words_stay_finite():
    model = Plsa(n_components=300, text_steps=200, visterm_steps=100, folding_steps=100)
    rows = model.fit(COUNTS, CAPTIONS).transform(COUNTS)
    assert np.isfinite(rows).all()
    assert np.isfinite(model.text_likelihood_).all()


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"n_components": 0}, "n_components must be a whole number"),
        ({"text_steps": 2.5}, "text_steps must be"),
        ({"visterm_steps": 0}, "visterm_steps must be"),
        ({"visterm_steps": (1, 2)}, "visterm_steps must be"),
        ({"folding_steps": float("inf")}, "folding_steps must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"random_state": -1}, "random_state must be"),
    ],
)
def test_parameters_out_of_bounds_are_refused(wrong, why):
    with pytest.raises(BadInput, match=why):
        Plsa(**wrong).fit(COUNTS, CAPTIONS, validation=(COUNTS, CAPTIONS))
