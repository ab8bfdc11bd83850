"""What BITR's losses find worst: the most violated output of every pair, in closed form.

With scores ``s = Wᵀ x`` of a pair (x, y), the most violated output is
``ŷ = argmax Δ(y, ŷ) + s·ŷ`` over everything an output could be:

- correlation, ``Δ = 1 − y·ŷ`` on the unit sphere: ``ŷ ∝ s − y``;
- euclidean, ``Δ = ‖y − ŷ‖²`` on the unit sphere: ``ŷ ∝ s − 2y``;
- manhattan, ``Δ = ‖y − ŷ‖₁`` on the simplex: the corner with the largest ``s_j − 2 y_j``; on the
  unit sphere ``ŷ ∝ s − σ`` for the best signs σ of ``y − ŷ``, which a sweep and turns find nearly
  always.

`Pairs` are inputs and outputs as the search for W sees them: planes, losses and slopes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from visterm.models.bitr import _kernels as kernels
from visterm.threads import on_all_cores, slices

Floats = NDArray[np.float32]
_TURNS = 50
_PART = 4096  # pairs a core takes at a time; sums go part by part, on any number of cores


class Worst(NamedTuple):
    """The most violated outputs of all pairs: ``y − ŷ``, mean Δ, and mean hinge loss.

    The differences stand in memory that the next call writes to again.
    """

    differences: Floats
    loss: float
    slack: float


class Line(NamedTuple):
    """The mean hinge loss and its derivative on the way from one score matrix (0) to another (1).

    ``halvings`` says how closely the least is worth looking for: a value may cost a whole round.
    """

    value_and_slope: Callable[[float], tuple[float, float]]
    halvings: int


class Outputs(Protocol):
    """One loss over the outputs of all pairs."""

    def worst(self, scores: Floats) -> Worst: ...
    def line(self, scores: Floats, target: Floats) -> Line: ...


class OnSphere:
    """Correlation (pull 1) and squared euclidean distance (pull 2) on the unit sphere."""

    def __init__(self, outputs: Floats, pull: float) -> None:
        self.outputs, self.pull = outputs, pull
        self._differences = np.empty_like(outputs)
        self._squares = np.empty((len(outputs), 3))

    def worst(self, scores: Floats) -> Worst:
        def part(of: slice) -> tuple[float, float]:
            here = scores[of], self.outputs[of], self.pull, self._differences[of]
            return kernels.sphere_outputs(*here)

        return _worst(self._differences, part)

    def line(self, scores: Floats, target: Floats) -> Line:
        # With a = s − pull·y and d = s' − s, the loss at s + t d is pull + ‖a + t d‖ − (s + t d)·y.
        def begin(of: slice) -> tuple[float, float]:
            here = scores[of], target[of], self.outputs[of], self.pull, self._squares[of]
            return kernels.sphere_line(*here)

        n = len(scores)
        start, linear = sums_of_parts(n, begin)

        def at(t: float) -> tuple[float, float]:
            lengths, slope = kernels.sphere_slope(self._squares, t)
            return self.pull + (lengths - start - t * linear) / n, (slope - linear) / n

        return Line(at, 20)


class Manhattan:
    """Manhattan distance, on the simplex or on the unit sphere."""

    def __init__(self, outputs: Floats, simplex: bool) -> None:
        self.outputs, self.simplex = outputs, simplex
        self._differences = np.empty_like(outputs)
        self._between = np.empty_like(outputs)

    def worst(self, scores: Floats) -> Worst:
        def part(of: slice) -> tuple[float, float]:
            here = scores[of], self.outputs[of], self._differences[of]
            if self.simplex:
                return kernels.simplex_outputs(*here)
            return kernels.manhattan_outputs(*here, _TURNS)

        return _worst(self._differences, part)

    def line(self, scores: Floats, target: Floats) -> Line:
        step = target - scores

        def at(t: float) -> tuple[float, float]:
            found = self.worst(between(scores, target, t, self._between))
            slope = -float(np.einsum("ij,ij->", step, found.differences, dtype=np.float64))
            return found.slack, slope / len(step)

        return Line(at, 5)


def outputs_of(loss: str, outputs: Floats, *, simplex: bool) -> Outputs:
    """The loss of a name over these outputs."""
    if loss == "manhattan":
        return Manhattan(outputs, simplex)
    return OnSphere(outputs, 1.0 if loss == "correlation" else 2.0)


def between(scores: Floats, target: Floats, t: float, out: Floats) -> Floats:
    """``s + t (s' − s)``, written to ``out``."""
    on_all_cores(
        lambda of: kernels.towards(scores[of], target[of], t, out[of]),
        slices(len(scores), _PART),
    )
    return out


def sums_of_parts(n: int, part: Callable[[slice], tuple[float, float]]) -> tuple[float, float]:
    """Two sums over all pairs, part by part on all cores."""
    parts = list(slices(n, _PART))
    found = np.zeros((len(parts), 2))

    def do(number: int) -> None:
        found[number] = part(parts[number])

    on_all_cores(do, range(len(parts)))
    first, second = found.sum(axis=0)
    return float(first), float(second)


def _worst(differences: Floats, part: Callable[[slice], tuple[float, float]]) -> Worst:
    n = len(differences)
    total, margin = sums_of_parts(n, part)
    return Worst(differences, total / n, (total - margin) / n)


Weights = NDArray[np.float64]


class Plane(NamedTuple):
    """A plane under the loss: its normal G, its offset δ, and the hinge loss where it was cut."""

    normal: Weights
    loss: float
    slack: float


class Pairs:
    """All pairs, with their scores at W and at the W that the search aims at."""

    def __init__(self, inputs: Floats, outputs: Floats, loss: str, *, simplex: bool) -> None:
        self.shape = (inputs.shape[1], outputs.shape[1])
        self.inputs, self.outputs = inputs, outputs_of(loss, outputs, simplex=simplex)
        self.target_scores, self.ahead = np.zeros_like(outputs), np.empty_like(outputs)
        self.scores = np.empty_like(outputs)
        self.restart()

    def restart(self) -> None:
        """Back to W = 0."""
        self.W = self.target = np.zeros(self.shape)
        self.scores[:] = 0

    def aim(self, target: Weights) -> Line:
        """The mean hinge loss and its derivative on the way from W to the target."""
        self.target = target
        np.matmul(self.inputs, target.astype(np.float32), out=self.target_scores)
        return self.outputs.line(self.scores, self.target_scores)

    def move(self, t: float) -> None:
        """Go so far towards the target."""
        self.W = self.W + t * (self.target - self.W)
        between(self.scores, self.target_scores, t, self.scores)

    def cut(self, t: float = 0.0) -> Plane:
        """The plane so far beyond W, towards the target."""
        at = between(self.scores, self.target_scores, t, self.ahead) if t else self.scores
        worst = self.outputs.worst(at)
        normal = np.asarray(self.inputs.T @ worst.differences, dtype=np.float64)
        return Plane(normal / len(self.inputs), worst.loss, worst.slack)
