"""Roads and rivers: bands that wind from the foot of the picture towards the horizon."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from visterm.datasets.scenes.paint import Paint
from visterm.datasets.scenes.palette import mix, pick, shade, veil
from visterm.datasets.scenes.view import View


@dataclass(frozen=True)
class WindingBand:
    """A winding band: its middle and half its width, wherever one asks along it."""

    top: float
    start: float
    end: float
    bend: float
    phase: float
    broad: float

    def middle(self, y: float) -> float:
        t = self._along(y)
        wind = self.bend * math.sin(4.2 * (1 - t) + self.phase) * t * (1.6 - t)
        return self.start + (self.end - self.start) * t**1.2 + wind

    def half(self, y: float) -> float:
        return 0.006 + self.broad * self._along(y) ** 1.35

    def _along(self, y: float) -> float:
        return min(max((y - self.top) / (1.09 - self.top), 0.0), 1.0)

    def outline(self) -> list[tuple[float, float]]:
        ys = (self.top + (1.09 - self.top) * np.linspace(0, 1, 18) ** 1.4).tolist()
        left = [(self.middle(y) - self.half(y), y) for y in ys]
        right = [(self.middle(y) + self.half(y), y) for y in ys]
        return left + right[::-1]


def choose_way(view: View, low: float, high: float) -> WindingBand:
    """A band between these half widths, to somewhere on the horizon."""
    return WindingBand(
        top=max(view.horizon + 0.015, view.left),
        start=view.across(0.25),
        end=view.across(0.15),
        bend=view.between(-0.3, 0.3),
        phase=view.between(0, 6.3),
        broad=view.between(low, high),
    )


def road(view: View, way: WindingBand) -> None:
    """Asphalt with its marks, a farm track, or a pale gravel road."""
    kinds = [(92, 94, 100), (70, 72, 80), (176, 150, 118), (206, 194, 170), (130, 110, 92)]
    stone = pick(view.rng, kinds)
    far, near = view.lit(stone, way.top + 0.1), view.lit(stone)
    hues = (mix(far, view.light.haze, 0.2), shade(near, 1.08), shade(near, 0.86))
    texture = view.one("grain", "wash", "strokes")
    view.brush("road").polygon(way.outline(), Paint(hues, texture, 0.5, 1.0, True))
    if view.probably(0.6):
        white = veil(view.lit((244, 236, 206)), 0.85)
        for step in range(11):
            a, b = (way.top + (1.09 - way.top) * ((step + part) / 11) ** 1.7 for part in (0.1, 0.6))
            thin, thick = way.half(a) * 0.05, way.half(b) * 0.05
            x, z = way.middle(a), way.middle(b)
            mark = [(x - thin, a), (x + thin, a), (z + thick, b), (z - thick, b)]
            view.brush().polygon(mark, white)


def river(view: View, way: WindingBand) -> None:
    """Running water in the colours of its sky, between its banks."""
    water = pick(view.rng, [(60, 110, 130), (70, 130, 150), (96, 120, 104), (50, 90, 120)])
    near = mix(view.lit(water), view.light.sky[1], 0.25)
    far = mix(view.lit(water, way.top + 0.1), view.light.sky[-1], 0.6)
    hues = (far, mix(far, near, 0.6), near, shade(near, 0.75))
    bank = [(x + (0.012 if x > way.middle(y) else -0.012), y) for x, y in way.outline()]
    view.brush().polygon(bank, veil(shade(near, 0.4), 0.45))
    texture = view.one("strokes", "ripples", "wash")
    view.brush("river").polygon(way.outline(), Paint(hues, texture, 0.5, 1.0, True))
    for _ in range(12):
        y = view.between(way.top + 0.05, 1.0)
        x = way.middle(y) + way.half(y) * view.between(-0.5, 0.5)
        view.brush().ellipse(x, y, way.half(y) * 0.35, 0.004, veil(far, 0.6))
