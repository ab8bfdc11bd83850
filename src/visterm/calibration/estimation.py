"""How links are estimated: logistic regression on held-out pictures, drawn to a prior.

One regression for all words: the intercept and the slope of a word's standardised values depend on
how rare it is and how well it is separated. Words that no held-out picture has count as well, with
nothing but misses: so a word of two captions is not sure of anything, and probabilities of all
words add up to how many a caption holds. Captions leave out what they do not mention; odds are
divided by how much that is (`mention_rate`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.calibration.calibration import Calibration, word_statistics
from visterm.calibration.link import Floats, Link, logistic

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_RIDGE = 1.0
_FEW = 5.0
"""A word's own separation counts for as much as the common one once so many pictures show it."""
_PAIRS = 400_000
# Log odds of two Gaussians of one deviation, rarity + z·apart − apart²/2: where few pictures are
# held out, the coefficients (of the description, and of the description times z) stay near these.
_GAUSSIAN = np.array([0, 1, 0, -0.5, 0, 0, 1, 0.0])
_MIN_SLOPE = 0.05
"""A higher score is never less likely to answer."""


def calibrate(
    rows: NDArray[np.floating],
    captions: csr_array,
    frequency: ArrayLike,
    *,
    mention_rate: float = 1.0,
    seed: int = 0,
) -> Calibration:
    """Estimate probabilities from pictures that the model was not trained on.

    Parameters
    ----------
    rows : array of shape (n, T)
        The held-out pictures in the text space.
    captions : csr_array of shape (n, T)
        Which words their captions hold.
    frequency : array of shape (T,)
        The fraction of all captions that hold each word; 0 for words of which none tells anything.
    mention_rate : float
        The odds that a caption mentions a word, as a part of the odds that a person accepts it.
    """
    means, deviations = word_statistics(rows)
    often = np.asarray(frequency, float)
    words = np.flatnonzero(often > 0)
    log_frequency = np.log(np.clip(often, 1e-6, 1.0))
    held = captions[:, words].toarray() > 0
    z = (rows[:, words] - means[words]) / deviations[words]
    about = _description(log_frequency[words], _separation(z, held))
    learnt = _logistic_regression(about, z, held, np.random.default_rng(seed))
    intercepts, slopes = np.zeros(len(means)), np.ones(len(means))
    slopes[words] = np.maximum(about @ learnt[1], _MIN_SLOPE) / deviations[words]
    intercepts[words] = about @ learnt[0] - np.log(mention_rate) - slopes[words] * means[words]
    return Calibration(Link(intercepts, slopes), means, deviations, log_frequency, True)


def _description(log_frequency: Floats, separation: Floats) -> Floats:
    """One, how rare a word is, how well separated, and that squared."""
    ones = np.ones(len(separation))
    return np.stack([ones, log_frequency, separation, np.square(separation)], axis=1)


def _separation(z: NDArray[np.floating], held: NDArray[np.bool_]) -> Floats:
    """How far above the mean the pictures of each word lie, drawn to what is usual where few."""
    counts, sums = held.sum(axis=0), np.einsum("pw,pw->w", held, z)
    usual = sums.sum() / max(counts.sum(), 1.0)
    return np.asarray((sums + _FEW * usual) / (counts + _FEW), np.float64)


def _logistic_regression(
    about: Floats, z: NDArray[np.floating], held: NDArray[np.bool_], random: np.random.Generator
) -> tuple[Floats, Floats]:
    """Coefficients of the description, and of the description times z, by Newton's method.

    scikit-learn's ridge draws to zero; this one draws to `_GAUSSIAN`.
    """
    weight, pairs = _sampled_pairs(held, random)
    described, height = about[pairs % z.shape[1]], z.ravel()[pairs][:, None]
    features = np.concatenate([described, described * height], axis=1)
    size = np.abs(features).max(axis=0)
    size = np.where(size > 0, size, 1.0)
    features = features / size
    target = held.ravel()[pairs].astype(float)
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


def _sampled_pairs(
    held: NDArray[np.bool_], random: np.random.Generator
) -> tuple[Floats, NDArray[np.int64]]:
    """Weights and numbers of pairs of picture and word: all mentions, some of the others."""
    others = np.flatnonzero(~held)
    count = min(len(others), _PAIRS)
    some = random.choice(others, count, replace=False) if count < len(others) else others
    hits = np.flatnonzero(held)
    weight = np.concatenate([np.ones(len(hits)), np.full(count, len(others) / max(count, 1))])
    return weight, np.concatenate([hits, some])
