"""What the generative models share: they guess a picture's words, and search the guess as text.

``f_t(p) = P(t|p)·idf_t / ‖P(·|p)·idf‖``: the caption a model expects, weighed as a written one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, vstack

from visterm.errors import BadInput
from visterm.matrices import unit_rows, with_values
from visterm.models.base import Captions, Model, Validation
from visterm.models.inputs import Vectors, is_sparse, picture_vectors, word_matrix
from visterm.models.selection import candidates, held_relevance
from visterm.progress import Progress, silent
from visterm.text import Relevance
from visterm.text.weighting import inverse_frequency

Choice = dict[str, Any]
"""A value for each parameter that validation pictures can decide."""


@dataclass(frozen=True)
class Annotated:
    """Pictures as visterm counts (n × V), and their captions (n × T)."""

    counts: csr_array
    captions: csr_array

    @property
    def idf(self) -> NDArray[np.float64]:
        return inverse_frequency(self.captions)

    def damped(self, power: float) -> Annotated:
        return Annotated(damped(self.counts, power), self.captions)

    def __add__(self, other: Annotated) -> Annotated:
        counts = csr_array(vstack([self.counts, other.counts], format="csr"))
        return Annotated(counts, csr_array(vstack([self.captions, other.captions], format="csr")))


class Annotator(Model):
    """A model of P(t|p) that learns from visterm counts and captions.

    A subclass offers its choices, picks the best on validation pictures, and learns with one.
    """

    takes: ClassVar[str] = "counts"

    power: float | Sequence[float]
    retrain: bool
    max_words: int | None
    power_: float
    idf_: NDArray[np.float64]
    validation_: float

    def _offered(self, validation: Validation | None) -> dict[str, list[Any]]:
        """The checked values of each parameter that validation pictures can decide."""
        raise NotImplementedError

    def _choose(
        self,
        told: Annotated,
        held: csr_array,
        relevance: Relevance,
        offered: dict[str, list[Any]],
        progress: Progress,
    ) -> tuple[float, Choice, dict[str, Any]]:
        """The best AvgP on held pictures, the choice that reached it, and what was learnt so."""
        raise NotImplementedError

    def _learn(self, told: Annotated, choice: Choice, progress: Progress) -> dict[str, Any]:
        """The fitted arrays, by the names of their attributes."""
        raise NotImplementedError

    def _probabilities(self, counts: csr_array) -> NDArray[np.float64]:
        raise NotImplementedError

    def fit(
        self,
        X: ArrayLike | csr_array,
        Y: Captions,
        *,
        validation: Validation | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from visterm counts (pictures × visterms) and captions (pictures × words).

        With ``validation = (X, Y)`` of other pictures, parameters given as several values become
        those with the best AvgP on them.
        """
        offered = self._offered(validation)
        powers = candidates(
            "power", self.power, validation, lambda p: 0 < p <= 1, "above 0 and at most 1"
        )
        told = annotated(X, Y)
        report = progress or silent
        best, power = float("nan"), powers[0]
        choice = {name: values[0] for name, values in offered.items()}
        learnt: dict[str, Any] = {}
        if validation is not None:
            held = visterm_counts(validation[0], width=told.counts.shape[1])
            relevance = held_relevance(validation[1], held.shape[0], told.idf, self.max_words)
            if self.retrain and isinstance(validation[1], Relevance):
                raise BadInput("retrain needs captions of the validation pictures, not Relevance")
            best = -1.0
            for tried in powers:
                seen = damped(held, tried)
                found = self._choose(told.damped(tried), seen, relevance, offered, report)
                if found[0] > best:
                    power, (best, choice, learnt) = tried, found
            if self.retrain:
                words = word_matrix(validation[1], held.shape[0], words=told.captions.shape[1])
                told = told + Annotated(held, words)
        if validation is None or self.retrain:
            learnt = self._learn(told.damped(power), choice, report)
        self.idf_, self.n_features_in_, self.validation_ = told.idf, told.counts.shape[1], best
        self.power_ = power
        for name, value in (learnt | {f"{name}_": value for name, value in choice.items()}).items():
            setattr(self, name, value)
        return self

    def word_probabilities(self, X: ArrayLike | csr_array) -> NDArray[np.float64]:
        """P(t|p) of shape (n, T): what each picture's caption would say; rows sum to one."""
        self._check_fitted()
        counts = visterm_counts(X, width=self.n_features_in_)
        return self._probabilities(damped(counts, self.power_))

    def _map(self, vectors: Vectors) -> NDArray[np.float32]:
        counts = damped(visterm_counts(vectors), self.power_)
        return as_text(self._probabilities(counts), self.idf_)


