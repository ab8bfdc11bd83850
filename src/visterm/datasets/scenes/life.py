"""What grows, walks and burns: flowers, cactuses, people, fires, and things without a word."""

from __future__ import annotations

import math

import numpy as np

from visterm.datasets.scenes.canvas import Brush
from visterm.datasets.scenes.lines import points
from visterm.datasets.scenes.paint import Paint, ramp
from visterm.datasets.scenes.palette import Colour, inks, shade, veil
from visterm.datasets.scenes.view import View

_PETALS = inks("e23c3c f4c83c faf4ec aa5ab4 f082a0 f08c32 5a64c8")
_HEARTS = inks("f0be3c 5a3c28 faf0c8")
_STEMS = inks("487038 325c42 68843c")
_CACTI = inks("548054 6e8c5a 466e60")
_CLOTHES = inks("c83c32 285082 f0e6d2 ecb446 3c6e50 463c50 dc8296 282c36 78aabe")
_SKINS = inks("f0ccae c6926c 80543c 5a3c2e")
_HAIR = inks("32241e 785032 1e1c20 d2aa6e")
_FLAMES = ((1.0, (222, 70, 30)), (0.72, (246, 140, 40)), (0.42, (255, 222, 110)))


def flower(view: View) -> None:
    """A meadow in flower, or a few blooms close enough to count their petals."""
    hues = [view.choose(_PETALS) for _ in range(view.some(1, 3))]
    if view.probably(0.45):
        for _ in range(view.some(5, 11)):
            size = view.between(0.055, 0.1)
            brush = view.brush("flower").at(view.across(0.05), view.between(0.62, 0.95), size)
            _bloom(view, brush, hues[view.some(0, len(hues) - 1)])
        return
    count, top = view.some(90, 170), max(view.horizon, 0.0)
    top += (1 - top) * view.between(0.25, 0.6)
    ys = np.sort(top + (1.04 - top) * np.sqrt(view.rng.random(count)))
    for x, y in points(view.rng.uniform(0, view.wide, count), ys):
        size = (0.008 + 0.02 * view.nearness(y)) * view.between(0.7, 1.2)
        brush, hue = view.brush("flower").at(x, y, size), hues[view.some(0, len(hues) - 1)]
        brush.ellipse(0, 0, 1, 0.75, hue)
        brush.ellipse(0, -0.2, 0.5, 0.35, shade(hue, 1.35))


def _bloom(view: View, brush: Brush, hue: Colour) -> None:
    sway, ground = view.between(-0.8, 0.8), (1.09 - brush.y) / brush.size
    brush.line([(sway, ground), (sway * 0.4, ground / 2), (0, 0)], view.choose(_STEMS), 0.16)
    if view.probably(0.35):
        cup = [(-0.7, -1), (-0.3, -0.5), (0, -1.2), (0.3, -0.5), (0.7, -1), (0.6, 0.3), (0, 0.7)]
        brush.polygon([*cup, (-0.6, 0.3)], hue)
        return
    petals = view.some(5, 9)
    for petal in range(petals):
        turn, tone = 2 * math.pi * petal / petals, shade(hue, 0.9 if petal % 2 else 1.06)
        brush.ellipse(0.62 * math.cos(turn), 0.62 * math.sin(turn), 0.42, 0.42, tone)
    brush.ellipse(0, 0, 0.4, 0.4, view.choose(_HEARTS))


def cactus(view: View, x: float, y: float) -> None:
    """A tall one with arms, or a low one of flat pads."""
    green, size = view.choose(_CACTI, y), view.between(0.34, 0.58) * view.scale(y)
    brush = view.brush("cactus").at(x, y, size)
    if view.probably(0.3):
        for _ in range(7):
            at = (view.between(-0.3, 0.3), -view.between(0.1, 0.55))
            brush.ellipse(*at, 0.13, 0.17, shade(green, view.between(0.75, 1.2)))
        return
    _limb(brush, [(0, 0), (0, -1)], green, 0.16)
    for way in (-1, 1):
        if view.probably(0.8):
            low, high = -view.between(0.3, 0.5), view.between(0.2, 0.38)
            _limb(brush, [(0, low), (way * 0.26, low), (way * 0.26, low - high)], green, 0.12)
    bare = view.brush().at(x, y, size, -view.light.side)
    bare.line([(0.04, 0), (0.04, -1)], veil(shade(green, 0.3), 0.4), 0.06)


def _limb(brush: Brush, joints: list[tuple[float, float]], tone: Colour, thick: float) -> None:
    brush.line(joints, tone, thick)
    for x, y in joints[1:]:
        brush.ellipse(x, y, thick / 2, thick / 2, tone)


