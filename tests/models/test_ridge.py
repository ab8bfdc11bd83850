"""Ridge regression: left-out scores are those of a model that did not see the picture."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.models import Pamir, Ridge

WIDTH, WORDS = 12, 4


def problem(count: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    vectors = random.standard_normal((count, WIDTH)).astype(np.float32)
    looks = random.standard_normal((WORDS, WIDTH))
    captions = vectors @ looks.T + 0.5 * random.standard_normal((count, WORDS)) > 1.5
    return vectors, captions.astype(int), looks.astype(np.float32)


def started(weights: np.ndarray) -> Pamir:
    model = Pamir(max_iter=1).fit(
        np.eye(WIDTH), np.arange(WIDTH)[:, None] % WORDS == np.arange(WORDS)
    )
    model.weights_ = weights.astype(np.float32)
    return model


@pytest.mark.parametrize("count", [8, 40])
@pytest.mark.parametrize("prior", [0.0, 0.3])
def test_the_weights_are_those_of_the_formula_written_slowly(count: int, prior: float) -> None:
    vectors, captions, looks = problem(count)
    model = Ridge(alpha=2.0, prior=prior).fit(vectors, captions, initial=started(looks))
    mean = vectors.mean(axis=0)
    scale = np.sqrt(np.square(vectors - mean).sum(axis=1).mean())
    z = (vectors - mean) / scale
    held = np.flatnonzero(captions.any(axis=0))
    for word in held:
        b = np.clip(captions[:, word].mean(), 0.5 / count, 1 - 0.5 / count)
        y = (captions[:, word] - b) / np.sqrt(b * (1 - b))
        u = looks[word] / np.sqrt(np.square(z @ looks[word]).mean())
        system = z.T @ z + 2.0 * np.eye(WIDTH)
        expected = prior * u + np.linalg.solve(system, z.T @ (y - prior * z @ u))
        np.testing.assert_allclose(model.weights_[word], expected / scale, rtol=1e-3, atol=1e-5)


def test_left_out_scores_are_those_of_a_fit_without_the_picture() -> None:
    vectors, captions, _ = problem()
    model = Ridge(alpha=2.0).fit(vectors, captions)
    numbers, rows = model.left_out() or pytest.fail("it can tell")
    mean = vectors.mean(axis=0)
    scale = np.sqrt(np.square(vectors - mean).sum(axis=1).mean())
    z = (vectors - mean) / scale
    b = captions.mean(axis=0)
    y = (captions - b) / np.sqrt(b * (1 - b))
    offset = model.weights_ @ mean
    for place in (0, 7, 39):
        others = np.delete(np.arange(len(z)), numbers[place])
        system = z[others].T @ z[others] + 2.0 * np.eye(WIDTH)
        without = np.linalg.solve(system, z[others].T @ y[others])
        np.testing.assert_allclose(
            rows[place] - offset, z[numbers[place]] @ without, rtol=1e-3, atol=1e-4
        )


def test_words_that_no_caption_holds_stay_where_they_start() -> None:
    vectors, captions, looks = problem()
    captions[:, 2] = 0
    model = Ridge().fit(vectors, captions, initial=started(looks))
    np.testing.assert_array_equal(model.weights_[2], looks[2])
    assert model.alpha_ > 0
    assert model.prior_ > 0


def test_two_examples_leave_a_word_near_its_start_and_many_do_not() -> None:
    vectors, _, looks = problem(400)
    few, many = np.zeros((400, WORDS), int), np.zeros((400, WORDS), int)
    few[:2, 0] = 1
    many[vectors[:, 1] > 0.5, 0] = 1
    near, far = (
        Ridge(alpha=100.0, prior=0.3).fit(vectors, captions, initial=started(looks)).weights_[0]
        for captions in (few, many)
    )

    def cosine(weights: np.ndarray) -> float:
        return float(weights @ looks[0] / np.linalg.norm(weights) / np.linalg.norm(looks[0]))

    assert cosine(near) > 0.9
    assert cosine(near) > cosine(far)


def test_it_starts_only_from_linear_models_of_the_same_vectors() -> None:
    vectors, captions, looks = problem()
    with pytest.raises(BadInput, match="linear in vectors of 11 numbers"):
        Ridge().fit(vectors[:, :11], captions, initial=started(looks))


def test_sparse_vectors_are_learnt_from_as_well() -> None:
    vectors, captions, _ = problem()
    plain = Ridge().fit(vectors, captions).transform(vectors)
    np.testing.assert_allclose(
        Ridge().fit(csr_array(vectors), captions).transform(vectors), plain, rtol=1e-4, atol=1e-4
    )


def test_pictures_without_captions_count_in_how_pictures_vary_and_teach_no_word() -> None:
    vectors, captions, looks = problem()
    others = np.random.default_rng(1).standard_normal((80, WIDTH)).astype(np.float32)
    model = Ridge(alpha=2.0, prior=0.3)
    model.fit(vectors, captions, initial=started(looks), others=others)
    every, weight = np.concatenate([vectors, others]), np.repeat([1.0, 0.3 * 40 / 80], [40, 80])
    mean = weight @ every / weight.sum()
    scale = np.sqrt(weight @ np.square(every - mean).sum(axis=1) / weight.sum())
    z = (every - mean) / scale
    b = captions.mean(axis=0)
    y = (captions - b) / np.sqrt(b * (1 - b))
    system = (z.T * weight) @ z + 2.0 * np.eye(WIDTH)
    for word in range(WORDS):
        u = looks[word] / np.sqrt(np.square(z[:40] @ looks[word]).mean())
        beyond = np.linalg.solve(system, z[:40].T @ (y[:, word] - 0.3 * z[:40] @ u))
        expected = (0.3 * u + beyond) / scale
        np.testing.assert_allclose(model.weights_[word], expected, rtol=1e-3, atol=1e-5)


def test_words_of_like_meaning_lend_weights_and_left_out_scores_alike() -> None:
    vectors, captions, _ = problem()
    captions[:, 1] = 0
    captions[:2, 1] = 1
    meanings = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 0.0], [0.0, 0.0]])
    own = Ridge(alpha=2.0).fit(vectors, captions)
    lent = Ridge(alpha=2.0).fit(vectors, captions, meanings=meanings)
    share = 0.25 * 5 / (5 + 2) * 0.8
    np.testing.assert_allclose(
        lent.weights_[1], own.weights_[1] + share * own.weights_[0], rtol=1e-4, atol=1e-6
    )
    np.testing.assert_array_equal(lent.weights_[2:], own.weights_[2:])
    np.testing.assert_allclose(
        lent.left_out_rows_[:, 1],
        own.left_out_rows_[:, 1] + share * own.left_out_rows_[:, 0],
        rtol=1e-3,
        atol=1e-4,
    )
