"""Pairs of inputs and outputs, as the search for W sees them: planes, losses and slopes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from visterm.models.bitr.losses import Floats, Line, between, outputs_of

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
