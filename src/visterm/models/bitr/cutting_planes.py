"""Structural SVM by cutting planes: ``min ½‖W‖² + C·loss(W)`` with one slack for all pairs.

Each round finds the most violated output of every pair at the current W. Together they are one
plane under the loss, ``loss(W) ≥ δ − ⟨W, G⟩`` with ``G = Xᵀ(Y − Ŷ)/N``; the best W above all planes
so far follows from a small dual problem, ``max δ·α − ½‖Σ α_k G_k‖²`` over ``α ≥ 0, Σα ≤ C``. Its
value is never more than the solution's, so the best objective seen minus it bounds what is left to
gain: the duality gap.

T. Joachims, T. Finley and C.-N. Yu, Machine Learning 2009 (one slack); V. Franc and S. Sonnenburg,
ICML 2008 (the line search: planes are cut near the best W seen, not where the planes alone lead).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from visterm.models.bitr._kernels import small_dual
from visterm.models.bitr.losses import Line, Pairs
from visterm.progress import Progress

_TOWARDS = 0.1  # how far beyond the best W, towards the dual's, the next plane is cut
_DUAL_STEPS = 200_000
_IDLE = 60  # rounds without weight after which a plane is given up
_DUAL_SHARE = 0.01  # the small dual is solved to this share of the gap that is left


class Planes:
    """The planes kept: their normals G, their offsets δ, and the weights α of the small dual.

    Number 0 is the empty plane, loss ≥ 0: it takes the weight that the others do not.
    """

    def __init__(self, budget: float, shape: tuple[int, int]) -> None:
        self.budget, self.shape = budget, shape
        self.normals = [np.zeros(shape)]
        self.gram, self.losses = np.zeros((1, 1)), np.zeros(1)
        self.weights, self.idle = np.array([budget]), np.zeros(1, dtype=int)

    def add(self, normal: NDArray[np.float64], loss: float) -> None:
        products = np.array([np.vdot(normal, one) for one in self.normals])
        self.gram = np.block(
            [[self.gram, products[:, None]], [products, np.array([np.vdot(normal, normal)])]]
        )
        self.losses, self.weights = np.append(self.losses, loss), np.append(self.weights, 0.0)
        self.normals, self.idle = [*self.normals, normal], np.append(self.idle, 0)

    def solve(self, tolerance: float) -> float:
        """Bring the weights to the best of the small dual; returns its value."""
        small_dual(self.gram, self.losses, self.budget, self.weights, tolerance, _DUAL_STEPS)
        self.idle = np.where(self.weights > 0, 0, self.idle + 1)
        self.idle[0] = 0
        kept = np.flatnonzero(self.idle <= _IDLE)
        self.gram, self.losses = self.gram[np.ix_(kept, kept)], self.losses[kept]
        self.weights, self.idle = self.weights[kept], self.idle[kept]
        self.normals = [self.normals[number] for number in kept]
        value = self.losses @ self.weights - 0.5 * self.weights @ self.gram @ self.weights
        return float(value)

    def combined(self) -> NDArray[np.float64]:
        """``W = Σ α_k G_k``."""
        W = np.zeros(self.shape)
        for weight, normal in zip(self.weights[1:], self.normals[1:], strict=True):
            if weight > 0:
                W += weight * normal
        return W


@dataclass(frozen=True, eq=False)
class Solution:
    """W, its objective, the bound below any objective, and the rounds it took."""

    W: NDArray[np.float64]
    objective: float
    bound: float
    n_iter: int

    @property
    def gap(self) -> float:
        """How far the objective can be above the best one, as a fraction of it."""
        return max(0.0, self.objective - self.bound) / max(abs(self.objective), 1e-300)


def cut_planes(
    pairs: Pairs, C: float, *, tol: float, max_iter: int, progress: Progress
) -> Solution:
    """Minimise ``½‖W‖² + C·loss(X W)`` in ``max_iter`` rounds, or to a gap under ``tol``."""
    pairs.restart()
    planes = Planes(C, pairs.shape)
    cut, done = pairs.cut(), 0
    objective, bound = C * cut.slack, 0.0
    for done in range(1, max_iter + 1):
        progress("cutting planes", done - 1, max_iter)
        planes.add(cut.normal, cut.loss)
        value = planes.solve(_DUAL_SHARE * max(objective - bound, tol * objective))
        bound = max(bound, value)
        target = planes.combined()
        t, slack = _best_step(pairs.W, target, C, pairs.aim(target))
        if t > 0:
            pairs.move(t)
            objective = min(objective, 0.5 * float(np.vdot(pairs.W, pairs.W)) + C * slack)
        # Only now: where C is small, W = 0 is within any tolerance, and ranks nothing.
        if objective - bound <= tol * objective:
            break
        cut = pairs.cut(_TOWARDS)
    progress("cutting planes", max_iter, max_iter)
    return Solution(pairs.W, objective, bound, done)


def _best_step(
    W: NDArray[np.float64], target: NDArray[np.float64], C: float, line: Line
) -> tuple[float, float]:
    """How far from W to target the objective falls, by bisection on its rising derivative.

    With it comes the mean hinge loss there.
    """
    step = target - W
    along, square = float(np.vdot(W, step)), float(np.vdot(step, step))

    def look(t: float) -> tuple[float, float]:
        loss, slope = line.value_and_slope(t)
        return loss, along + t * square + C * slope

    loss, slope = look(0.0)
    if slope >= 0:
        return 0.0, loss
    low, high = 0.0, 1.0
    while (found := look(high))[1] < 0 and high < 64:
        low, high, loss = high, 2 * high, found[0]
    for _ in range(line.halvings):
        middle = 0.5 * (low + high)
        found = look(middle)
        if found[1] < 0:
            low, loss = middle, found[0]
        else:
            high = middle
    return low, loss
