"""What PAMIR's forms share: triplets from captions, choosing on validation pictures, retraining."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, vstack

from visterm.errors import BadInput
from visterm.models.base import Captions, Model, Validation
from visterm.models.inputs import Vectors, picture_vectors, relevance_for, stack, word_matrix
from visterm.models.selection import candidates, quality
from visterm.progress import Progress, silent
from visterm.text import Relevance, relevance_from_captions
from visterm.text.weighting import inverse_frequency, weigh_queries

if TYPE_CHECKING:
    from visterm.models.pamir._kernels import Triplets
    from visterm.models.pamir._solvers import Solver


class Plan(NamedTuple):
    """One way to learn; validation pictures choose among several."""

    C: float
    negatives: int
    warp: bool
    averaged: bool


class Started(NamedTuple):
    """A solver that is ready to learn, and what makes fitted attributes of what it learnt."""

    solver: Solver
    fitted: Callable[[NDArray[np.float32]], dict[str, Any]]


class Found(NamedTuple):
    """The best moment of a search."""

    avgp: float
    plan: Plan
    iterations: int
    learnt: NDArray[np.float32]


@dataclass(frozen=True)
class Supervision:
    """Relevance to learn from; the captions it came from, and their word weights, if any."""

    relevance: Relevance
    idf: NDArray[np.float64]
    captions: csr_array | None = None


class PassiveAggressive(Model):
    """A model that learns from triplets (q, p⁺, p⁻) by passive-aggressive steps.

    A subclass says where the state lives while it learns (`_begin`) and how pictures are mapped.
    """

    facts: ClassVar[tuple[str, ...]] = (
        "n_features_in_",
        "C_",
        "negatives_",
        "warp_",
        "averaged_",
        "n_iter_",
        "validation_",
    )
    iteration: ClassVar[str | None] = "triplets"
    decides: ClassVar[tuple[str, ...]] = ("C", "negatives", "warp", "averaged", "max_iter")

    C: float | Sequence[float]
    negatives: int | Sequence[int]
    warp: bool | Sequence[bool]
    averaged: bool | Sequence[bool]
    max_iter: int
    margin: str
    least_margin: float | None
    max_words: int | None
    retrain: bool
    patience: int
    random_state: int
    idf_: NDArray[np.float64]

    def _begin(
        self,
        vectors: Vectors,
        held: Vectors | None,
        words: int,
        progress: Progress,
        initial: Self | None,
    ) -> Started:
        """A solver for these pictures, with the held-out ones to be scored."""
        raise NotImplementedError

    def _pictures(self, X: ArrayLike | csr_array) -> Vectors:
        return picture_vectors(X)

    def fit(
        self,
        X: ArrayLike | csr_array,
        Y: Captions,
        *,
        validation: Validation | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from captions (pictures × words) or from `Relevance`.

        With ``validation = (X, Y)`` of other pictures, the number of iterations, and whichever of
        C, negatives, warp and averaged were given as several values, are those with the best AvgP
        on them.
        """
        return self._fit(X, Y, validation, progress, None)

    def _fit(
        self,
        X: ArrayLike | csr_array,
        Y: Captions,
        validation: Validation | None,
        progress: Progress | None,
        initial: Self | None,
    ) -> Self:
        """Learn, from nothing or from what another model, over the same words, knows already."""
        plans = self._plans(validation)
        vectors = self._pictures(X)
        given = None if initial is None else initial.idf_
        told = self._supervision(Y, vectors.shape[0], given)
        report = progress or silent
        best, plan, iterations = float("nan"), plans[0], self.max_iter
        if validation is not None:
            held = picture_vectors(validation[0], width=vectors.shape[1])
            held_told = self._supervision(validation[1], held.shape[0], told.idf)
            self._check_retrain(told, held_told)
            triplets = self._triplets(told)
            started = self._begin(vectors, held, len(told.idf), report, initial)
            found = self._search(started.solver, triplets, held_told.relevance, plans, report)
            best, plan, iterations = found.avgp, found.plan, found.iterations
            fitted = {} if self.retrain else started.fitted(found.learnt)
            del started  # its Gram matrix, before another one is made
            if self.retrain:
                vectors, told = self._joined(vectors, told, held, held_told, given)
        if validation is None or self.retrain:
            triplets = self._triplets(told)
            started = self._begin(vectors, None, len(told.idf), report, initial)
            learnt = self._learn(started.solver, triplets, plan, iterations, report)
            fitted = started.fitted(learnt)
        self._remember(fitted, plan)
        self.idf_, self.n_features_in_ = told.idf, vectors.shape[1]
        self.validation_, self.n_iter_ = best, iterations
        return self

    def _remember(self, fitted: dict[str, Any], plan: Plan) -> None:
        chosen = {f"{name}_": value for name, value in plan._asdict().items()}
        for name, value in (fitted | chosen).items():
            setattr(self, name, value)

    def _plans(self, validation: Validation | None) -> list[Plan]:
        """Every combination of the checked choices."""
        c = self._checked_c(validation)
        self._check_parameters()
        negatives = candidates(
            "negatives", self.negatives, validation, _is_count, "a whole number from 1 on"
        )
        flags = (
            candidates(name, getattr(self, name), validation, _is_flag, "true or false")
            for name in ("warp", "averaged")
        )
        return [Plan(*values) for values in product(c, negatives, *flags)]

    def _checked_c(self, validation: Validation | None) -> list[float]:
        try:
            choices = [float(c) for c in np.atleast_1d(np.asarray(self.C, dtype=float))]
        except (TypeError, ValueError):
            choices = []
        if not choices or any(not c > 0 for c in choices):
            raise BadInput(f"C must be positive, not {self.C}")
        if len(choices) > 1 and validation is None:
            raise BadInput("choosing C among several needs validation pictures")
        return choices

    def _check_parameters(self) -> None:
        if self.margin not in ("constant", "caption"):
            raise BadInput(f"margin is 'constant' or 'caption', not {self.margin!r}")
        if self.least_margin is not None and not 0 < self.least_margin < np.inf:
            raise BadInput(f"least_margin must be positive and finite, not {self.least_margin}")
        if self.max_iter < 1:
            raise BadInput(f"max_iter must be at least 1, not {self.max_iter}")
        if not isinstance(self.random_state, int | np.integer) or self.random_state < 0:
            raise BadInput(f"random_state must be a whole number ≥ 0, not {self.random_state}")

    def _check_retrain(self, told: Supervision, held_told: Supervision) -> None:
        if self.retrain and (told.captions is None or held_told.captions is None):
            raise BadInput("retrain needs captions: who is relevant across sets is not known")

    def _supervision(
        self, Y: Captions, pictures: int, idf: NDArray[np.float64] | None = None
    ) -> Supervision:
        words = None if idf is None else len(idf)
        if isinstance(Y, Relevance):
            told = relevance_for(Y, pictures, words=words)
            return Supervision(told, np.ones(told.queries.shape[1]) if idf is None else idf)
        captions = word_matrix(Y, pictures, words=words)
        idf = inverse_frequency(captions) if idf is None else idf
        told = relevance_from_captions(captions, idf, max_words=self.max_words)
        return Supervision(told, idf, captions)

    def _triplets(self, told: Supervision) -> Triplets:
        # numba loads here, not when somebody only wants to map pictures with a fitted model.
        from visterm.models.pamir._solvers import triplets_of

        captions, least = None, 1.0
        if self.margin == "caption":
            if told.captions is None:
                raise BadInput("the caption margin needs captions (pictures × words) to learn from")
            captions, least = weigh_queries(told.captions, told.idf), 0.1
        least = least if self.least_margin is None else self.least_margin
        return triplets_of(told.relevance, captions, least)

    def _learn(
        self, solver: Solver, triplets: Triplets, plan: Plan, steps: int, progress: Progress
    ) -> NDArray[np.float32]:
        from visterm.models.pamir._solvers import objective_of

        objective = objective_of(triplets, plan.negatives, plan.warp)
        solver.restart(self.random_state, averaged=plan.averaged)
        for done, chunk in _chunks(steps):
            solver.run(triplets, plan.C, chunk, objective)
            progress("training", done, steps)
        return solver.learnt()

    def _search(
        self,
        solver: Solver,
        triplets: Triplets,
        held: Relevance,
        plans: list[Plan],
        progress: Progress,
    ) -> Found:
        """The plan and the moment with the best AvgP on the held-out pictures."""
        from visterm.models.pamir._solvers import objective_of

        best = Found(-1.0, plans[0], 0, solver.learnt())
        total = self.max_iter * len(plans)
        for number, plan in enumerate(plans):
            objective = objective_of(triplets, plan.negatives, plan.warp)
            solver.restart(self.random_state, averaged=plan.averaged)
            best_here, since = -1.0, 0
            for done, chunk in _chunks(self.max_iter):
                solver.run(triplets, plan.C, chunk, objective)
                reached = quality(solver.validation_rows(), held)
                progress("training", number * self.max_iter + done, total)
                since = 0 if reached > best_here else since + 1
                best_here = max(best_here, reached)
                if reached > best.avgp:
                    best = Found(reached, plan, done, solver.learnt())
                if since >= self.patience:
                    break
        progress("training", total, total)
        return best

    def _joined(
        self,
        vectors: Vectors,
        told: Supervision,
        held: Vectors,
        held_told: Supervision,
        idf: NDArray[np.float64] | None,
    ) -> tuple[Vectors, Supervision]:
        both = stack(vectors, held)
        captions = csr_array(vstack([told.captions, held_told.captions], format="csr"))
        return both, self._supervision(captions, both.shape[0], idf)


def _chunks(steps: int, parts: int = 40) -> Iterator[tuple[int, int]]:
    """(done so far, size of this part) of about 40 parts."""
    edges = np.unique(np.linspace(0, steps, parts + 1).astype(int))
    for first, last in pairwise(edges):
        yield int(last), int(last - first)


def _is_count(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= 1


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)
