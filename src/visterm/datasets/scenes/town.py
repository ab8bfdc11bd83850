"""What people built to stay: towns, houses, lighthouses and bridges."""

from __future__ import annotations

import math

import numpy as np

from visterm.datasets.scenes.canvas import Brush
from visterm.datasets.scenes.land import SNOW
from visterm.datasets.scenes.paint import Paint, ramp
from visterm.datasets.scenes.palette import Colour, inks, mix, pick, shade, veil
from visterm.datasets.scenes.view import View

LAMP: Colour = (255, 214, 120)

_WALLS = inks("968c88 b09680 6e7a8a beb4a6 966054 5c6470 ccba96")
_PLASTER = inks("f0e8d6 e2be96 c85c4c d6cebe 96b0be ecce78 80604a")
_TILES = inks("aa4e38 6e463c 505a6e 3c464a be7846 607860")
_DOORS = inks("783c32 32505a 5a4632 3c5a3c")
_BANDS = inks("c83c32 285082 282c34 d8783c")
_SPANS = inks("968878 78787c b04638 c4b496 4a606e")


def city(view: View, y: float, height: float) -> None:
    """Buildings in two or three rows, their windows dark by day and alight at night."""
    rows = view.some(2, 3)
    for row in range(rows):
        near = (row + 1) / rows
        x = view.left - view.between(0, 0.1)
        while x < view.right:
            broad = view.between(0.07, 0.17) * (0.6 + 0.5 * near)
            high = height * view.between(0.35, 1.0) * (1.15 - 0.4 * near) + 0.06
            tone = view.light.on(pick(view.rng, _WALLS), 0.8 * (1 - near))
            _tower(view, view.brush("city").at(x, y + 0.06, broad), high / broad, tone, near)
            x += broad * view.between(0.85, 1.15)


def _tower(view: View, brush: Brush, high: float, tone: Colour, near: float) -> None:
    pane = mix(tone, LAMP, 0.4 + 0.5 * near) if view.light.dark else mix(tone, (232, 240, 244), 0.4)
    dim, roof = shade(tone, 0.62), view.rng.random()
    paint = Paint((dim, tone, tone, pane), "windows", 0.0, 0.55 + 0.5 * near)
    brush.rectangle(0, -high, 1, 0, paint)
    if roof < 0.2:
        brush.polygon([(0, -high), (1, -high), (0.5, -high - 0.7)], dim)
    elif roof < 0.4:
        brush.rectangle(0.2, -high - 0.3, 0.8, -high, paint)
    elif roof < 0.55:
        brush.line([(0.5, -high), (0.5, -high - 0.6)], dim, 0.06)
    bare = view.brush().at(brush.x + brush.size / 2, brush.y, brush.size, -view.light.side)
    bare.rectangle(0.25, -high, 0.5, 0, veil(shade(tone, 0.3), 0.35))
    if view.winter:
        white = view.brush("city", "snow").at(brush.x, brush.y, brush.size)
        white.rectangle(0, -high - 0.1, 1, -high + 0.08, view.lit(SNOW))


def house(view: View, x: float, y: float) -> None:
    """A cottage seen from its gable, a long house, or a white box under a flat roof."""
    brush = view.brush("house").at(x, y, view.between(0.24, 0.42) * view.scale(y))
    wall, tiles = view.choose(_PLASTER, y), view.choose(_TILES, y)
    eaves, pitch = -view.between(0.55, 0.75), view.between(0.4, 0.65)
    texture = view.one("wash", "needles", "bricks", "strokes")
    brush.rectangle(-0.5, eaves, 0.5, 0, Paint(ramp(wall, 0.85, 1.1), texture, 0.1, 0.8))
    kind = view.rng.random()
    if kind < 0.8:
        peak = 0.5 if kind < 0.4 else view.between(0.05, 0.25)
        ridge = eaves - pitch
        if peak < 0.5:
            brush.rectangle(0.2, ridge - 0.12, 0.3, eaves, shade(tiles, 0.8))
        cover = Paint(ramp(tiles, 0.75, 1.2), view.one("bricks", "strokes", "rows"), 0.2, 0.6)
        slope = [(-0.58, eaves), (-0.5 + peak, ridge), (0.5 - peak, ridge), (0.58, eaves)]
        if view.winter:
            cover = Paint(ramp(view.lit(SNOW, y), 0.9, 1.05), "wash")
            view.brush("house", "snow").at(x, y, brush.size).polygon(slope, cover)
        else:
            brush.polygon(slope, cover)
    else:
        brush.rectangle(0.05, eaves * 1.4, 0.5, eaves, shade(wall, 0.94))
    _openings(view, brush, eaves, wall)
    bare = view.brush().at(x, y, brush.size, -view.light.side)
    bare.rectangle(0.28, eaves, 0.5, 0, veil(shade(wall, 0.3), 0.3))


