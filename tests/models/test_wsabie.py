"""WSABIE's steps against the formula written slowly, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.errors import BadInput
from visterm.models import Wsabie
from visterm.models._wsabie_kernels import warp_steps
from visterm.text.query_sampler import below


def slow_step(x, y, words, V, Z, rate, longest, state):
    """One WARP step on words or texts, a NumPy call an operation."""
    n, outputs = len(x), len(x) if words is None else Z.shape[0]
    i = below(state, n)
    right = i if words is None else words[i][below(state, len(words[i]))]
    every = y if words is None else np.eye(Z.shape[0])
    scores = every @ Z @ (V.T @ x[i])
    true = [i] if words is None else words[i]
    wrong = outputs - len(true)
    for tries in range(1, wrong + 1):
        other = below(state, outputs)
        while other in true:
            other = below(state, outputs)
        if scores[other] > scores[right] - 1:
            weight = np.sum(1 / np.arange(1, wrong // tries + 1))
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
    given = x, y, starts, np.concatenate(words), texts, ranks
    violated = warp_steps(*given, V, Z, 0.05, 2.0, state, 30)
    for _ in range(30):
        slow_step(x, y, None if texts else words, slow_V, slow_Z, 0.05, 2.0, slow_state)
    assert 0 < violated <= 30
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
