"""Ridge regression of words on pictures, around what is known of them, for all words at once.

With z a picture's vector less the mean, in units of the mean distance from it, and y a word's
captions in standard deviations, ``w_t = ρ u_t + (ZᵀZ + αI)⁻¹ Zᵀ (y_t − ρ Z u_t)``, where u_t are
the weights that the word starts from, scaled so that ``Z u_t`` has deviation 1: few examples leave
a word near them, many do not. One eigendecomposition serves all words and every α, and tells what
each picture would have scored had it not been learnt from.

Two things help words of few examples. Pictures without captions say how pictures vary: they count
in ZᵀZ, with what is expected of them as their y, so that they teach no word. And words of like
meaning lend each other what v_t they learnt beyond their start, ``v_t + λ_t Σ_s (m_t · m_s) v_s``
with m_t a unit vector of the word and λ_t smaller the more captions hold it.

A. Hoerl and R. Kennard, Technometrics 1970; the left-out scores are D. Allen's (PRESS, 1974).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.models import rules
from visterm.models.base import Model
from visterm.models.inputs import Vectors, dense
from visterm.models.rules import AUTO, Rule, Rules, Tuned
from visterm.models.selection import Choice, Task, fit
from visterm.models.supervision import Captions, Supervision, Validation
from visterm.progress import Progress

ALPHAS: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0, 100.0)
PRIORS: tuple[float, ...] = (0.1, 0.2, 0.4)
_USUAL: tuple[float, ...] = (5.0, 0.2)
"""α and ρ before there are `_ENOUGH` pictures to choose by."""
_ENOUGH = 100
_LEFT_OUT = 2000
"""Pictures of which the scores without themselves are kept."""
_JUDGES = 500
"""Words by which α and ρ are chosen."""
_OTHERS, _MOST_OTHERS = 0.3, 50.0
"""What pictures without captions weigh together, as a part of those with captions, and at most in
captioned pictures: many captions say themselves how pictures vary."""
_LENT, _OWN = 0.25, 5.0
"""λ of a word without captions, and the captions that halve it: more helps words of 30 pictures
further, and costs queries of several words after thousands of captions."""
_ALIKE = 1e-7
"""Directions in which pictures vary less, as a part of the greatest, are rounding."""

Floats = NDArray[np.float64]


def _or_auto(rule: Rule) -> Rule:
    """The same rule, which lets "auto" pass."""

    def allowed(value: Any) -> bool:
        return value == AUTO if isinstance(value, str) else rule.allowed(value)

    return Rule(allowed, f"{rule.text}, or 'auto'")


@dataclass(eq=False, repr=False, kw_only=True)
class Ridge(Model):
    """Ridge regression around the weights of a model to start from, zero by default.

    Parameters
    ----------
    alpha : float, sequence of float or "auto"
        α: how much less the pictures are trusted. "auto" takes what predicts left-out pictures
        best; validation pictures choose among several.
    prior : float, sequence of float or "auto"
        ρ: the correlation with a word's captions that is expected of the weights it starts from.
    retrain : bool
        Learn again from training and validation pictures, with what was chosen.
    max_words : int, optional
        Largest query made from the captions of validation pictures.

    Attributes
    ----------
    weights_ : array of shape (T, d)
    alpha_, prior_ : what was chosen.
    left_out_ : array of int
        At most 2,000 of the pictures, and in ``left_out_rows_`` their rows of the text space as
        they would be had each not been learnt from. Neither is saved.

    Examples
    --------
    >>> pictures = np.array([[1.0, 0.0], [0.8, 0.2], [0.0, 1.0], [0.1, 0.9]])
    >>> captions = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])  # sun, sun, sea, sea
    >>> model = Ridge().fit(pictures, captions)
    >>> model.transform([[1.0, 0.0]]).argmax(axis=1)
    array([0])
    """

    name = "ridge"
    captions_only = True
    arrays = ("weights_", "idf_")
    linear_array = "weights_"
    supports_warm_start = True
    learns_from_others = True
    decides: ClassVar[Rules] = {
        "alpha": _or_auto(rules.POSITIVE),
        "prior": _or_auto(rules.NOT_NEGATIVE),
    }

    _others: ArrayLike | csr_array | None = field(init=False, default=None)
    _meanings: ArrayLike | None = field(init=False, default=None)

    alpha: Tuned[float] = AUTO
    prior: Tuned[float] = AUTO

    def fit(
        self,
        X: ArrayLike | csr_array,
        Y: Captions,
        *,
        validation: Validation | None = None,
        progress: Progress | None = None,
        initial: Model | None = None,
        others: ArrayLike | csr_array | None = None,
        meanings: ArrayLike | None = None,
    ) -> Self:
        """Learn from captions (pictures × words).

        ``initial`` is a fitted linear model over the same words, where they start from; words that
        no caption holds stay as they are there. ``others`` are vectors of pictures without
        captions, ``meanings`` unit vectors of words, or zeros where a word has none.
        """
        self._others, self._meanings = others, meanings
        fit(self, X, Y, validation, progress, initial)
        self._others = self._meanings = None
        return self

    def left_out(self) -> tuple[NDArray[np.int64], NDArray[np.float32]] | None:
        if not hasattr(self, "left_out_rows_"):
            return None  # it was loaded
        return self.left_out_, self.left_out_rows_

    def _supervise(self, vectors: Vectors, Y: Captions, initial: Model | None) -> Supervision:
        width = None if initial is None else len(initial.idf_)
        captions = self._texts(Y, vectors.shape[0], width)
        return Supervision(vectors, captions, None, None if initial is None else initial.idf_)

    def _prepare(self, task: Task) -> tuple[Supervision, NDArray[np.float32] | None]:
        if task.initial is None:
            return task.training, None
        start, width = task.initial.linear_weights(), task.training.vectors.shape[1]
        if start is None or start.shape[1] != width:
            raise BadInput(
                f"the model to start from must be linear in vectors of {width} numbers; "
                "use the same extractor for both"
            )
        return task.training, start

    def _learn(self, prepared: Any, choice: Choice, progress: Progress) -> dict[str, Any]:
        training, start = prepared
        others = None if self._others is None else dense(self._vectors(self._others))
        captions = csr_array(training.captions > 0)
        problem = _Problem.of(dense(training.vectors), captions, start, others)
        alpha, prior = _chosen(problem, choice)
        learnt = problem.solution(alpha, prior) @ problem.directions.T
        targets = problem.targets()
        left_out = targets - problem.left_out_errors(alpha, prior, targets)
        if self._meanings is not None:
            meanings = np.asarray(self._meanings, np.float64) * (problem.counts > 0)[:, None]
            beyond = left_out - prior * problem.start_scores()
            left_out += _lent(beyond.T, meanings, problem.counts).T
            learnt += _lent(learnt, meanings, problem.counts)
        weights = (learnt + prior * problem.start) / problem.scale
        rows = (left_out + weights @ problem.mean).astype(np.float32)
        weights = weights.astype(np.float32)
        if start is not None:
            absent = problem.counts == 0
            weights[absent] = start[absent]
            rows[:, absent] = dense(training.vectors)[problem.sample] @ start[absent].T
        return {
            "weights_": np.ascontiguousarray(weights),
            "alpha_": alpha,
            "prior_": prior,
            "left_out_": problem.sample,
            "left_out_rows_": rows,
        }

    def _map(self, vectors: Vectors) -> NDArray[np.float32]:
        return np.asarray(vectors @ self.weights_.T, dtype=np.float32)


class _Problem(NamedTuple):
    """Pictures in the directions in which they vary, and captions in standard deviations."""

    mean: Floats
    scale: float
    directions: Floats
    """d × k"""
    variances: Floats
    """Sums of squares in these directions, of pictures with captions and others."""
    coordinates: Floats
    """n × k"""
    captions: csr_array
    counts: Floats
    sums: Floats
    """Coordinates of a word's pictures, added up, less the mean of all; T × k, in deviations."""
    start: Floats
    """Where words start from, of deviation 1; T × d."""
    projected: Floats
    """The same in the directions; T × k."""
    start_sums: Floats
    """As `sums`, of the scores where words start from."""
    sample: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        vectors: NDArray[np.float32],
        captions: csr_array,
        start: NDArray[np.float32] | None,
        others: NDArray[np.float32] | None,
    ) -> _Problem:
        count, words = captions.shape
        every = vectors if others is None else np.concatenate([vectors, others])
        weight = np.ones(len(every))
        weight[count:] = min(_OTHERS * count, _MOST_OTHERS) / max(len(every) - count, 1)
        mean = weight @ every.astype(np.float64) / weight.sum()
        z = every - mean
        scale = float(np.sqrt(weight @ np.einsum("ij,ij->i", z, z) / weight.sum())) or 1.0
        z /= scale
        z[count:] *= np.sqrt(weight[count:, None])
        directions, variances = _directions(z)
        coordinates = z[:count] @ directions
        counts = np.bincount(captions.indices, minlength=words).astype(float)
        frequency = _frequency(counts, count)
        sums = np.asarray(captions.T.astype(np.float64) @ coordinates)
        sums -= frequency[:, None] * coordinates.sum(axis=0)
        sums /= np.sqrt(frequency * (1 - frequency))[:, None]
        known = np.zeros((words, z.shape[1])) if start is None else start.astype(np.float64)
        projected = known @ directions
        start_sums = projected @ (coordinates.T @ coordinates)
        deviations = np.sqrt(np.einsum("tk,tk->t", projected, start_sums) / count)
        units = 1 / np.where(deviations > 0, deviations, np.inf)[:, None]
        return cls(
            mean=mean,
            scale=scale,
            directions=directions,
            variances=variances,
            coordinates=coordinates,
            captions=captions,
            counts=counts,
            sums=sums,
            start=known * units,
            projected=projected * units,
            start_sums=start_sums * units,
            sample=_spread(np.arange(count), _LEFT_OUT),
        )

    def of_words(self, words: NDArray[np.int64]) -> _Problem:
        """The same for some of the words."""
        return self._replace(
            captions=self.captions[:, words],
            counts=self.counts[words],
            sums=self.sums[words],
            start=self.start[words],
            projected=self.projected[words],
            start_sums=self.start_sums[words],
        )

    def solution(self, alpha: float, prior: float) -> Floats:
        """What words learn beyond where they start, in the directions of the pictures; T × k."""
        return (self.sums - prior * self.start_sums) / (self.variances + alpha)

    def targets(self) -> Floats:
        """Captions of the sample in standard deviations."""
        frequency = _frequency(self.counts, len(self.coordinates))
        held = self.captions[self.sample].toarray()
        return (held - frequency) / np.sqrt(frequency * (1 - frequency))

    def start_scores(self) -> Floats:
        """Scores of the sample where words start from."""
        return np.asarray(self.coordinates[self.sample] @ self.projected.T)

    def left_out_errors(self, alpha: float, prior: float, targets: Floats) -> Floats:
        """By how much the scores of the sample miss, each as if it had not been learnt from."""
        rows = self.coordinates[self.sample]
        scores = rows @ self.solution(alpha, prior).T + prior * self.start_scores()
        leverage = np.square(rows) @ (1 / (self.variances + alpha))
        return (targets - scores) / np.maximum(1 - leverage, 1e-6)[:, None]

    def best(self, alphas: Sequence[float], priors: Sequence[float]) -> tuple[float, float]:
        """The α and ρ with the least squared error of left-out pictures, over some words."""
        some = self.of_words(_spread(np.flatnonzero(self.counts), _JUDGES))
        targets = some.targets()

        def error(setting: tuple[float, float]) -> float:
            return float(np.square(some.left_out_errors(*setting, targets)).mean())

        return min(product(alphas, priors), key=error)


