"""How links are estimated: logistic regression on held-out pictures, drawn to a prior.

One regression for all words: the intercept and the slope of a word's standardised values depend on
how rare it is and how well it is separated, and stay near those of two Gaussians, or near what is
known from elsewhere, where few pictures are held out. Where many are, each word that they show then
has corrections of its own, with a zero-mean Gaussian prior: they say more of it than a description
does.

Words that no held-out picture has count as well, with nothing but misses: so a word of two captions
is not sure of anything, and probabilities of all words add up to how many a caption holds. Captions
leave out what they do not mention; odds are divided by how much that is (`mention_rate`).

Clicks are the only judgements of what a query's probabilities are truly worth (`judged_shift`).

Whoever captions chooses pictures, so a word may be rarer among the others (`rarer`): its base rate
there is estimated from their scores by expectation maximisation (M. Saerens, P. Latinne and C.
Decaestecker, Neural Computation 2002).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.calibration.calibration import Calibration, Floats, Link, logistic, word_statistics
from visterm.text.tokens import STOP_WORDS, tokens

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_RIDGE = 1.0
_SEPARATION_PRIOR = 5.0
"""A word's own separation counts for as much as the common one once so many pictures show it."""
_PAIRS = 400_000
ENOUGH = 100
"""Held-out pictures from which on they replace what is known from elsewhere, and correct words one
by one."""
_DEVIATIONS = 0.5, 0.25
"""Of a word's own corrections of its intercept and slope."""
_WORDS_TOGETHER = 256
_CHOSEN = 3.0
"""So many pictures, if they show a word clearly, are worth its base rate among captioned ones."""
_ROUNDS = 20
_MIN_SLOPE = 0.05
"""A higher score is never less likely to answer."""
_WORDS_OF_A_PICTURE = 16.4
"""Words of a caption, without such as "the", that would leave nothing out: Flickr8k's first ones
hold 5.9, and mention 0.36."""
_SENTENCE = 0.2
"""The part of a sentence that are words such as "the", "of" or "with", at least."""
_CAPTION_SAMPLE = 2000
_SHIFT_DEVIATION = 0.5
"""Of the shift, before any click. With 0.5, judgements of a query's first pictures improved its
other probabilities most, and answers that somebody had chosen, as many yes as no, did little
harm."""
_WRONG_CLICKS = 0.2
_SHIFTS = np.linspace(-2.0, 2.0, 81)


