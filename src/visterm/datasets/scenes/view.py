"""Where the painter stands: the canvas, the light, and how far away things are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from visterm.datasets.scenes.canvas import OVERSCAN, Brush, Canvas
from visterm.datasets.scenes.palette import Colour, Light, pick


@dataclass(frozen=True)
class View:
    """One scene while it is painted; ``horizon`` above the frame means looking down."""

    canvas: Canvas
    light: Light
    horizon: float
    winter: bool = False

    @property
    def rng(self) -> np.random.Generator:
        return self.canvas.rng

    @property
    def left(self) -> float:
        return -OVERSCAN

    @property
    def right(self) -> float:
        return self.canvas.wide + OVERSCAN

    @property
    def wide(self) -> float:
        return self.canvas.wide

    def brush(self, *words: str) -> Brush:
        return self.canvas.brush(*words)

    def nearness(self, y: float) -> float:
        """0 for something standing at the horizon, 1 for something at the foot of the picture."""
        return min(max((y - self.horizon) / (1 - self.horizon), 0.0), 1.0)

    def scale(self, y: float) -> float:
        """How large a thing looks whose foot is at ``y``, 1 being the foot of the picture."""
        return 0.3 + 0.7 * self.nearness(y)

    def lit(self, colour: Colour, y: float = 1.0) -> Colour:
        """The colour in this light, at the distance of something standing at ``y``."""
        return self.light.on(colour, 1 - self.nearness(y))

    def choose(self, colours: Sequence[Colour], y: float = 1.0) -> Colour:
        """One of some colours, in this light and at that distance."""
        return self.lit(pick(self.rng, colours), y)

    def probably(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def between(self, low: float, high: float) -> float:
        return float(self.rng.uniform(low, high))

    def some(self, low: int, high: int) -> int:
        """A number of things, from ``low`` to ``high``."""
        return int(self.rng.integers(low, high + 1))

    def one(self, *kinds: str) -> str:
        return str(kinds[self.rng.integers(len(kinds))])

    def across(self, margin: float = 0.08) -> float:
        """Somewhere between the sides of the frame."""
        # A frame narrower than both margins has only its middle left.
        margin = min(margin, self.wide / 2)
        return self.between(margin, self.wide - margin)

    def rising(self, horizon: float) -> View:
        """The same view where the ground begins at another height."""
        return replace(self, horizon=horizon)

    @property
    def lamps(self) -> bool:
        """Whether it is dark enough to light the lamps."""
        return self.light.name in ("night", "dusk")
