"""Pairs of inputs and outputs, all together or in shards, as the search for W sees them: by sums.

Planes, losses and slopes are sums over pairs. Shards are of one size, so that the sums are the same
wherever the shards are.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from visterm.compute import Shards, spread
from visterm.errors import VistermError
from visterm.models.bitr.losses import Floats, Line, between, outputs_of

_PAIRS_OF_A_SHARD = 1 << 16
_WAIT, _ATTEMPTS = 1.0, 60
"""Seconds between two looks for a shard that died, and how many there are."""

Weights = NDArray[np.float64]


class Plane(NamedTuple):
    """A plane under the loss: its normal G, its offset δ, and the hinge loss where it was cut."""

    normal: Weights
    loss: float
    slack: float


class PairShard:
    """Some of the pairs, with their scores at W and at the W that the search aims at."""

    def __init__(self, inputs: Floats, outputs: Floats, loss: str, simplex: bool) -> None:
        self.inputs, self.outputs = inputs, outputs_of(loss, outputs, simplex=simplex)
        self.scores = np.zeros_like(outputs)
        self.target, self.ahead = np.zeros_like(outputs), np.empty_like(outputs)
        self.line: Line | None = None

    def restore(self, W: Weights, target: Weights) -> bool:
        """Stand where others stand: at W, aiming at the target."""
        np.matmul(self.inputs, W.astype(np.float32), out=self.scores)
        return self.aim(target)

    def aim(self, target: Weights) -> bool:
        np.matmul(self.inputs, target.astype(np.float32), out=self.target)
        self.line = self.outputs.line(self.scores, self.target)
        return True

    def look(self, t: float) -> NDArray[np.float64]:
        """Sums of the loss and of its derivative, so far on the way to the target."""
        assert self.line is not None
        return len(self.inputs) * np.array(self.line.value_and_slope(t))

    def halvings(self) -> int:
        assert self.line is not None
        return self.line.halvings

    def move(self, t: float) -> bool:
        between(self.scores, self.target, t, self.scores)
        return True

    def cut(self, t: float) -> Plane:
        """Sums of the plane, so far on the way to the target."""
        at = between(self.scores, self.target, t, self.ahead) if t else self.scores
        worst, n = self.outputs.worst(at), len(self.inputs)
        normal = np.asarray(self.inputs.T @ worst.differences, dtype=np.float64)
        return Plane(normal, n * worst.loss, n * worst.slack)


class Pairs:
    """All pairs, in shards, which a cluster keeps where it has room."""

    def __init__(self, inputs: Floats, outputs: Floats, loss: str, *, simplex: bool) -> None:
        self.n, self.shape = len(inputs), (inputs.shape[1], outputs.shape[1])
        size = _PAIRS_OF_A_SHARD
        parts = [
            (inputs[first : first + size], outputs[first : first + size], loss, simplex)
            for first in range(0, self.n, size)
        ]
        self._shards: Shards = spread(PairShard, parts)
        self.W = self.target = np.zeros(self.shape)

    def restart(self) -> None:
        """Back to W = 0."""
        self.W = self.target = np.zeros(self.shape)
        self._restore()

    def aim(self, target: Weights) -> Line:
        """The mean hinge loss and its derivative on the way from W to the target."""
        self.target = target
        self._ask("aim", target)

        def look(t: float) -> tuple[float, float]:
            loss, slope = np.sum(self._ask("look", t), axis=0) / self.n
            return float(loss), float(slope)

        return Line(look, self._ask("halvings")[0])

    def move(self, t: float) -> None:
        """Go so far towards the target."""
        self.W = self.W + t * (self.target - self.W)
        if None in self._shards.call("move", t):
            self._restore()

    def cut(self, t: float = 0.0) -> Plane:
        """The plane so far beyond W, towards the target."""
        parts = self._ask("cut", t)
        normal, loss, slack = (sum(values) for values in zip(*parts, strict=True))
        return Plane(normal / self.n, loss / self.n, slack / self.n)

    def _ask(self, method: str, *arguments: Any) -> list[Any]:
        """What every shard says; one that died is waited for, since sums are of all pairs."""
        while True:
            found = self._shards.call(method, *arguments)
            if all(one is not None for one in found):
                return found
            self._restore()

    def _restore(self) -> None:
        for _ in range(_ATTEMPTS):
            if None not in self._shards.call("restore", self.W, self.target):
                return
            time.sleep(_WAIT)
        raise VistermError("a shard of the pairs does not come back; see the cluster's logs")