def calibrate(
    rows: NDArray[np.floating],
    captions: csr_array,
    frequency: ArrayLike,
    *,
    mention_rate: float = 1.0,
    known: Calibration | None = None,
    statistics: tuple[Floats, Floats] | None = None,
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
    known : Calibration, optional
        What is known of the words from elsewhere, for values that are distributed as the
        collection's: fewer than `ENOUGH` held-out pictures adapt it, and more replace it.
    statistics : pair of arrays of shape (T,), optional
        Mean and standard deviation of the same model's values over pictures at large; those of the
        held-out pictures by default, which must be many then.
    """
    means, deviations = word_statistics(rows) if statistics is None else statistics
    often = np.asarray(frequency, float)
    words = np.flatnonzero(often > 0)
    log_frequency = np.log(np.clip(often, 1e-6, 1.0))
    held = captions[:, words].toarray() > 0
    z = (rows[:, words] - means[words]) / deviations[words]
    apart = _separation(z, held)
    about = _description(log_frequency[words], apart)
    # Intercepts and slopes of the log odds of two Gaussians of one deviation.
    prior = np.stack([log_frequency[words] - 0.5 * np.square(apart), apart])
    if known is not None:
        share = max(0.0, 1 - len(rows) / ENOUGH)
        elsewhere = _standardised(known, words) + np.array([[np.log(mention_rate)], [0.0]])
        prior = share * elsewhere + (1 - share) * prior
    learnt = _logistic_regression(about, prior, z, held, np.random.default_rng(seed))
    if len(rows) >= ENOUGH:
        learnt = _corrected(learnt, z, held)
    intercepts, slopes = np.zeros(len(means)), np.ones(len(means))
    slopes[words] = np.maximum(learnt[1], _MIN_SLOPE) / deviations[words]
    intercepts[words] = learnt[0] - np.log(mention_rate) - slopes[words] * means[words]
    return Calibration(Link(intercepts, slopes), means, deviations, log_frequency, True)


def rarer(
    known: Calibration,
    words: NDArray[np.int64],
    rows: NDArray[np.floating],
    others: NDArray[np.floating],
) -> Calibration:
    """The same, with some words as rare as they seem to be among pictures without captions.

    ``rows`` are left-out scores of captioned pictures, ``others`` scores of pictures without
    captions. Scores never make a word more frequent than captions do: a collection that the model
    knows less well has more high scores, not more answers.

    >>> link = Link(np.full(1, -1.0), np.full(1, 4.0))
    >>> known = Calibration(link, np.zeros(1), np.ones(1), np.log([0.3]), True)
    >>> captioned, others = np.array([[1.0], [-1.0], [1.0]]), np.full((50, 1), -1.0)
    >>> rarer(known, np.array([0]), captioned, others).link.intercepts.round(1).tolist()
    [-4.7]
    """
    intercepts = known.link.intercepts.copy()
    for first in range(0, len(words), _WORDS_TOGETHER):
        batch = words[first : first + _WORDS_TOGETHER]
        seen = logistic(known.link.odds(batch, rows[:, batch]))
        usual = seen.mean(axis=0)
        clearness = np.maximum(seen.var(axis=0) / (usual * (1 - usual)), 1e-3)
        odds = known.link.odds(batch, others[:, batch])
        shift, before = np.zeros(len(batch)), _CHOSEN / clearness
        for _ in range(_ROUNDS):
            total = logistic(odds + shift).sum(axis=0) + before * usual
            rate = total / (len(others) + before)
            shift = np.log(rate / (1 - rate)) - np.log(usual / (1 - usual))
        intercepts[batch] += np.minimum(shift, 0.0)
    return replace(known, link=Link(intercepts, known.link.slopes))


def _description(log_frequency: Floats, separation: Floats) -> Floats:
    """One, how rare a word is, how well separated, and that squared."""
    ones = np.ones(len(separation))
    return np.stack([ones, log_frequency, separation, np.square(separation)], axis=1)


def _standardised(known: Calibration, words: NDArray[np.int64]) -> Floats:
    """Intercepts and slopes of some words for standardised values."""
    slopes = known.link.slopes[words]
    intercepts = known.link.intercepts[words] + slopes * known.means[words]
    return np.stack([intercepts, slopes * known.deviations[words]])


def _separation(z: NDArray[np.floating], held: NDArray[np.bool_]) -> Floats:
    """How far above the mean the pictures of each word lie, drawn to what is usual where few."""
    counts, sums = held.sum(axis=0), np.einsum("pw,pw->w", held, z)
    usual = sums.sum() / max(counts.sum(), 1.0)
    return np.asarray((sums + _SEPARATION_PRIOR * usual) / (counts + _SEPARATION_PRIOR), np.float64)


def _logistic_regression(
    about: Floats,
    prior: Floats,
    z: NDArray[np.floating],
    held: NDArray[np.bool_],
    random: np.random.Generator,
) -> Floats:
    """Intercepts and slopes of words: ``prior`` ones, and what depends on the words' description.

    By Newton's method, with a ridge that draws to the prior.
    """
    weight, pairs = _sampled_pairs(held, random)
    words, height = pairs % z.shape[1], z.ravel()[pairs]
    features = np.concatenate([about[words], about[words] * height[:, None]], axis=1)
    size = np.abs(features).max(axis=0)
    size = np.where(size > 0, size, 1.0)
    features = features / size
    target = held.ravel()[pairs].astype(float)
    before = prior[0][words] + prior[1][words] * height
    weights = np.zeros(features.shape[1])
    for _ in range(30):
        probability = logistic(before + features @ weights)
        gradient = features.T @ (weight * (target - probability)) - _RIDGE * weights
        hessian = (features * (weight * probability * (1 - probability))[:, None]).T @ features
        step = np.linalg.solve(hessian + _RIDGE * np.eye(len(weights)), gradient)
        weights = weights + step * min(1.0, 5.0 / np.abs(step).max())
        if np.abs(step).max() < 1e-8:
            break
    return prior + (about @ (weights / size).reshape(2, -1).T).T


def _corrected(both: Floats, z: NDArray[np.floating], held: NDArray[np.bool_]) -> Floats:
    """Intercepts and slopes with corrections of their own for words that some picture shows."""
    shown = np.flatnonzero(held.any(axis=0))
    for first in range(0, len(shown), _WORDS_TOGETHER):
        batch = shown[first : first + _WORDS_TOGETHER]
        both[:, batch] += _corrections(both[:, batch], z[:, batch], held[:, batch])
    return both


def _corrections(both: Floats, z: NDArray[np.floating], held: NDArray[np.bool_]) -> Floats:
    """What to add to intercepts and slopes of some words, by Newton's method."""
    more, precision = np.zeros_like(both), 1 / np.square(_DEVIATIONS)[:, None]
    for _ in range(10):
        intercepts, slopes = both + more
        probability = logistic(intercepts + slopes * z)
        residual, curve = held - probability, probability * (1 - probability)
        gradient = np.stack([residual.sum(axis=0), (residual * z).sum(axis=0)])
        gradient -= precision * more
        own = np.stack([curve.sum(axis=0), (curve * z**2).sum(axis=0)]) + precision
        mixed = (curve * z).sum(axis=0)
        step = (own[::-1] * gradient - mixed * gradient[::-1]) / (own[0] * own[1] - mixed**2)
        more += np.clip(step, -1, 1)
    return more


def _sampled_pairs(
    held: NDArray[np.bool_], random: np.random.Generator
) -> tuple[Floats, NDArray[np.int64]]:
    """Weights and numbers of pairs of picture and word: all mentions, some of the others."""
    others = np.flatnonzero(~held)
    count = min(len(others), _PAIRS)
    sample = random.choice(others, count, replace=False) if count < len(others) else others
    hits = np.flatnonzero(held)
    weight = np.concatenate([np.ones(len(hits)), np.full(count, len(others) / max(count, 1))])
    return weight, np.concatenate([hits, sample])


def judged_shift(odds: ArrayLike, relevant: ArrayLike, weights: ArrayLike = 1.0) -> float:
    """What to add to the log odds of a query's pictures, after some of them were judged.

    Were the probabilities of judged pictures too high or too low, those of the query's others are
    so as well. The shift has a zero-mean Gaussian prior, one click in five is taken to be wrong,
    and its mean is what is returned: a few clicks shift little, many that agree shift more, none
    beyond 2, and the order of pictures stays as it is. ``weights`` are how much each judgement
    counts.

    >>> judged_shift([], [])
    0.0
    >>> round(judged_shift([2.0, 1.5, 1.0], [False, False, False]), 2)
    -0.22
    >>> judged_shift([2.0] * 9, [True] * 9) > judged_shift([2.0], [True]) > 0
    True
    """
    known, is_relevant = np.asarray(odds, np.float64), np.asarray(relevant, bool)
    if not known.size:
        return 0.0
    likely = logistic(_SHIFTS[:, None] + known)
    right = np.where(is_relevant, likely, 1 - likely)
    expected = _WRONG_CLICKS + (1 - 2 * _WRONG_CLICKS) * right
    logs = (np.asarray(weights) * np.log(expected)).sum(axis=1)
    logs -= 0.5 * np.square(_SHIFTS / _SHIFT_DEVIATION)
    density = np.exp(logs - logs.max())
    return float(density @ _SHIFTS / density.sum())


def mention_rate(captions: Sequence[str]) -> float:
    """The odds that a caption mentions a word, as a part of the odds that a person would accept it.

    A sentence leaves most things out: of the words that a model learnt from Flickr8k knows, one
    caption of a picture holds 5.7 and its five together 15.8 in the mean, and on held-out pictures
    the odds that one mentions a word were about that part, 0.36, of the odds that one of five does.
    Sentences of other lengths are taken to mention in proportion. Lists of keywords are taken for
    complete: nothing is known of what they leave out.

    >>> round(mention_rate(["a dog runs on the beach", "the boy is with a dog in the snow"]), 2)
    0.18
    >>> mention_rate(["dog beach", "boy dog snow"])
    1.0
    """
    texts = [tokens(text) for text in captions[:: max(1, len(captions) // _CAPTION_SAMPLE)]]
    every = [word for text in texts for word in text]
    if sum(word in STOP_WORDS for word in every) < _SENTENCE * max(len(every), 1):
        return 1.0
    held = sum(len(set(text) - STOP_WORDS) for text in texts) / len(texts)
    return min(1.0, max(held, 1.0) / _WORDS_OF_A_PICTURE)
