"""What BITR's losses find worst: the most violated output of every pair, in closed form.

With scores ``s = Wᵀ x`` of a pair (x, y), the most violated output is
``ŷ = argmax Δ(y, ŷ) + s·ŷ`` over everything an output could be:

- correlation, ``Δ = 1 − y·ŷ`` on the unit sphere: ``ŷ ∝ s − y``;
- euclidean, ``Δ = ‖y − ŷ‖²`` on the unit sphere: ``ŷ ∝ s − 2y``;
- manhattan, ``Δ = ‖y − ŷ‖₁`` on the simplex: the corner with the largest ``s_j − 2 y_j``; on the
  unit sphere ``ŷ ∝ s − σ`` for the best signs σ of ``y − ŷ``, which a sweep and turns find nearly
  always.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from visterm.models import _bitr_kernels as kernels

Floats = NDArray[np.float32]
_TURNS = 50


class Worst(NamedTuple):
    """The most violated outputs of all pairs: ``y − ŷ``, mean Δ, and mean hinge loss."""

    differences: Floats
    loss: float
    slack: float


class Line(NamedTuple):
    """The derivative of the mean hinge loss on the way between two score matrices.

    ``halvings`` says how closely its zero is worth looking for: a slope may cost a whole round.
    """

    slope: Callable[[float], float]
    halvings: int


class Outputs(Protocol):
    """One loss over the outputs of all pairs."""

    def worst(self, scores: Floats) -> Worst: ...
    def line(self, scores: Floats, target: Floats) -> Line: ...


@dataclass(frozen=True, eq=False)
class OnSphere:
    """Correlation (pull 1) and squared euclidean distance (pull 2) on the unit sphere."""

    outputs: Floats
    pull: float

    def worst(self, scores: Floats) -> Worst:
        differences = np.empty_like(self.outputs)
        total, margin = kernels.sphere_outputs(scores, self.outputs, self.pull, differences)
        n = len(scores)
        return Worst(differences, total / n, (total - margin) / n)

    def line(self, scores: Floats, target: Floats) -> Line:
        squares = np.empty((len(scores), 3))
        linear = kernels.sphere_line(scores, target, self.outputs, self.pull, squares)
        n = len(scores)
        return Line(lambda t: (kernels.sphere_slope(squares, t) - linear) / n, 20)


@dataclass(frozen=True, eq=False)
class Manhattan:
    """Manhattan distance, on the simplex or on the unit sphere."""

    outputs: Floats
    simplex: bool

    def worst(self, scores: Floats) -> Worst:
        differences = np.empty_like(self.outputs)
        if self.simplex:
            total, margin = kernels.simplex_outputs(scores, self.outputs, differences)
        else:
            total, margin = kernels.manhattan_outputs(scores, self.outputs, differences, _TURNS)
        n = len(scores)
        return Worst(differences, total / n, (total - margin) / n)

    def line(self, scores: Floats, target: Floats) -> Line:
        step = target - scores

        def slope(t: float) -> float:
            differences = self.worst(scores + np.float32(t) * step).differences
            return -float(np.einsum("ij,ij->", step, differences, dtype=np.float64)) / len(step)

        return Line(slope, 5)


def outputs_of(loss: str, outputs: Floats, *, simplex: bool) -> Outputs:
    """The loss of a name over these outputs."""
    if loss == "manhattan":
        return Manhattan(outputs, simplex)
    return OnSphere(outputs, 1.0 if loss == "correlation" else 2.0)
