"""WSABIE's steps against the formula written slowly, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.errors import BadInput
from visterm.models import Wsabie
from visterm.models._wsabie_kernels import warp_steps
from visterm.models.pamir._triplets import below


def slow_step(x, y, words, V, Z, rate, longest, state):
    """One WARP step on words or texts, a NumPy call an operation."""
    n, outputs = len(x), len(x) if words is None else Z.shape[0]
    i = below(state, n)
    right = i if words is None else words[i][below(state, len(words[i]))]
    every = y if words is None else np.eye(Z.shape[0])
    scores = every @ Z @ (V.T @ x[i])
    for tries in range(1, outputs):
        other = below(state, outputs)
        allowed = other != i if words is None else other not in words[i]
        if allowed and scores[other] > scores[right] - 1:
            weight = np.sum(1 / np.arange(1, (outputs - 1) // tries + 1))
            gap = every[right] - every[other]
            embedded, difference = V.T @ x[i], Z.T @ gap
            Z += rate * weight * np.outer(gap, embedded)
            V += rate * weight * np.outer(x[i], difference)
            for side in (V, Z):
                length = np.linalg.norm(side, axis=1, keepdims=True)
                side *= np.minimum(1, longest / length)
            return


@pytest.mark.parametrize("texts", [True, False], ids=["texts", "words"])
def test_steps_are_those_of_the_formula(texts):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((20, 5)).astype(np.float32)
    y = rng.standard_normal((20, 6)).astype(np.float32)
    words = [np.sort(rng.permutation(6)[: 1 + i % 3]) for i in range(20)]
    V, Z = (rng.standard_normal((width, 4)).astype(np.float32) for width in (5, 6))
    slow_V, slow_Z = V.astype(np.float64), Z.astype(np.float64)
    ranks = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, 21))])
    starts = np.concatenate([[0], np.cumsum([len(one) for one in words])])
    state, slow_state = (np.array([7], dtype=np.uint64) for _ in range(2))
    updates = np.zeros(5, np.int64), np.zeros(6, np.int64)
    given = x, y, starts, np.concatenate(words), texts, ranks
    violated = warp_steps(*given, V, Z, 0.05, 2.0, state, 30, *updates)
    for _ in range(30):
        slow_step(x, y, None if texts else words, slow_V, slow_Z, 0.05, 2.0, slow_state)
    assert updates[0].tolist() == [violated] * 5
    assert updates[1].sum() == violated * (6 if texts else 2)
    np.testing.assert_allclose(V, slow_V, atol=1e-4)
    np.testing.assert_allclose(Z, slow_Z, atol=1e-4)
    assert state == slow_state


def test_columns_are_never_longer_than_allowed():
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((40, 5)), rng.random((40, 6))
    model = Wsabie(outputs="texts", max_norm=0.7, learning_rate=0.5, n_components=3).fit(X, Y)
    assert np.linalg.norm(model.text_map_, axis=1).max() <= 0.7 + 1e-5
    assert 0 <= model.violations_ <= 1


def test_what_makes_no_sense_is_refused():
    X = np.eye(3)
    with pytest.raises(BadInput, match="'words' or 'texts'"):
        Wsabie(outputs="labels").fit(X, X)
    with pytest.raises(BadInput, match="must not be negative"):
        Wsabie().fit(X, X - 0.5)
    with pytest.raises(BadInput, match="max_iter must be"):
        Wsabie(max_iter=0).fit(X, X)


def test_shards_learn_about_as_much_as_all_pictures_together():
    rng = np.random.default_rng(2)
    Y = np.eye(4)[rng.integers(4, size=200)]
    X = (Y @ rng.standard_normal((4, 6)) + 0.3 * rng.standard_normal((200, 6))).astype(np.float32)
    right = {}
    for shards in (1, 3):
        model = Wsabie(n_components=4, learning_rate=0.05, n_shards=shards).fit(X, Y)
        right[shards] = np.mean(model.transform(X).argmax(axis=1) == Y.argmax(axis=1))
        again = Wsabie(n_components=4, learning_rate=0.05, n_shards=shards).fit(X, Y)
        assert np.array_equal(model.text_map_, again.text_map_)
    assert right[3] >= right[1] - 0.02