def as_text(probabilities: NDArray[np.float64], idf: NDArray[np.float64]) -> NDArray[np.float32]:
    """``P(t|p)·idf_t`` with unit length; a row without weight stays zero.

    >>> as_text(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([0.0, 2.0])).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    return unit_rows(probabilities * idf).astype(np.float32)


def visterm_counts(X: ArrayLike | csr_array, *, width: int | None = None) -> csr_array:
    """Check visterm counts: any picture vectors without a negative number, as compressed rows.

    >>> visterm_counts([[0, 2], [1, 0]]).nnz
    2
    """
    vectors = picture_vectors(X, width=width)
    counts = vectors if is_sparse(vectors) else csr_array(vectors)
    if (counts.data < 0).any():
        raise BadInput(
            "visterm counts hold negative numbers; this model counts visterms, so give it the "
            "counts of a codebook, not vectors"
        )
    if (counts.data == 0).any():
        counts = counts.copy()
        counts.eliminate_zeros()
    return counts


def damped(counts: csr_array, power: float) -> csr_array:
    """Counts raised to a power of at most 1, so that large plain areas do not speak for all.

    >>> damped(csr_array(np.array([[0.0, 4.0]])), 0.5).toarray().tolist()
    [[0.0, 2.0]]
    """
    if power == 1:
        return counts
    return with_values(counts, counts.data**power)


def caption_words(Y: Captions, pictures: int) -> csr_array:
    """Check captions to learn from: words, not `Relevance`, and not the same everywhere."""
    if isinstance(Y, Relevance):
        raise BadInput(
            "this model learns from captions (pictures × words), not from Relevance; "
            "Vocabulary.counts makes them, and Pamir learns from Relevance"
        )
    captions = word_matrix(Y, pictures)
    holding = np.bincount(captions.indices, minlength=captions.shape[1])
    if ((holding == 0) | (holding == pictures)).all():
        raise BadInput(
            "no word tells pictures apart: each is in every caption or in none; "
            "give captions that differ"
        )
    return captions


def annotated(X: ArrayLike | csr_array, Y: Captions) -> Annotated:
    """Check pictures and captions to learn from."""
    counts = visterm_counts(X)
    captions = caption_words(Y, counts.shape[0])
    if counts.nnz == 0:
        raise BadInput("no picture holds a visterm: there is nothing to learn from")
    return Annotated(counts, captions)


def shares(matrix: csr_array) -> csr_array:
    """Rows divided by their sums, so that each is a distribution; an empty row stays empty.

    >>> shares(csr_array(np.array([[1.0, 3.0], [0.0, 0.0]]))).toarray().tolist()
    [[0.25, 0.75], [0.0, 0.0]]
    """
    divided = csr_array(matrix, dtype=np.float64, copy=True)
    total = np.asarray(divided.sum(axis=1)).ravel()
    divided.data /= np.repeat(total, np.diff(divided.indptr))
    return divided


def frequencies(matrix: csr_array) -> NDArray[np.float64]:
    """Each column's part of the whole.

    >>> frequencies(csr_array(np.array([[1, 3], [0, 4]]))).tolist()
    [0.125, 0.875]
    """
    total = np.asarray(matrix.sum(axis=0), dtype=np.float64).ravel()
    return total / total.sum()
