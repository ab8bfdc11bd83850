"""PAMIR: a linear map into the text space, learnt by ranking.

``f(p) = W p``; a triplet (q, p⁺, p⁻) asks ``q·f(p⁺) ≥ q·f(p⁻) + ε`` and, where it is not so, W
moves by the smallest step that mends it, at most C: ``l = max(0, ε − q·W(p⁺ − p⁻))``,
``τ = min(C, l / ‖q ⊗ (p⁺ − p⁻)‖²)``, ``W += τ q ⊗ (p⁺ − p⁻)``.

D. Grangier and S. Bengio, A discriminative kernel-based approach to rank images from text queries,
IEEE TPAMI 30(8), 2008; D. Grangier, F. Monay and S. Bengio, ECML 2006.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.models import rules
from visterm.models.inputs import Vectors, dense, is_sparse, picture_vectors
from visterm.models.pamir.passive_aggressive import PassiveAggressive, Started, chunks, update
from visterm.models.pamir.shards import run_rounds, spread_pictures
from visterm.models.rules import Rules
from visterm.models.selection import Choice, Task, Trial, all_choices, fit, grid_of
from visterm.models.supervision import Captions, Supervision, Validation, read_captions
from visterm.progress import Progress

if TYPE_CHECKING:
    from visterm.models.pamir._solvers import Solver

Row: TypeAlias = "ArrayLike | csr_array"


@dataclass(eq=False, repr=False, kw_only=True)
class Pamir(PassiveAggressive):
    """Passive-aggressive model for image retrieval.

    Parameters
    ----------
    C : float, sequence of float or "auto"
        Aggressiveness, the largest step. Several values, or "auto", are for validation pictures
        to choose from.
    max_iter : int
        How many triplets to look at; with validation pictures, at most so many, and the best
        moment counts.
    margin : {"constant", "caption"}
        ε = ``least_margin``, or ε = max(``least_margin``, q·c⁺ − q·c⁻) with c the captions.
    least_margin : float, optional
        Default 1 for the constant margin and 0.1 for the caption margin.
    max_words : int, optional
        The most words of a query drawn from a caption.
    query_exponent : float
        How often a query is drawn from captions: in proportion to c^a, where c pictures answer it,
        and a is from 0, each alike, to 1, each (query, answer) alike, which makes triplets uniform.
    query_lengths : sequence of float, optional
        How often queries have 1, 2, … words. By default as often as it comes by the exponent; of
        longer captions five words count, or nearly all queries would have ``max_words``.
    retrain : bool
        Learn again from training and validation pictures, with what was chosen.
    patience : int
        Give up after so many checks on validation pictures without a better AvgP.
    random_state : int
    negatives : int or sequence of int
        How many pictures p⁻ that do not answer are drawn for a triplet; the one with the greatest
        loss is taken. The papers draw one.
    warp : bool or sequence of bool
        Top-heavy: draw p⁻, at most ``negatives`` of them, only until one has a loss, the N-th say,
        and then step by at most ``C·L(⌊n⁻/N⌋)/L(n⁻)``, where n⁻ pictures do not answer and
        ``L(k) = 1 + ½ + … + 1/k``. A loss that is hard to find means that p⁺ ranks high already.
    averaged : bool or sequence of bool
        Take the mean of W over all iterations s, weighed by s⁴ − (s − 1)⁴, so that 94 % of the
        weight is on the last half: it wavers less than the last W.
    n_shards : int
        Deal the pictures out to so many shards, each of which draws ``max_iter`` triplets of its
        own, and mix their weights after every fortieth of them (iterative parameter mixing). On a
        cluster the shards work side by side, else one after another, with the same result.

    Attributes
    ----------
    weights_ : array of shape (T, d)
        W.
    idf_ : array of shape (T,)
        Word weights of the training captions; ones when it learnt from `Relevance`.
    C_, n_iter_, negatives_, warp_, averaged_ : what was chosen.
    validation_ : float
        Best AvgP on validation pictures, NaN without them.

    References
    ----------
    WARP: J. Weston, S. Bengio and N. Usunier, WSABIE, IJCAI 2011. Averages with such weights:
    O. Shamir and T. Zhang, Stochastic gradient descent for non-smooth optimization, ICML 2013.

    Examples
    --------
    >>> pictures = np.array([[1.0, 0.0], [0.8, 0.2], [0.0, 1.0], [0.1, 0.9]])
    >>> captions = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])  # sun, sun, sea, sea
    >>> model = Pamir(max_iter=1000).fit(pictures, captions)
    >>> model.transform([[1.0, 0.0]]).argmax(axis=1)
    array([0])
    """

    name = "pamir"
    arrays = ("weights_", "idf_")
    linear_array = "weights_"
    supports_warm_start = True

    checks: ClassVar[Rules] = {**PassiveAggressive.checks, "n_shards": rules.WHOLE}

    n_shards: int = 1

    def fit(
        self,
        X: ArrayLike | csr_array,
        Y: Captions,
        *,
        validation: Validation | None = None,
        progress: Progress | None = None,
        initial: Self | None = None,
    ) -> Self:
        """Learn from captions (pictures × words) or from `Relevance`.

        Parameters
        ----------
        validation
            ``(X, Y)`` of other pictures: the number of iterations, and whichever of C, negatives,
            warp and averaged were given as several values, are those with the best AvgP on them.
        initial
            A fitted model over the same words, where learning starts instead of from zero: from
            its weights, with its idf. Steps are the smallest that mend a triplet, so W stays near
            them, and the weights of a word that no caption holds stay as they are.

        Examples
        --------
        >>> sun, sea = [1.0, 0.0], [0.0, 1.0]
        >>> before = Pamir(max_iter=100).fit([sun, sea], np.eye(2))
        >>> after = Pamir(max_iter=100).fit([sun, sea], [[1, 0], [0, 0]], initial=before)
        >>> bool((after.weights_[1] == before.weights_[1]).all())
        True
        """
        if initial is not None:
            initial._check_fitted()
        fit(self, X, Y, validation, progress, initial)
        return self

    def partial_fit(
        self, X: ArrayLike | csr_array, Y: Captions, *, steps: int | None = None
    ) -> Self:
        """Go on learning from the current weights, with these pictures.

        ``steps`` triplets are drawn; by default as many as captions hold words, or as there are
        relevant pictures over all given queries. The weights are the last ones, never averaged:
        what was just learnt must show.
        """
        from visterm.models.pamir._triplets import Objective

        self._check_parameters()
        fitted = hasattr(self, "weights_")
        choice = self.decided() if fitted else all_choices(grid_of(self, None))[0]
        if steps is not None and steps < 0:
            raise BadInput(f"steps must be 0 or more, not {steps}")
        Y, self.vocabulary_ = read_captions(Y, self.vocabulary_ if fitted else None)
        vectors = picture_vectors(X, width=self.n_features_in_ if fitted else None)
        training = self._supervise(vectors, Y, self if fitted else None)
        triplets = self._triplets(training)
        if steps is None:
            given = training.relevance
            steps = training.captions.nnz if given is None else given.pictures.nnz
        before = self.n_iter_ if fitted else 0
        start = self.weights_ if fitted else _zeros(training)
        # A seed of its own for each call, or every call would draw the same triplets again.
        solver = _solver(vectors, None, start, self.seed + before)
        solver.run(
            triplets,
            choice["C"],
            steps,
            Objective(choice["negatives"], choice["warp"]),
        )
        weights = solver.weights(solver.learnt())
        self._keep({"weights_": weights}, choice | {"max_iter": before + steps}, training)
        self.validation_ = self.validation_ if fitted else float("nan")
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
        return update(self.weights_, q, difference, margin, self.C_)

    def _map(self, vectors: Vectors) -> NDArray[np.float32]:
        return np.asarray(vectors @ self.weights_.T, dtype=np.float32)

    def is_spread(self, training: Supervision) -> bool:
        return self.n_shards > 1

    def _prepare(self, task: Task) -> Any:
        if self.n_shards == 1:
            return super()._prepare(task)
        return spread_pictures(self, task.training, self._begin(task))

    def _run(
        self, task: Task, prepared: Any, choice: Choice, progress: Progress
    ) -> Iterator[Trial]:
        if self.n_shards == 1:
            return super()._run(task, prepared, choice, progress)
        return run_rounds(task, prepared, choice, progress, [*chunks(choice["max_iter"])])

    def _begin(self, task: Task) -> NDArray[np.float32]:
        """The weights to start from."""
        vectors, initial = task.training.vectors, task.initial
        if initial is None:
            start = _zeros(task.training)
        elif initial.n_features_in_ == vectors.shape[1]:
            start = np.array(initial.linear_weights(), dtype=np.float32)
        else:
            raise BadInput(
                f"the model to start from learnt from vectors of {initial.n_features_in_} numbers, "
                f"these have {vectors.shape[1]}; use the same extractor for both"
            )
        return start

    def _start(self, task: Task) -> Started:
        held = None if task.held is None else task.held.vectors
        solver = _solver(task.training.vectors, held, self._begin(task), self.seed)
        return Started(solver, lambda learnt: {"weights_": solver.weights(learnt)})


def _zeros(training: Supervision) -> NDArray[np.float32]:
    return np.zeros((len(training.idf), training.vectors.shape[1]), dtype=np.float32)


def _solver(
    vectors: Vectors, held: Vectors | None, start: NDArray[np.float32], seed: int
) -> Solver:
    # numba loads here, not when somebody only wants to map pictures with a fitted model.
    from visterm.models.pamir._solvers import choose_solver

    return choose_solver(vectors, held)(vectors, held, start, seed)


def _row(values: Row, width: int | None = None) -> NDArray[np.float32]:
    """One checked vector."""
    one = values if is_sparse(values) else np.atleast_2d(np.asarray(values))
    return dense(picture_vectors(one, width=width))[0]