def _chosen(problem: _Problem, choice: Choice) -> tuple[float, float]:
    """α and ρ: as given, or by the squared error of left-out pictures."""
    few = len(problem.coordinates) < _ENOUGH
    alphas = ALPHAS if not few else _USUAL[:1]
    priors = PRIORS if not few else _USUAL[1:]
    if choice["alpha"] != AUTO:
        alphas = (float(choice["alpha"]),)
    if choice["prior"] != AUTO:
        priors = (float(choice["prior"]),)
    if not problem.start.any():
        priors = (0.0,)
    if len(alphas) == len(priors) == 1:
        return alphas[0], priors[0]
    return problem.best(alphas, priors)


def _directions(z: Floats) -> tuple[Floats, Floats]:
    """Directions in which pictures vary, d × k, and their sums of squares."""
    if len(z) < z.shape[1]:
        squares, mixtures = np.linalg.eigh(z @ z.T)
        kept = squares > _ALIKE * max(squares[-1], 0.0)
        return z.T @ (mixtures[:, kept] / np.sqrt(squares[kept])), squares[kept]
    squares, directions = np.linalg.eigh(z.T @ z)
    kept = squares > _ALIKE * max(squares[-1], 0.0)
    return directions[:, kept], squares[kept]


def _lent(learnt: Floats, meanings: Floats, counts: Floats) -> Floats:
    """What the other words add to weights, or scores, of words (T × anything)."""
    every = meanings @ (meanings.T @ learnt) - np.square(meanings).sum(axis=1)[:, None] * learnt
    return np.asarray((_LENT * _OWN / (_OWN + counts))[:, None] * every)


def _frequency(counts: Floats, pictures: int) -> Floats:
    """The part of captions that hold each word, never none or all of them."""
    return np.clip(counts / pictures, 0.5 / pictures, 1 - 0.5 / pictures)


def _spread(numbers: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """At most so many of the numbers, at equal distances."""
    places = np.linspace(0, len(numbers) - 1, min(len(numbers), most))
    return numbers[places.astype(np.int64)]
