"""CMRM against its formula, written slowly and exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import held_relevance
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.models import Cmrm, cmrm
from visterm.models.selection import quality

COUNTS = np.array([[3, 0, 1, 0], [2, 1, 0, 0], [0, 4, 0, 1], [1, 3, 0, 2], [0, 0, 5, 1]])
CAPTIONS = np.array([[1, 0, 1], [1, 0, 0], [0, 1, 0], [0, 1, 1], [0, 0, 1]])


def smoothed(row, table, smoothing):
    """Jelinek–Mercer: a picture's shares and those of all pictures, in exact fractions."""
    own, total = sum(row), int(table.sum())
    shares = []
    for column, count in enumerate(row):
        background = Fraction(int(table[:, column].sum()), total)
        likeliest = Fraction(int(count), int(own)) if own else background
        shares.append((1 - smoothing) * likeliest + smoothing * background)
    return shares


def slowly(counts, captions, picture, alpha, beta):
    """P(t|p) = Σ_j P(t|j) Π_v P(v|j)^tf_v, over its sum."""
    joint = [Fraction(0)] * captions.shape[1]
    for visterms, words in zip(counts, captions, strict=True):
        if not visterms.any():
            continue  # looks like nothing, so it lends nothing
        of_visterms, of_words = smoothed(visterms, counts, beta), smoothed(words, captions, alpha)
        product = Fraction(1)
        for share, tf in zip(of_visterms, picture, strict=True):
            if share:  # 0 only for a visterm that no training picture holds
                product *= share ** int(tf)
        for t, share in enumerate(of_words):
            joint[t] += share * product
    return [float(value / sum(joint)) for value in joint]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=3, max_size=6),
    st.lists(st.integers(0, 6), min_size=3, max_size=3),
    st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(1)]),
    st.sampled_from([Fraction(1, 100), Fraction(1, 2), Fraction(1)]),
)
def test_equals_the_formula(pictures, picture, alpha, beta):
    counts = np.array([[1, 1, 1], *pictures])  # every visterm is seen
    captions = np.array([[1, 0]] + [[i % 2, 1] for i in range(len(pictures))])
    model = Cmrm(alpha=float(alpha), beta=float(beta)).fit(counts, captions)
    expected = slowly(counts, captions, picture, alpha, beta)
    np.testing.assert_allclose(
        model.word_probabilities([picture])[0], expected, rtol=1e-9, atol=1e-12
    )


def test_hundreds_of_visterms_do_not_underflow():
    spread = np.arange(1000)
    counts = np.array([(spread % 3 == 0) * 1, (spread % 5 == 0) * 2, (spread % 7 < 3) * 1])
    captions = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    picture = (spread < 345) * 1
    assert picture.sum() == 345
    model = Cmrm(alpha=0.1, beta=0.9).fit(counts, captions)
    plainly = np.prod([float(s) for s in smoothed(counts[0], counts, 0.9)[:345]])
    assert plainly == 0.0, "a plain product would be lost"
    expected = slowly(counts, captions, picture, Fraction(1, 10), Fraction(9, 10))
    np.testing.assert_allclose(model.word_probabilities([picture])[0], expected, rtol=1e-7)


def test_evidence_is_the_number_of_visterms_a_picture_speaks_for():
    model = Cmrm(beta=0.3, evidence=6.0).fit(COUNTS, CAPTIONS)
    exactly_six = np.array([[1, 2, 3, 0]])
    paper = Cmrm(beta=0.3).fit(COUNTS, CAPTIONS)
    expected = paper.word_probabilities(exactly_six)
    np.testing.assert_allclose(model.word_probabilities(exactly_six), expected)
    np.testing.assert_allclose(model.word_probabilities(exactly_six * 50), expected)
    assert not np.allclose(paper.word_probabilities(exactly_six * 50), expected)


def test_memory_is_bounded_by_chunks_that_do_not_show(monkeypatch):
    whole = Cmrm().fit(COUNTS, CAPTIONS).word_probabilities(COUNTS)
    monkeypatch.setattr(cmrm, "_CHUNK_BYTES", 8 * 2 * len(COUNTS))
    np.testing.assert_allclose(Cmrm().fit(COUNTS, CAPTIONS).word_probabilities(COUNTS), whole)


def test_the_order_of_training_pictures_does_not_matter():
    turned = Cmrm().fit(COUNTS[::-1], CAPTIONS[::-1]).word_probabilities(COUNTS)
    np.testing.assert_allclose(turned, Cmrm().fit(COUNTS, CAPTIONS).word_probabilities(COUNTS))


def test_a_picture_of_nothing_gets_the_words_of_the_average_picture():
    model = Cmrm(alpha=0.0).fit(COUNTS, CAPTIONS)
    average = (CAPTIONS / CAPTIONS.sum(axis=1, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose(model.word_probabilities(np.zeros((1, 4)))[0], average)


def test_a_training_picture_without_caption_lends_what_captions_say_at_large():
    captions = np.vstack([CAPTIONS, [[0, 0, 0]]])
    counts = np.vstack([COUNTS, [[0, 0, 0, 40]]])
    guess = Cmrm(alpha=0.0, beta=0.01).fit(counts, captions).word_probabilities([[0, 0, 0, 30]])
    np.testing.assert_allclose(guess[0], CAPTIONS.sum(axis=0) / CAPTIONS.sum(), atol=1e-6)


def test_full_smoothing_forgets_pictures_or_words():
    visterms_forgotten = Cmrm(beta=1.0).fit(COUNTS, CAPTIONS).word_probabilities(COUNTS)
    np.testing.assert_allclose(visterms_forgotten, np.tile(visterms_forgotten[0], (5, 1)))
    words_forgotten = Cmrm(alpha=1.0).fit(COUNTS, CAPTIONS).word_probabilities(COUNTS)
    np.testing.assert_allclose(
        words_forgotten, np.tile(CAPTIONS.sum(axis=0) / CAPTIONS.sum(), (5, 1))
    )


def test_validation_takes_the_best_of_all_combinations():
    grid = {"alpha": (0.0, 0.5), "beta": (0.05, 0.9), "evidence": (None, 1.0, 3.0)}
    held, held_captions = COUNTS[::-1] // 2, csr_array(np.roll(CAPTIONS[::-1], 1, axis=0))
    chosen = Cmrm(**grid).fit(COUNTS, CAPTIONS, validation=(held, held_captions))
    relevance = held_relevance(held_captions, 5, chosen.idf_, 4)
    reached = {
        (a, b, e): quality(
            Cmrm(alpha=a, beta=b, evidence=e).fit(COUNTS, CAPTIONS).transform(held), relevance
        )
        for a in grid["alpha"]
        for b in grid["beta"]
        for e in grid["evidence"]
    }
    assert chosen.validation_ == max(reached.values())
    assert reached[chosen.alpha_, chosen.beta_, chosen.evidence_] == chosen.validation_


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"alpha": -0.1}, "alpha must be between 0 and 1"),
        ({"alpha": 1.5}, "alpha must be"),
        ({"beta": 0.0}, "beta must be above 0"),
        ({"beta": (0.1, 2)}, "beta must be"),
        ({"evidence": 0}, "evidence must be positive, or None"),
        ({"evidence": float("inf")}, "evidence must be"),
    ],
)
def test_parameters_out_of_bounds_are_refused(wrong, why):
    with pytest.raises(BadInput, match=why):
        Cmrm(**wrong).fit(COUNTS, CAPTIONS, validation=(COUNTS, CAPTIONS))