def _openings(view: View, brush: Brush, eaves: float, wall: Colour) -> None:
    glass = LAMP if view.light.dark else mix(shade(wall, 0.35), view.light.sky[0], 0.4)
    top = eaves * 0.72
    for x in (-0.36, 0.2):
        brush.rectangle(x - 0.02, top - 0.02, x + 0.18, top + 0.21, shade(wall, 1.2))
        brush.rectangle(x, top, x + 0.16, top + 0.18, glass)
    brush.rectangle(-0.09, eaves * 0.58, 0.09, 0, view.choose(_DOORS, brush.y))


def lighthouse(view: View, x: float, y: float) -> None:
    """A tapered tower, banded or plain, on its rock; at night with its beam."""
    half = view.between(0.052, 0.075) * (0.55 + 0.45 * view.nearness(y))
    stone, white = view.lit((96, 90, 88), y), view.lit((246, 240, 228), y)
    bare, brush = view.brush().at(x, y, half), view.brush("lighthouse").at(x, y, half)
    mound = [(-5, 0.5), (-3, -0.6), (-1, -1.1), (2, -0.9), (4.4, 0.5)]
    bare.polygon(mound, Paint(ramp(stone, 0.6, 1.3), "crags"))
    band, bands = view.choose(_BANDS, y), view.some(0, 3) * 2 + 1
    top, foot = -9.0, -0.8
    for part in range(bands):
        a, b = part / bands, (part + 1) / bands
        wide_a, wide_b = 0.62 + 0.38 * a, 0.62 + 0.38 * b
        ya, yb = top + (foot - top) * a, top + (foot - top) * b
        ring = [(-wide_a, ya), (wide_a, ya), (wide_b, yb), (-wide_b, yb)]
        brush.polygon(ring, band if part % 2 else white)
    brush.rectangle(-0.85, top - 0.1, 0.85, top + 0.2, shade(band, 0.6))
    brush.rectangle(-0.4, top - 0.8, 0.4, top, LAMP if view.lamps else view.lit((230, 226, 190), y))
    brush.polygon([(-0.55, top - 0.8), (0, top - 1.5), (0.55, top - 0.8)], band)
    dim = [(0, top), (0.62, top), (1, foot), (0, foot)]
    view.brush().at(x, y, half, -view.light.side).polygon(dim, veil(shade(white, 0.3), 0.25))
    for way in (-1, 1) if view.light.dark else ():
        bare.polygon([(0, top - 0.4), (way * 30, top - 4), (way * 30, top + 2)], veil(LAMP, 0.2))


def bridge(view: View, y: float) -> None:
    """Stone arches, or a deck hung from towers, from one side of the picture to the other."""
    tone = view.lit(pick(view.rng, _SPANS), y + 0.25)
    deck, thick = y - view.between(0.06, 0.16), view.between(0.028, 0.045)
    (_arches if view.probably(0.5) else _hung)(view, deck, thick, y + 0.08, tone)


def _arches(view: View, deck: float, thick: float, foot: float, tone: Colour) -> None:
    outline = [(view.left, deck), (view.right, deck)]
    count = view.some(2, 5)
    span = (view.right - view.left) / count
    reach = 0.4 * span
    rise = min(foot - deck - thick, reach * 1.1)
    for arch in range(count):
        right = view.right - arch * span
        outline += [(right, foot), (right - 0.1 * span, foot)]
        for t in np.linspace(0, math.pi, 9).tolist():
            spring = deck + thick + rise - rise * math.sin(t)
            outline.append((right - span / 2 + reach * math.cos(t), spring))
        outline += [(right - 0.9 * span, foot), (right - span, foot)]
    brush = view.brush("bridge")
    brush.polygon(outline, Paint(ramp(tone, 0.72, 1.2), "bricks", 0.1, 0.9))
    brush.rectangle(view.left, deck - 0.012, view.right, deck + 0.006, shade(tone, 1.2))


def _hung(view: View, deck: float, thick: float, foot: float, tone: Colour) -> None:
    brush, middle, slope = view.brush("bridge"), view.across(0.6), view.between(-0.05, 0.05)

    def level(x: float) -> float:
        return deck + slope * (x - middle)

    ends = (view.left, view.right)
    brush.line([(x, level(x)) for x in ends], shade(tone, 0.8), thick)
    brush.line([(x, level(x) - thick / 2) for x in ends], shade(tone, 1.2), thick / 4)
    tall, gap = view.between(0.2, 0.38), view.between(0.35, 0.5)
    cable = []
    for part in np.linspace(-3, 3, 37).tolist():
        x = middle + part * gap
        # Between two towers the cable hangs in a parabola that touches the deck halfway.
        t = (part + 1) % 2 - 1
        cable.append((x, level(x) - tall * t * t - 0.01))
    brush.line(cable, tone, 0.012)
    for x, top in cable[::2]:
        brush.line([(x, top), (x, level(x))], tone, 0.005)
    for x in (middle - gap, middle + gap):
        pier = Paint(ramp(tone, 0.8, 1.2), "needles")
        brush.rectangle(x - 0.02, level(x) - tall - 0.03, x + 0.02, foot, pier)
