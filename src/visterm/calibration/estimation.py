"""How a calibration is estimated: logistic regression on held-out pictures, drawn to a prior."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.calibration.calibration import Calibration, word_statistics
from visterm.calibration.cutoff import best_threshold
from visterm.calibration.link import Floats, Link, log_odds, logistic

if TYPE_CHECKING:
    from visterm.text import Relevance

_RIDGE = 1.0
_FEW = 5.0
"""A word's own separation counts for as much as the common one once so many pictures show it."""
_PAIRS = 400_000
# Log odds of two Gaussians of one deviation, rarity + z·apart − apart²/2: where few pictures are
# held out, the coefficients (of the description, and of the description times z) stay near these.
_GAUSSIAN = np.array([0, 1, 0, -0.5, 0, 0, 1, 0.0])
_INDEPENDENT = np.array([0.0, 1.0])
_LARGEST = 4
"""Words of a query; longer ones are like those of so many."""
MIN_SLOPE = 0.05
"""A higher score is never less likely to answer."""


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
    link = _link(rows, relevance, means, deviations, log_frequency, seed)
    found = Calibration(link, means, deviations, log_frequency, np.array([[0.0, 1.0]]))
    asked = relevance.queries.tocsr().astype(bool).astype(np.float64)
    scores = asked @ link.rows(rows).T.astype(np.float64)
    answers = relevance.pictures.toarray() > 0
    sizes = np.diff(asked.indptr)
    found = replace(found, dependence=_dependence(scores, sizes, answers, seed))
    probabilities = np.empty_like(scores)
    for size in np.unique(sizes).tolist():
        some = sizes == size
        probabilities[some] = found.probabilities(np.arange(size), np.ones(size), scores[some])
    fraction, level = best_threshold(probabilities, np.exp(asked @ log_frequency), answers)
    return replace(found, fraction=fraction, level=level)


def _link(
    rows: NDArray[np.floating],
    relevance: Relevance,
    means: Floats,
    deviations: Floats,
    log_frequency: Floats,
    seed: int,
) -> Link:
    """Intercept and slope of every word, from how rare it is and how well separated."""
    words, answers = _single_words(relevance)
    separation = _separation(rows, words, answers, means, deviations)
    about = np.stack(
        [np.ones(len(means)), log_frequency, separation, np.square(separation)], axis=1
    )
    z = ((rows[:, words] - means[words]) / deviations[words]).T.astype(np.float64)
    weight, pairs = _sampled_pairs(answers, np.random.default_rng(seed))
    intercept, slope = _logistic_regression(about[words], z, answers, weight, pairs, _GAUSSIAN)
    steep = np.maximum(about @ slope, MIN_SLOPE) / deviations
    return Link(about @ intercept - steep * means, steep)


def _dependence(
    scores: Floats, sizes: NDArray[np.integer], answers: NDArray[np.bool_], seed: int
) -> Floats:
    """Intercept and slope of the log odds of queries of one, two … words."""
    found = [_INDEPENDENT]
    for size in range(2, _LARGEST + 1):
        some = np.flatnonzero(sizes == size)
        if not some.size:
            break
        odds, right = log_odds(scores[some]), answers[some]
        weight, pairs = _sampled_pairs(right, np.random.default_rng(seed))
        about = np.ones((len(some), 1))
        learnt = _logistic_regression(about, odds, right, weight, pairs, _INDEPENDENT)
        found.append(np.array([learnt[0][0], max(learnt[1][0], MIN_SLOPE)]))
    return np.array(found)


def _single_words(relevance: Relevance) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The words that are asked for alone, and which pictures answer them."""
    single = np.flatnonzero(np.diff(relevance.queries.indptr) == 1)
    words = relevance.queries.indices[relevance.queries.indptr[single]].astype(np.int64)
    return words, relevance.pictures[single].toarray() > 0


def _separation(
    rows: NDArray[np.floating],
    words: NDArray[np.int64],
    answers: NDArray[np.bool_],
    means: Floats,
    deviations: Floats,
) -> Floats:
    """How far above the mean the pictures of each word lie, drawn to what is usual where few."""
    counts, sums = np.zeros(len(means)), np.zeros(len(means))
    z = (rows[:, words] - means[words]) / deviations[words]
    counts[words] = answers.sum(axis=1)
    sums[words] = np.einsum("wp,pw->w", answers, z)
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
    about: Floats,
    z: Floats,
    answers: NDArray[np.bool_],
    weight: Floats,
    pairs: NDArray[np.int64],
    drawn_to: Floats,
) -> tuple[Floats, Floats]:
    """Coefficients of the description, and of the description times z, by Newton's method.

    scikit-learn's ridge draws to zero; this one draws to ``drawn_to``.
    """
    described, height = about[pairs // z.shape[1]], z.ravel()[pairs][:, None]
    features = np.concatenate([described, described * height], axis=1)
    size = np.abs(features).max(axis=0)
    size = np.where(size > 0, size, 1.0)
    features = features / size
    target = answers.ravel()[pairs].astype(float)
    prior = drawn_to * size
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
