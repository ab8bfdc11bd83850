"""CCA, weighted kNN and what models of pairs share."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.cross_decomposition import CCA as ReferenceCca

from visterm.errors import BadInput
from visterm.models import Cca, WeightedKnn
from visterm.models.pairs import pair_quality, same_texts, text_vectors
from visterm.text import Relevance


def related(n=300, seed=0):
    """Pictures and texts that share two hidden numbers, under noise of their own."""
    rng = np.random.default_rng(seed)
    hidden = rng.standard_normal((n, 2))
    X = hidden @ rng.standard_normal((2, 5)) + rng.standard_normal((n, 5))
    Y = hidden @ rng.standard_normal((2, 4)) + rng.standard_normal((n, 4))
    return X, Y


def test_cca_without_ridge_finds_the_correlations_of_scikit_learn():
    X, Y = related()
    model = Cca(ridge=0.0, text_ridge=0.0, scaling=0.0).fit(X, Y)
    theirs = ReferenceCca(n_components=4, scale=False, max_iter=5000, tol=1e-10).fit(X, Y)
    a, b = theirs.transform(X, Y)
    expected = [abs(np.corrcoef(a[:, j], b[:, j])[0, 1]) for j in range(4)]
    np.testing.assert_allclose(model.correlations_, expected, atol=1e-3)


def test_cca_projections_are_white_and_correlate_as_it_says():
    X, Y = related()
    model = Cca(ridge=0.0, text_ridge=0.0, scaling=0.0).fit(X, Y)
    x = (X - X.mean(axis=0)) @ model.picture_map_
    y = (Y - Y.mean(axis=0)) @ model.text_map_
    np.testing.assert_allclose(x.T @ x / len(x), np.eye(4), atol=1e-3)
    np.testing.assert_allclose(x.T @ y / len(x), np.diag(model.correlations_), atol=1e-3)


def test_a_larger_ridge_trusts_correlations_less():
    X, Y = related()
    found = [Cca(ridge=r, text_ridge=r).fit(X, Y).correlations_.sum() for r in (0.0, 0.1, 10.0)]
    assert found == sorted(found, reverse=True)


def test_cca_finds_held_pairs_far_above_chance():
    X, Y = related(400)
    model = Cca().fit(X[:300], Y[:300])
    held = pair_quality(model.picture_rows(X[300:]), model.text_rows(Y[300:]), Y[300:])
    assert held > 2 * np.mean(1 / np.arange(1, 101))


def test_what_transform_gives_ranks_as_the_common_space_up_to_the_mean_text():
    X, Y = related()
    model = Cca().fit(X, Y)
    direct = model.transform(X) @ (Y - model.text_mean_).T
    common = model.picture_rows(X) @ model.text_rows(Y).T
    lengths = np.linalg.norm((Y - model.text_mean_) @ model.text_map_, axis=1)
    np.testing.assert_allclose(direct / lengths, common, atol=1e-4)


def test_retraining_learns_from_all_pictures_with_what_was_chosen():
    X, Y = related()
    model = Cca(ridge=(0.01, 1.0), retrain=True)
    model.fit(X[:200], Y[:200], validation=(X[200:], Y[200:]))
    again = Cca(**model.decided()).fit(X, Y)
    np.testing.assert_allclose(model.correlations_, again.correlations_, rtol=1e-4)


def test_equal_texts_answer_for_each_other():
    rows = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], dtype=np.float32)
    turned = rows[[1, 0, 2]]
    assert pair_quality(rows, turned, rows) == 1.0
    assert same_texts(csr_array(rows)).sum() == 5


def test_knn_is_the_weighted_mean_of_its_neighbours():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((30, 6)), rng.integers(0, 2, (30, 4))
    model = WeightedKnn(n_neighbors=5, sharpness=3.0).fit(X, Y)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    for number, row in enumerate(model.transform(X)):
        likeness = unit @ unit[number]
        nearest = np.argsort(-likeness)[:5]
        weights = np.exp(3.0 * likeness[nearest])
        np.testing.assert_allclose(row, weights / weights.sum() @ Y[nearest], rtol=1e-4, atol=1e-6)


def test_knn_lends_vectors_of_any_text_space():
    X, Y = related(50)
    rows = WeightedKnn(n_neighbors=1).fit(X, Y).transform(X)
    np.testing.assert_allclose(rows, Y, rtol=1e-5)


def test_texts_of_another_width_and_relevance_are_refused():
    X, Y = related(20)
    model = Cca().fit(X, Y)
    with pytest.raises(BadInput, match=r"4 numbers.*3"):
        model.text_rows(Y[:, :3])
    with pytest.raises(BadInput, match="Pamir"):
        Cca().fit(X, Relevance(csr_array(np.eye(4)), csr_array(np.ones((4, 20)))))
    with pytest.raises(BadInput, match="two dimensions"):
        text_vectors(np.zeros(4), 4)


def test_relevance_of_validation_pictures_can_choose_but_not_teach():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((60, 6)), (rng.random((60, 4)) < 0.4).astype(float)
    told = Relevance(csr_array(np.eye(4)), csr_array(Y[40:].T))
    model = Cca(ridge=(0.1, 1.0)).fit(X[:40], Y[:40], validation=(X[40:], told))
    assert 0 < model.validation_ <= 1
    with pytest.raises(BadInput, match="retrain needs captions"):
        Cca(retrain=True).fit(X[:40], Y[:40], validation=(X[40:], told))
