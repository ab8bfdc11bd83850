"""CMTT against the reconstructed matrix it never forms."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from problems import held_relevance
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.models import Cmtt
from visterm.models.selection import quality


def pictures_and_captions(n=30, visterms=12, words=5):
    """Counts and captions that share three themes, without a random number."""
    i, v, t = np.arange(n)[:, None], np.arange(visterms), np.arange(words)
    counts = ((i + v) % 3 == 0) * ((i * v) % 4) + ((i * 7 + v * 5) % 11 == 0)
    captions = ((i + t) % 3 == 0) & ((i * 3 + t) % 5 > 0)
    captions[:, 0] |= ~captions.any(axis=1)
    return counts, captions.astype(int)


COUNTS, CAPTIONS = pictures_and_captions()


def tf_idf(table, normalise):
    n, columns = table.shape
    idf = [-math.log(np.count_nonzero(table[:, c]) / n) if table[:, c].any() else 0.0
           for c in range(columns)]  # fmt: skip
    rows = [[count * weight for count, weight in zip(row, idf, strict=True)] for row in table]
    if normalise:
        rows = [[x / (math.hypot(*row) or 1.0) for x in row] for row in rows]
    return np.array(rows)


def cosine(a, b):
    length = math.hypot(*a) * math.hypot(*b)
    return sum(x * y for x, y in zip(a, b, strict=True)) / length if length > 1e-9 else 0.0


def slowly(counts, captions, picture, rank, normalise):
    """P(t|p) from the columns of the explicit rank-k matrix [captions | visterms]."""
    whole = np.hstack([tf_idf(captions, normalise), tf_idf(counts, normalise)])
    left, values, right = np.linalg.svd(whole, full_matrices=False)
    rebuilt = left[:, :rank] @ np.diag(values[:rank]) @ right[:rank]
    words = captions.shape[1]
    weights = []
    for t in range(words):
        similar = [
            max(0.0, cosine(rebuilt[:, t], rebuilt[:, words + v])) for v in range(counts.shape[1])
        ]
        weights.append(sum(tf * s / sum(similar) for tf, s in zip(picture, similar, strict=True)))
    return [weight / sum(weights) for weight in weights]


@pytest.mark.parametrize("n_components", [1, 3, 7, 17])
@pytest.mark.parametrize("normalise", [True, False])
def test_equals_the_explicit_reconstruction(n_components, normalise):
    model = Cmtt(n_components=n_components, normalise=normalise).fit(COUNTS, CAPTIONS)
    for picture in (COUNTS[4], COUNTS[11] * 3, np.eye(12)[2]):
        expected = slowly(COUNTS, CAPTIONS, picture, n_components, normalise)
        guess = model.word_probabilities([picture])[0]
        np.testing.assert_allclose(guess, expected, rtol=1e-4, atol=1e-7)


def test_more_singular_values_than_there_are_keep_the_matrix_itself():
    all_of_them = Cmtt(n_components=17).fit(COUNTS, CAPTIONS)
    too_many = Cmtt(n_components=1000).fit(COUNTS, CAPTIONS)
    np.testing.assert_allclose(too_many.translation_, all_of_them.translation_, atol=1e-6)


def test_the_table_is_a_distribution_over_visterms_for_every_word():
    table = Cmtt(n_components=3).fit(COUNTS, CAPTIONS).translation_
    assert table.shape == (5, 12)
    assert (table >= 0).all()
    np.testing.assert_allclose(table.sum(axis=1), 1.0, rtol=1e-5)


def test_the_matrix_is_never_rebuilt():
    counts, captions = pictures_and_captions(n=1500, visterms=2000, words=5)
    counts = csr_array(counts * (np.arange(2000) % 40 == np.arange(1500)[:, None] % 40))
    rebuilt = 1500 * 2005 * 8
    tracemalloc.start()
    Cmtt(n_components=4).fit(counts, captions)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < rebuilt / 4


def test_the_seed_of_the_solver_does_not_show():
    tables = [
        Cmtt(n_components=4, random_state=s).fit(COUNTS, CAPTIONS).translation_ for s in (0, 1)
    ]
    np.testing.assert_allclose(tables[0], tables[1], atol=1e-6)


def test_validation_takes_the_best_rank():
    held, held_captions = COUNTS[::-1] // 2, csr_array(np.roll(CAPTIONS[::-1], 1, axis=0))
    ranks = (1, 2, 4, 8)
    chosen = Cmtt(n_components=ranks).fit(COUNTS, CAPTIONS, validation=(held, held_captions))
    relevance = held_relevance(held_captions, 30, chosen.idf_, 4)
    reached = {
        k: quality(Cmtt(n_components=k).fit(COUNTS, CAPTIONS).transform(held), relevance)
        for k in ranks
    }
    assert chosen.validation_ == pytest.approx(max(reached.values()))
    assert reached[chosen.n_components_] == pytest.approx(chosen.validation_)


def test_a_word_nobody_wrote_is_never_guessed():
    captions = np.hstack([CAPTIONS, np.zeros((30, 1), dtype=int)])
    model = Cmtt(n_components=4).fit(COUNTS, captions)
    guess = model.word_probabilities(COUNTS[COUNTS.any(axis=1)])
    assert (guess[:, -1] == 0).all()
    np.testing.assert_allclose(guess.sum(axis=1), 1.0)


def test_a_picture_that_says_nothing_gets_what_captions_say_at_large():
    guess = Cmtt(n_components=4).fit(COUNTS, CAPTIONS).word_probabilities(np.zeros((1, 12)))
    np.testing.assert_allclose(guess[0], CAPTIONS.sum(axis=0) / CAPTIONS.sum())


@pytest.mark.parametrize("wrong", [0, -3, 2.5, float("inf"), "many"])
def test_a_rank_that_is_none_is_refused(wrong):
    with pytest.raises(BadInput, match="n_components must be a whole number"):
        Cmtt(n_components=wrong).fit(COUNTS, CAPTIONS)
