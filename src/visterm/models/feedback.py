"""Relevance feedback: clicks, one person's yes and no, as Bayesian logistic regression.

A word's log odds of fitting a picture x are what the model says, plus ``d_t · (x − m)`` with m the
mean of all pictures. Before any click, ``d_t`` is Gaussian around nothing, with covariance
proportional to a metric M (`Metric`): five clicks say little in a thousand dimensions, and what
pictures differ in most, day and night or plain and busy, is mostly not what was meant. A yes says
that every word of a query fits, ``π = Π_t P_t``, a no that they do not all. All clicks on a word
are fitted together, by Newton's steps from nothing; the directions are sums of the clicked
pictures' own vectors, so the products between these are all there is to compute, and
any model can learn so: it is asked for log odds only.

People slip, and captions that a model learnt from say something too. So each click counts by its
*trust*: the probability that it is right, where one click in `1/ERROR` is wrong, given what the
model and all other clicks say about its picture, but not itself. One no against a picture that is
surely an answer counts little; a second one from a picture like it makes both count.

Trust takes the picture's log odds without its own click from the Gaussian that the fit ends in:
C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine Learning, 2006, sections 3.4
(Laplace's approximation) and 3.6 (cavities).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

VARIANCE = 10.0
"""Of the log odds of a clicked picture, before any click, around what the model says."""
ERROR = 0.2
"""The fraction of clicks that are taken to be wrong, before anything is known of them."""
LATEST = 256
"""Clicks that are fitted together."""
_STEPS = 5
RANK = 256
"""Directions of which a metric makes less."""
_SAMPLE = 1000
"""Pictures that a metric is learnt from."""
MOST_HARM = 0.02
"""AvgP that the clicks on a word may cost captioned pictures that nobody learnt from."""
_HALVINGS = 4

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Metric:
    """``M = I − Σ_k u_k u_kᵀ e_k / (e_k + 1)``: whitening, softly.

    u_k are the directions in which they vary most, e_k how much more than the mean over all
    directions. ``rows`` holds ``u_k √(e_k / (e_k + 1))``; none of them make M the identity.
    """

    rows: NDArray[np.floating]

    @classmethod
    def of(cls, vectors: NDArray[np.floating], rank: int = RANK) -> Metric:
        """Learn it from the vectors of some pictures.

        >>> random = np.random.default_rng(0)
        >>> vectors = random.standard_normal((1000, 3)) * [5.0, 1.0, 1.0]
        >>> Metric.of(vectors).applied(np.eye(3)).diagonal().round(1).tolist()
        [0.3, 0.9, 0.9]
        """
        some = np.asarray(vectors[:_SAMPLE], np.float64)
        centred = some - some.mean(axis=0)
        # Products between pictures have the same spreads as those between numbers.
        spread, mixtures = np.linalg.eigh(centred @ centred.T / len(centred))
        mean = max(spread.sum(), 0.0) / centred.shape[1]
        kept = np.flatnonzero(spread > 1e-6 * mean)[::-1][:rank]
        directions = mixtures.T[kept] @ centred / np.sqrt(len(centred) * spread[kept])[:, None]
        most = spread[kept] / (mean or 1.0)
        return cls((directions * np.sqrt(most / (most + 1))[:, None]).astype(np.float32))

    @classmethod
    def plain(cls, width: int) -> Metric:
        """The usual lengths and products."""
        return cls(np.zeros((0, width), np.float32))

    def applied(self, vectors: NDArray[np.floating]) -> NDArray[np.float64]:
        """``M x`` for each row x."""
        known = np.asarray(vectors, np.float64)
        return known - (known @ self.rows.T) @ self.rows


@dataclass(frozen=True, eq=False)
class ClickSet:
    """Clicks that are fitted together, m of them, on queries of some of n words.

    Attributes
    ----------
    relevant : array of bool, shape (m,)
        Yes or no.
    weights : array of shape (m,)
        How much each counts, besides its trust.
    errors : array of shape (m,)
        How likely each is wrong, before anything is known of it.
    shares : array of shape (m, n)
        How much each word counts in a click's query: at most 1, 0 if it is not in it, negative
        if it is unwanted.
    prior : array of shape (m, n)
        The words' log odds for the clicked pictures, without any click.
    rest : array of shape (m,)
        Log-probabilities that a query's other words fit, which stay as they are.
    products : array of shape (m, m)
        Inner products of the clicked pictures in the metric; any picture with itself has about 1.

    Examples
    --------
    A yes to a picture of which nothing was known:

    >>> def one_click(prior: float) -> ClickSet:
    ...     odds, one = np.full((1, 1), prior), np.ones(1)
    ...     return ClickSet(one > 0, one, one / 5, odds * 0 + 1, odds, one * 0, odds * 0 + 1)
    >>> moved = one_click(0.0).fitted()[0, 0] * VARIANCE
    >>> float(_logistic(moved).round(1))
    0.8

    and to one that surely does not fit: a slip, most likely.

    >>> float(_logistic(-9.0 + one_click(-9.0).fitted()[0, 0] * VARIANCE).round(2))
    0.0
    """

    relevant: NDArray[np.bool_]
    weights: Floats
    errors: Floats
    shares: Floats
    prior: Floats
    rest: Floats
    products: Floats

    def fitted(self) -> Floats:
        """Coefficients (m, n): word t's log odds for x move by `VARIANCE` · Σ_j c_jt ⟨x_j, x⟩."""
        odds, found = self.prior.copy(), np.zeros_like(self.prior)
        used = [np.flatnonzero(column) for column in self.shares.T]
        covariances = [VARIANCE * self.products[np.ix_(some, some)] for some in used]
        trust: list[Floats] = [(1 - self.errors[some]) * self.weights[some] for some in used]
        for _ in range(_STEPS):
            for word, some in enumerate(used):
                covariance = covariances[word]
                slopes, curvatures = self._slopes(odds, word, some)
                counted = trust[word] * curvatures
                cavity = _cavities(odds[some, word], trust[word] * slopes, counted, covariance)
                trust[word] = self.weights[some] * self._trust(odds, word, some, cavity)
                counted = trust[word] * curvatures
                wanted = trust[word] * slopes - found[some, word]
                system = np.eye(len(some)) + counted[:, None] * covariance
                found[some, word] += np.linalg.solve(system, wanted)
                odds[some, word] = self.prior[some, word] + covariance @ found[some, word]
        return found

    def _logs(self, odds: Floats, some: NDArray[np.int64]) -> Floats:
        """Log-probabilities that all words of these clicks' queries fit."""
        shares = self.shares[some]
        fit = np.abs(shares) * -np.logaddexp(0, -np.sign(shares) * odds[some])
        return np.minimum(self.rest[some] + fit.sum(axis=1), -1e-9)

    def _slopes(self, odds: Floats, word: int, some: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """First and, negative and in expectation, second derivatives of the log-likelihoods."""
        share = self.shares[some, word]
        fit = np.exp(self._logs(odds, some))
        inner = share * _logistic(-np.sign(share) * odds[some, word]) / (1 - fit)
        return (self.relevant[some] - fit) * inner, np.maximum(fit * (1 - fit) * inner**2, 1e-6)

    def _trust(self, odds: Floats, word: int, some: NDArray[np.int64], cavity: Floats) -> Floats:
        """The probability that each click is right, where others make its log odds ``cavity``."""
        others = odds.copy()
        others[some, word] = cavity
        fit = np.exp(self._logs(others, some))
        said = np.where(self.relevant[some], fit, 1 - fit)
        right, wrong = (1 - self.errors[some]) * said, self.errors[some] * (1 - said)
        return right / np.maximum(right + wrong, 1e-300)


def _logistic(odds: Floats) -> Floats:
    return np.exp(-np.logaddexp(0, -odds))


def _cavities(odds: Floats, slopes: Floats, curvatures: Floats, covariance: Floats) -> Floats:
    """Log odds of pictures as they would be without their own clicks.

    They are brought nearer to nothing by how uncertain they are, so that their logistic is the mean
    probability (D. MacKay's approximation).
    """
    precise = np.diag(1 / curvatures) + covariance
    gained = np.einsum("ij,ji->i", covariance, np.linalg.solve(precise, covariance))
    left = np.maximum(covariance.diagonal() - gained, 1e-6)
    variance = 1 / np.maximum(1 / left - curvatures, 1e-6)
    return (odds - variance * slopes) / np.sqrt(1 + np.pi * variance / 8)


def bounded(harm: Callable[[float], float], most: float = MOST_HARM) -> float:
    """The part of a step, 1, ½, ¼ … or 0, that costs no more than ``most``.

    ``harm`` says what a part would cost.

    >>> bounded(lambda part: part * 0.03, most=0.02)
    0.5
    >>> bounded(lambda part: 1.0)
    0.0
    """
    part = 1.0
    for _ in range(_HALVINGS):
        if harm(part) <= most:
            return part
        part /= 2
    return 0.0
