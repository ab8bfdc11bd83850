"""PAMIR: a linear map into the text space, learnt by ranking.

``f(p) = W p``; a triplet (q, p⁺, p⁻) asks ``q·f(p⁺) ≥ q·f(p⁻) + ε`` and, where it is not so, W
moves by the smallest step that mends it, at most C: ``l = max(0, ε − q·W(p⁺ − p⁻))``,
``τ = min(C, l / ‖q ⊗ (p⁺ − p⁻)‖²)``, ``W += τ q ⊗ (p⁺ − p⁻)``.

D. Grangier and S. Bengio, A discriminative kernel-based approach to rank images from text queries,
IEEE TPAMI 30(8), 2008; D. Grangier, F. Monay and S. Bengio, ECML 2006.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, vstack

from visterm.errors import BadInput
from visterm.evaluation import mean_average_precision
from visterm.models.inputs import (
    Vectors,
    dense,
    is_sparse,
    picture_vectors,
    relevance_for,
    stack,
    word_matrix,
)
from visterm.models.model import Captions, Model, Validation
from visterm.progress import Progress, silent
from visterm.text import Relevance, relevance_from_captions
from visterm.text.weighting import inverse_frequency, weigh_queries

if TYPE_CHECKING:
    from visterm.models._pamir_kernels import Triplets
    from visterm.models._pamir_solvers import Solver

Row: TypeAlias = "ArrayLike | csr_array"


@dataclass(frozen=True)
class _Supervision:
    """Relevance to learn from; the captions it came from, and their word weights, if any."""

    relevance: Relevance
    idf: NDArray[np.float64]
    captions: csr_array | None = None


class Pamir(Model):
    """Passive-aggressive model for image retrieval.

    Parameters
    ----------
    C : float or sequence of float
        Largest step; of several, the one with the best AvgP on validation pictures is taken.
    iterations : int
        How many triplets to look at; with validation pictures, at most so many, and the best
        moment counts.
    margin : {"constant", "caption"}
        ε = ``least_margin``, or ε = max(``least_margin``, q·c⁺ − q·c⁻) with c the captions.
    least_margin : float, optional
        Default 1 for the constant margin and 0.1 for the caption margin.
    max_words : int, optional
        Largest query made from a caption; None makes them all.
    retrain : bool
        Learn again from training and validation pictures, with C and iterations as chosen.
    patience : int
        Give up after so many checks on validation pictures without a better AvgP.
    random_state : int

    Attributes
    ----------
    weights_ : array of shape (T, d)
        W.
    idf_ : array of shape (T,)
        Word weights of the training captions; ones when it learnt from `Relevance`.
    C_, iterations_ : what was chosen.
    validation_ : float
        Best AvgP on validation pictures, NaN without them.

    Examples
    --------
    >>> pictures = np.array([[1.0, 0.0], [0.8, 0.2], [0.0, 1.0], [0.1, 0.9]])
    >>> captions = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])  # sun, sun, sea, sea
    >>> model = Pamir(iterations=1000).fit(pictures, captions)
    >>> model.transform([[1.0, 0.0]]).argmax(axis=1)
    array([0])
    """

    name = "pamir"
    arrays = ("weights_", "idf_")
    facts = ("n_features_in_", "C_", "iterations_", "validation_")

    def __init__(
        self,
        C: float | Sequence[float] = 0.1,
        iterations: int = 3_000_000,
        margin: str = "constant",
        least_margin: float | None = None,
        max_words: int | None = 4,
        retrain: bool = False,
        patience: int = 10,
        random_state: int = 0,
    ) -> None:
        self.C = C
        self.iterations = iterations
        self.margin = margin
        self.least_margin = least_margin
        self.max_words = max_words
        self.retrain = retrain
        self.patience = patience
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike | csr_array,
        Y: Captions,
        *,
        validation: Validation | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from captions (pictures × words) or from `Relevance`.

        With ``validation = (X, Y)`` of other pictures, C and the number of iterations are those
        with the best AvgP on them.
        """
        choices = self._checked_choices(validation)
        vectors = picture_vectors(X)
        told = self._supervision(Y, vectors.shape[0])
        report = progress or silent
        best, c, iterations = float("nan"), choices[0], self.iterations
        if validation is not None:
            held = picture_vectors(validation[0], width=vectors.shape[1])
            held_told = self._supervision(validation[1], held.shape[0], told.idf)
            if self.retrain and (told.captions is None or held_told.captions is None):
                raise BadInput("retrain needs captions: who is relevant across sets is not known")
            found = self._search(vectors, told, held, held_told, choices, report)
            best, c, iterations, weights = found
            if self.retrain:
                vectors, told = self._joined(vectors, told, held, held_told)
        if validation is None or self.retrain:
            start = np.zeros((len(told.idf), vectors.shape[1]), dtype=np.float32)
            weights = self._learn(vectors, told, start, report, c, iterations, self.random_state)
        self.weights_, self.idf_, self.n_features_in_ = weights, told.idf, vectors.shape[1]
        self.validation_, self.C_, self.iterations_ = best, c, iterations
        return self

    def partial_fit(
        self, X: ArrayLike | csr_array, Y: Captions, *, steps: int | None = None
    ) -> Self:
        """Go on learning from the current weights, with these pictures.

        ``steps`` triplets are drawn; by default as many as there are relevant pictures over all
        queries.
        """
        fitted = hasattr(self, "weights_")
        c = self.C_ if fitted else self._checked_choices(None)[0]
        if steps is not None and steps < 0:
            raise BadInput(f"steps must be 0 or more, not {steps}")
        vectors = picture_vectors(X, width=self.n_features_in_ if fitted else None)
        told = self._supervision(Y, vectors.shape[0], self.idf_ if fitted else None)
        steps = told.relevance.pictures.nnz if steps is None else steps
        before = self.iterations_ if fitted else 0
        start = self.weights_ if fitted else np.zeros((len(told.idf), vectors.shape[1]), np.float32)
        # A seed of its own for each call, or every call would draw the same triplets again.
        seed = self.random_state + before
        self.weights_ = self._learn(vectors, told, start, silent, c, steps, seed)
        if not fitted:
            self.n_features_in_, self.idf_ = vectors.shape[1], told.idf
            self.C_, self.validation_ = c, float("nan")
        self.iterations_ = before + steps
        return self

    def update(self, query: Row, better: Row, worse: Row, margin: float = 1.0) -> float:
        """Learn one triplet, as from a click; returns its loss before the step.

        >>> model = Pamir().partial_fit(np.eye(2), np.eye(2), steps=0)
        >>> model.update([1.0, 0.0], [1.0, 0.0], [0.0, 1.0])
        1.0
        """
        self._check_fitted()
        q = _row(query)
        if len(q) != len(self.weights_):
            raise BadInput(f"the model knows {len(self.weights_)} words, the query has {len(q)}")
        difference = _row(better, self.n_features_in_) - _row(worse, self.n_features_in_)
        loss = max(0.0, margin - float(q @ (self.weights_ @ difference)))
        square = float(q @ q) * float(difference @ difference)
        if loss > 0 and square > 0:
            self.weights_ += min(self.C_, loss / square) * np.outer(q, difference)
        return loss

    def _map(self, vectors: Vectors) -> NDArray[np.float32]:
        return np.asarray(vectors @ self.weights_.T, dtype=np.float32)

    def _checked_choices(self, validation: Validation | None) -> list[float]:
        try:
            choices = [float(c) for c in np.atleast_1d(np.asarray(self.C, dtype=float))]
        except (TypeError, ValueError):
            choices = []
        if not choices or any(not c > 0 for c in choices):
            raise BadInput(f"C must be positive, not {self.C}")
        if len(choices) > 1 and validation is None:
            raise BadInput("choosing C among several needs validation pictures")
        if self.margin not in ("constant", "caption"):
            raise BadInput(f"margin is 'constant' or 'caption', not {self.margin!r}")
        if self.least_margin is not None and not 0 < self.least_margin < np.inf:
            raise BadInput(f"least_margin must be positive and finite, not {self.least_margin}")
        if self.iterations < 1:
            raise BadInput(f"iterations must be at least 1, not {self.iterations}")
        if not isinstance(self.random_state, int | np.integer) or self.random_state < 0:
            raise BadInput(f"random_state must be a whole number ≥ 0, not {self.random_state}")
        return choices

    def _supervision(
        self, Y: Captions, pictures: int, idf: NDArray[np.float64] | None = None
    ) -> _Supervision:
        words = None if idf is None else len(idf)
        if isinstance(Y, Relevance):
            told = relevance_for(Y, pictures, words=words)
            return _Supervision(told, np.ones(told.queries.shape[1]) if idf is None else idf)
        captions = word_matrix(Y, pictures, words=words)
        idf = inverse_frequency(captions) if idf is None else idf
        told = relevance_from_captions(captions, idf, max_words=self.max_words)
        return _Supervision(told, idf, captions)

    def _solve(
        self,
        vectors: Vectors,
        told: _Supervision,
        start: NDArray[np.float32],
        seed: int,
        held: Vectors | None = None,
    ) -> tuple[Solver, Triplets]:
        # numba loads here, not when somebody only wants to map pictures with a fitted model.
        from visterm.models._pamir_solvers import choose_solver, triplets_of

        captions, least = None, 1.0
        if self.margin == "caption":
            if told.captions is None:
                raise BadInput("the caption margin needs captions (pictures × words) to learn from")
            captions, least = weigh_queries(told.captions, told.idf), 0.1
        least = least if self.least_margin is None else self.least_margin
        solver = choose_solver(vectors, held)(vectors, held, start, seed)
        return solver, triplets_of(told.relevance, captions, least)

    def _learn(
        self,
        vectors: Vectors,
        told: _Supervision,
        start: NDArray[np.float32],
        progress: Progress,
        c: float,
        steps: int,
        seed: int,
    ) -> NDArray[np.float32]:
        solver, triplets = self._solve(vectors, told, start, seed)
        for done, chunk in _chunks(steps):
            solver.run(triplets, c, chunk)
            progress("training", done, steps)
        return solver.weights(solver.learnt())

    def _search(
        self,
        vectors: Vectors,
        told: _Supervision,
        held: Vectors,
        held_told: _Supervision,
        choices: list[float],
        progress: Progress,
    ) -> tuple[float, float, int, NDArray[np.float32]]:
        """Best AvgP on the held-out pictures, with the C, the iterations and the weights of it."""
        start = np.zeros((told.relevance.queries.shape[1], vectors.shape[1]), dtype=np.float32)
        solver, triplets = self._solve(vectors, told, start, self.random_state, held)
        best = (-1.0, choices[0], 0, solver.learnt())
        total = self.iterations * len(choices)
        for number, c in enumerate(choices):
            solver.restart(self.random_state)
            best_here, since = -1.0, 0
            for done, chunk in _chunks(self.iterations):
                solver.run(triplets, c, chunk)
                quality = _quality(solver.validation_rows(), held_told.relevance)
                progress("training", number * self.iterations + done, total)
                since = 0 if quality > best_here else since + 1
                best_here = max(best_here, quality)
                if quality > best[0]:
                    best = (quality, c, done, solver.learnt())
                if since >= self.patience:
                    break
        progress("training", total, total)
        return *best[:3], solver.weights(best[3])

    def _joined(
        self, vectors: Vectors, told: _Supervision, held: Vectors, held_told: _Supervision
    ) -> tuple[Vectors, _Supervision]:
        both = stack(vectors, held)
        captions = csr_array(vstack([told.captions, held_told.captions], format="csr"))
        return both, self._supervision(captions, both.shape[0])


def _chunks(steps: int, parts: int = 40) -> Iterator[tuple[int, int]]:
    """(done so far, size of this part) of about 40 parts."""
    edges = np.unique(np.linspace(0, steps, parts + 1).astype(int))
    for first, last in pairwise(edges):
        yield int(last), int(last - first)


def _quality(rows: NDArray[np.float32], relevance: Relevance) -> float:
    return mean_average_precision(relevance.queries @ rows.T, relevance.pictures)


def _row(values: Row, width: int | None = None) -> NDArray[np.float32]:
    """One checked vector."""
    one = values if is_sparse(values) else np.atleast_2d(np.asarray(values))
    return dense(picture_vectors(one, width=width))[0]
