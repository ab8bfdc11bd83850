"""What PAMIR's forms share: triplets from captions or relevance, and runs of a solver over them.

The update is stated once: the kernels compile it, single triplets call it. A triplet (q, p⁺, p⁻)
asks ``q·W p⁺ ≥ q·W p⁻ + ε``. Its loss is ``l = max(0, ε − q·W(p⁺ − p⁻))``, and W moves by the
smallest step that mends it, but no further than the aggressiveness C allows: ``τ = min(C, l /
‖v‖²)`` and ``W += τ v`` with ``v = q ⊗ (p⁺ − p⁻)``, ``‖v‖² = ‖q‖² ‖p⁺ − p⁻‖²``.

K. Crammer et al., Online passive-aggressive algorithms, JMLR 7, 2006; D. Grangier and S. Bengio,
IEEE TPAMI 30(8), 2008.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from visterm.models import rules
from visterm.models.base import Model
from visterm.models.inputs import Vectors
from visterm.models.rules import AUTO, Rule, Rules, Tuned
from visterm.models.selection import Choice, Task, Trial
from visterm.models.supervision import Captions, Supervision, query_source, ranked
from visterm.progress import Progress

if TYPE_CHECKING:
    from visterm.models.pamir._solvers import Solver
    from visterm.models.pamir._triplets import Triplets


def step_size(loss: Any, square: Any, C: Any) -> Any:
    """τ; 0 where nothing is violated, or where both pictures look the same.

    >>> step_size(1.0, 4.0, C=0.1), step_size(1.0, 20.0, C=0.1), float(step_size(-1.0, 4.0, C=0.1))
    (0.1, 0.05, 0.0)
    """
    if loss <= 0 or square <= 0:
        return np.float32(0)
    return min(C, loss / square)


def update(
    weights: NDArray[np.float32],
    query: NDArray[np.float32],
    difference: NDArray[np.float32],
    margin: float,
    C: float,
) -> float:
    """Move the weights, in place, for one triplet; returns its loss before the step.

    >>> weights = np.zeros((1, 2), np.float32)
    >>> update(weights, np.float32([1]), np.float32([1, -1]), margin=1.0, C=0.1)
    1.0
    >>> weights.round(2).tolist()
    [[0.10000000149011612, -0.10000000149011612]]
    """
    loss = max(0.0, margin - float(query @ (weights @ difference)))
    tau = step_size(loss, float(query @ query) * float(difference @ difference), C)
    weights += tau * np.outer(query, difference)
    return loss


class Started(NamedTuple):
    """A solver that is ready to learn, and what makes fitted attributes of what it learnt."""

    solver: Solver
    fitted: Callable[[NDArray[np.float32]], dict[str, Any]]


@dataclass(eq=False, repr=False, kw_only=True)
class PassiveAggressive(Model):
    """A model that learns from triplets (q, p⁺, p⁻) by passive-aggressive steps.

    A subclass says where the state lives while it learns (`_start`) and how pictures are mapped.
    """

    iteration: ClassVar[str | None] = "triplets"
    decides: ClassVar[Rules] = {
        "C": Rule(lambda value: value > 0, "positive"),
        "negatives": rules.WHOLE,
        "warp": rules.FLAG,
        "averaged": rules.FLAG,
        "max_iter": rules.BOUND,
    }
    checks: ClassVar[Rules] = {
        "margin": rules.one_of("constant", "caption"),
        "least_margin": rules.optional(rules.POSITIVE),
        "query_exponent": rules.EXPONENT,
        "query_lengths": rules.optional(rules.SHARES),
        "random_state": rules.SEED,
    }

    C: Tuned[float] = AUTO
    max_iter: int = 3_000_000
    margin: str = "constant"
    least_margin: float | None = None
    query_exponent: float = 0.0
    query_lengths: Sequence[float] | None = None
    patience: int = 10
    random_state: int = 0
    negatives: int | Sequence[int] = 1
    warp: bool | Sequence[bool] = False
    averaged: bool | Sequence[bool] = False

    def _start(self, task: Task) -> Started:
        """A solver for these pictures, with the held-out ones to be scored."""
        raise NotImplementedError

    def _supervise(self, vectors: Vectors, Y: Captions, initial: Model | None) -> Supervision:
        return ranked(vectors, Y, None if initial is None else initial.idf_)

    def _triplets(self, training: Supervision) -> Triplets:
        # numba loads here, not when somebody only wants to map pictures with a fitted model.
        from visterm.models.pamir._triplets import triplets_of

        source = query_source(self, training)
        return triplets_of(source, *training.margins(self.margin, self.least_margin))

    def _prepare(self, task: Task) -> tuple[Triplets, Started]:
        return self._triplets(task.training), self._start(task)

    def _run(
        self, task: Task, prepared: tuple[Triplets, Started], choice: Choice, progress: Progress
    ) -> Iterator[Trial]:
        from visterm.models.pamir._triplets import Objective

        triplets, (solver, fitted) = prepared
        objective = Objective(choice["negatives"], choice["warp"])
        solver.restart(self.seed, averaged=choice["averaged"])

        def keep() -> Callable[[], dict[str, Any]]:
            learnt = solver.learnt()
            return lambda: fitted(learnt)

        for done, chunk in chunks(choice["max_iter"]):
            solver.run(triplets, choice["C"], chunk, objective)
            progress("training", done, choice["max_iter"])
            yield Trial({"max_iter": done}, solver.validation_rows, keep)


def chunks(steps: int, parts: int = 40) -> Iterator[tuple[int, int]]:
    """(done so far, size of this part) of about 40 parts."""
    edges = np.unique(np.linspace(0, steps, parts + 1).astype(int))
    for first, last in pairwise(edges):
        yield int(last), int(last - first)
