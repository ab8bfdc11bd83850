"""What few captions teach by the usual means: logistic regression and whitened mean differences."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

CHOICES = (1.0, 10.0, 100.0)
"""C, for vectors of length one; with five folds over all words, of which at most `_JUDGES`."""
_USUAL = 10.0
_FOLDS, _ENOUGH, _JUDGES = 5, 30, 100
_RIDGE = 10.0

Floats = NDArray[np.float32]
Holds = NDArray[np.bool_]


def mean_difference(vectors: Floats, held: Holds, asked: Floats) -> Floats:
    """Scores by the difference of means, whitened with the covariance of all pictures."""
    every = np.concatenate([vectors, asked]).astype(np.float64)
    covariance = np.cov(every.T, bias=True)
    covariance += _RIDGE * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
    means = vectors.T @ (held / held.sum(axis=0) - ~held / (~held).sum(axis=0))
    return np.asarray(asked @ np.linalg.solve(covariance, means), np.float32)


def logistic(vectors: Floats, held: Holds, asked: Floats) -> Floats:
    """Scores by one balanced logistic regression a word; one C for all, by cross-validation."""
    chosen = _USUAL
    if len(vectors) >= _ENOUGH:
        fold = np.random.default_rng(0).permutation(len(vectors)) % _FOLDS
        some = held[:, :: max(1, held.shape[1] // _JUDGES)]
        chosen = max(CHOICES, key=lambda C: _left_out_precision(vectors, some, fold, C))
    return _fitted(vectors, held, asked, chosen)


def _left_out_precision(vectors: Floats, held: Holds, fold: NDArray[np.int64], C: float) -> float:
    scores = np.zeros(held.shape, np.float32)
    for number in range(_FOLDS):
        learnt = fold != number
        scores[~learnt] = _fitted(vectors[learnt], held[learnt], vectors[~learnt], C)
    order = np.argsort(-scores, axis=0, kind="stable")
    right = np.take_along_axis(held, order, axis=0)
    precision = np.cumsum(right, axis=0) / np.arange(1, len(right) + 1)[:, None]
    return float(((precision * right).sum(axis=0) / right.sum(axis=0)).mean())


def _fitted(vectors: Floats, held: Holds, asked: Floats, C: float) -> Floats:
    """All words in one minimisation: their losses share nothing, so each has its own minimum."""
    from scipy.optimize import minimize

    mean = vectors.mean(axis=0)
    left, sizes, directions = np.linalg.svd(vectors - mean, full_matrices=False)
    rows = (left * sizes).astype(np.float64)
    count, words, width = len(rows), held.shape[1], rows.shape[1]
    with_word = held.sum(axis=0)
    weight = C * np.where(
        held,
        count / (2 * np.maximum(with_word, 1)),
        count / (2 * np.maximum(count - with_word, 1)),
    )
    sign = np.where(held, 1.0, -1.0)

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        found = flat.reshape(width + 1, words)
        margin = sign * (rows @ found[:-1] + found[-1])
        slope = -sign * weight * 0.5 * (1 - np.tanh(margin / 2))
        value = (weight * np.logaddexp(0, -margin)).sum() + 0.5 * np.square(found[:-1]).sum()
        return float(value), np.vstack([rows.T @ slope + found[:-1], slope.sum(axis=0)]).ravel()

    start = np.zeros((width + 1) * words)
    best = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 100}).x
    weights = directions.T @ best.reshape(width + 1, words)[:-1]
    return np.asarray((asked - mean) @ weights, np.float32)