def people(view: View, x: float, y: float, *, wet: bool) -> None:
    """Two to five people standing about, under umbrellas where it is wet."""
    count, tall = view.some(2, 5), view.between(0.3, 0.45) * view.scale(y)
    for person in range(count):
        a = x + (person - count / 2) * tall * view.between(0.38, 0.55)
        b, high = y + view.between(-0.02, 0.02), tall * view.between(0.72, 1.05)
        _person(view, a, b, high, umbrella=wet and view.probably(0.7))


def _person(view: View, x: float, y: float, tall: float, *, umbrella: bool) -> None:
    bare, brush = (view.brush(*words).at(x, y, tall) for words in ((), ("people",)))
    coat, legs, skin = view.choose(_CLOTHES, y), view.choose(_CLOTHES, y), view.choose(_SKINS, y)
    bare.ellipse(0, 0, 0.2, 0.03, veil((10, 10, 20), 0.35))
    if view.probably(0.3):
        brush.polygon([(-0.08, -0.45), (0.08, -0.45), (0.15, -0.14), (-0.15, -0.14)], legs)
        legs = skin
    stride = view.between(0.03, 0.1)
    for way in (-1, 1):
        brush.line([(way * 0.04, -0.45), (way * stride, 0)], legs, 0.085)
        hand = (way * view.between(0.14, 0.24), view.between(-0.65, -0.39))
        brush.line([(way * 0.09, -0.76), hand], shade(coat, 0.88), 0.06)
    brush.polygon([(-0.12, -0.8), (0.12, -0.8), (0.09, -0.42), (-0.09, -0.42)], coat)
    brush.ellipse(0, -0.9, 0.075, 0.09, skin)
    brush.ellipse(0, -0.945, 0.078, 0.055, view.choose(_HAIR, y))
    if umbrella:
        silk = view.choose(_CLOTHES, y)
        brush.line([(0.12, -0.45), (0.12, -1.1)], shade(silk, 0.5), 0.025)
        turn = np.linspace(0, math.pi, 9)
        brush.polygon(points(0.12 + 0.3 * np.cos(turn), -1.1 - 0.2 * np.sin(turn)), silk)


def fire(view: View, x: float, y: float) -> None:
    """A fire of logs that lights what is around it, with smoke and sparks."""
    size = view.between(0.18, 0.32) * (0.5 + 0.5 * view.nearness(y))
    bare, brush = (view.brush(*words).at(x, y, size, view.light.side) for words in ((), ("fire",)))
    for ring in np.linspace(3.2, 0.8, 9).tolist():
        glow = veil((255, 140, 50), 0.075 if view.lamps else 0.025)
        bare.ellipse(0, -0.4, ring, ring * 0.8, glow)
    smoke = view.lit((120, 116, 116))
    for puff in range(6) if view.probably(0.6) else ():
        spot, thin = 0.16 + 0.09 * puff, veil(smoke, 0.3 - 0.04 * puff)
        bare.ellipse(0.8 * spot, -1.2 - 0.45 * puff, spot, 0.8 * spot, thin)
    for way in (-1, 1):
        brush.line([(-way * 0.5, 0.05), (way * 0.4, -0.12)], view.lit((84, 56, 40)), 0.14)
    for part, tone in _FLAMES:
        for _ in range(3):
            sway, tall = view.between(-0.22, 0.22) * part, view.between(0.8, 1.25) * part
            flame = [(-0.3, 0), (-0.27, 0.35), (-0.03, 1), (0.17, 0.5), (0.3, 0.3), (0.24, 0)]
            brush.polygon([(a * part + sway * (1 + b), -b * tall) for a, b in flame], tone)
    for _ in range(8):
        spark = (view.between(-0.6, 0.6), -view.between(0.8, 2))
        brush.ellipse(*spark, 0.025, 0.025, (255, 200, 90))


def rock(view: View, x: float, y: float) -> None:
    """A boulder that no caption names: pictures hold more than words do."""
    stone = view.choose([(120, 116, 112), (96, 92, 96), (150, 130, 110)], y)
    turn, bumps = np.linspace(math.pi, 2 * math.pi, 8), view.rng.uniform(0.75, 1.15, 8)
    brush = view.brush().at(x, y, view.between(0.05, 0.14) * view.scale(y))
    outline = points(bumps * np.cos(turn), 0.75 * bumps * np.sin(turn))
    brush.polygon(outline, Paint(ramp(stone, 1.25, 0.6), "crags", 0.5))


def fence(view: View, y: float) -> None:
    """Posts and rails across the foreground, also without a word of their own."""
    wood = view.choose([(150, 120, 90), (230, 224, 210), (96, 80, 66)], y)
    high, step = 0.13 * view.scale(y), view.between(0.12, 0.22)
    for rail in (0.35, 0.75):
        ends = [(view.left, y - high * rail), (view.right, y - high * rail)]
        view.brush().line(ends, shade(wood, 0.9), high * 0.1)
    for x in np.arange(view.left + view.between(0, step), view.right, step).tolist():
        view.brush().at(x, y, high).rectangle(-0.07, -1, 0.07, 0, wood)
