"""How a calibration is estimated: logistic regression on held-out pictures, drawn to a prior."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.calibration.calibration import (
    MIN_SLOPE,
    Calibration,
    logistic,
    query_description,
    word_statistics,
)
from visterm.calibration.cutoff import Floats, best_threshold

if TYPE_CHECKING:
    from visterm.text import Relevance

_RIDGE = 1.0
_FEW = 5.0
"""A word's own separation counts for as much as the common one once so many pictures show it."""
_PAIRS = 400_000
# Log odds of two Gaussians of one deviation, rarity + z·apart − apart²/2: where few pictures are
# held out, the coefficients (of the description, and of the description times z) stay near these.
_GAUSSIAN = np.array([0, 1, 0, 0, -0.5, 0, 0, 0, 1, 0.0])


def calibrate(
    rows: NDArray[np.floating], relevance: Relevance, frequency: ArrayLike, *, seed: int = 0
) -> Calibration:
    """Estimate probabilities from pictures that the model was not trained on.

    Parameters
    ----------
    rows : array of shape (n, T)
        The validation pictures in the text space.
    relevance : Relevance
        Queries, and which of these pictures answer them.
    frequency : array of shape (T,)
        The fraction of captions that hold each word.
    """
    means, deviations = word_statistics(rows)
    log_frequency = np.log(np.clip(np.asarray(frequency, float), 1e-6, 1.0))
    separation = _separation(rows, relevance, means, deviations)
    constant = np.eye(1, 5)[0]
    plain = Calibration(
        means, deviations, log_frequency, separation, 0 * constant, constant, 0.5, 0.5
    )
    queries = relevance.queries.tocsr()
    asked = [
        (queries.indices[first:stop].astype(np.int64), queries.data[first:stop].astype(float))
        for first, stop in zip(queries.indptr[:-1], queries.indptr[1:], strict=True)
    ]
    about = np.array([query_description(*one, log_frequency, separation) for one in asked])
    scales = np.array([plain.scale(words, q) for words, q in asked])
    z = scales[:, :1] + scales[:, 1:] * np.asarray(queries @ rows.T, np.float64)
    answers = relevance.pictures.toarray() > 0
    weight, pairs = _sampled_pairs(answers, np.random.default_rng(seed))
    intercept, slope = _logistic_regression(about, z, answers, weight, pairs)
    steep = np.maximum(about @ slope, MIN_SLOPE)[:, None]
    probabilities = logistic((about @ intercept)[:, None] + steep * z)
    fraction, level = best_threshold(probabilities, np.exp(about[:, 1]), answers)
    return Calibration(
        means, deviations, log_frequency, separation, intercept, slope, level, fraction
    )


def _separation(
    rows: NDArray[np.floating], relevance: Relevance, means: Floats, deviations: Floats
) -> Floats:
    """How far above the mean the pictures of each word lie, drawn to what is usual where few."""
    single = np.flatnonzero(np.diff(relevance.queries.indptr) == 1)
    words = relevance.queries.indices[relevance.queries.indptr[single]]
    answers = (relevance.pictures[single] > 0).astype(np.float64)
    counts, sums = np.zeros(len(means)), np.zeros(len(means))
    z = (rows[:, words] - means[words]) / deviations[words]
    counts[words] = np.asarray(answers.sum(axis=1)).ravel()
    sums[words] = np.einsum("wp,pw->w", answers.toarray(), z)
    usual = sums.sum() / max(counts.sum(), 1.0)
    return (sums + _FEW * usual) / (counts + _FEW)


def _sampled_pairs(
    answers: NDArray[np.bool_], random: np.random.Generator
) -> tuple[Floats, NDArray[np.int64]]:
    """Weights and numbers of pairs of query and picture: all answers, some of the others."""
    others = np.flatnonzero(~answers)
    count = min(len(others), _PAIRS)
    some = random.choice(others, count, replace=False) if count < len(others) else others
    hits = np.flatnonzero(answers)
    weight = np.concatenate([np.ones(len(hits)), np.full(count, len(others) / max(count, 1))])
    return weight, np.concatenate([hits, some])


def _logistic_regression(
    about: Floats, z: Floats, answers: NDArray[np.bool_], weight: Floats, pairs: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Coefficients of the description, and of the description times z, by Newton's method.

    scikit-learn's ridge draws to zero; this one draws to `_GAUSSIAN`.
    """
    described, height = about[pairs // z.shape[1]], z.ravel()[pairs][:, None]
    features = np.concatenate([described, described * height], axis=1)
    size = np.abs(features).max(axis=0)
    size = np.where(size > 0, size, 1.0)
    features = features / size
    target = answers.ravel()[pairs].astype(float)
    prior = _GAUSSIAN * size
    found = prior.copy()
    for _ in range(30):
        probability = logistic(features @ found)
        gradient = features.T @ (weight * (target - probability)) - _RIDGE * (found - prior)
        hessian = (features * (weight * probability * (1 - probability))[:, None]).T @ features
        step = np.linalg.solve(hessian + _RIDGE * np.eye(len(found)), gradient)
        found = found + step * min(1.0, 5.0 / np.abs(step).max())
        if np.abs(step).max() < 1e-8:
            break
    found = found / size
    return found[: about.shape[1]], found[about.shape[1] :]
