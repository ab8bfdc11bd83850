"""What is up: sky, sun, moon, stars, clouds, rainbows, birds, balloons, and rain."""

from __future__ import annotations

import math

import numpy as np

from visterm.datasets.scenes.canvas import Brush
from visterm.datasets.scenes.lines import points
from visterm.datasets.scenes.paint import Paint
from visterm.datasets.scenes.palette import Colour, inks, mix, shade, veil
from visterm.datasets.scenes.view import View

WHITE: Colour = (255, 252, 244)


def sky(view: View, *, cloudy: bool) -> None:
    """The sky down to the horizon; where ``cloudy`` no blue is left in it."""
    texture = "billows" if cloudy else view.one("strokes", "wash", "strokes")
    slope = 0.55 if cloudy else view.between(0.78, 0.93)
    paint = Paint(view.light.sky, texture, slope, view.between(0.8, 1.8))
    brush = view.brush("sky", "cloud") if cloudy else view.brush("sky")
    brush.rectangle(view.left, view.left, view.right, view.horizon + 0.06, paint)


def _aloft(view: View, size: float, lowest: float) -> tuple[float, float]:
    """Somewhere in the sky that leaves most of a disc of that size to be seen."""
    highest = min(size * 0.9, lowest)
    return view.across(0.1), view.between(highest, max(lowest, highest + 0.01))


def sun(view: View) -> None:
    """A disc with a glow, pale at noon and red in the evening, sometimes in rays."""
    size = view.between(0.075, 0.15)
    x, y = _aloft(view, size, view.horizon - size * view.between(-0.4, 1.5))
    high = view.light.name == "day"
    colour = (255, 244, 200) if high else mix((255, 226, 150), (246, 92, 50), view.between(0, 1))
    halo = mix(colour, WHITE, 0.3)
    bare, disc = view.brush().at(x, y, size), view.brush("sun").at(x, y, size)
    if view.probably(0.25):
        turn, rays, far = view.between(0, 1), view.some(9, 15), 2 / size
        for ray in range(rays):
            edges = [2 * math.pi * (ray + turn + part) / rays for part in (0, 0.42)]
            tips = [(far * math.cos(t), far * math.sin(t)) for t in edges]
            bare.polygon([(0, 0), *tips], veil(halo, 0.16))
    for ring in np.linspace(3.4, 1.5, 7).tolist():
        bare.ellipse(0, 0, ring, ring, veil(halo, 0.08))
    disc.ellipse(0, 0, 1.3, 1.3, veil(halo, 0.45))
    disc.ellipse(0, 0, 1, 1, colour)


def moon(view: View) -> None:
    """A full moon with its seas, or a crescent."""
    size = view.between(0.07, 0.12)
    x, y = _aloft(view, size, max(view.horizon - 1.6 * size, size))
    colour = mix((250, 244, 214), (236, 178, 110), view.between(0, 0.7))
    bare, disc = view.brush().at(x, y, size), view.brush("moon").at(x, y, size, view.light.side)
    for ring in (2.6, 1.8):
        bare.ellipse(0, 0, ring, ring, veil(colour, 0.09))
    if view.probably(0.55):
        disc.ellipse(0, 0, 1, 1, colour)
        for _ in range(4):
            turn, out, spot = view.between(0, 6.3), view.between(0.1, 0.6), view.between(0.1, 0.25)
            at = (out * math.cos(turn), out * math.sin(turn))
            bare.ellipse(*at, spot, spot * 0.8, shade(colour, 0.88))
        return
    lean, hollow = view.between(-0.8, 0.8), view.between(0.2, 0.6)
    half = np.linspace(-math.pi / 2, math.pi / 2, 16)
    sickle = points(np.cos(half), np.sin(half))
    sickle += [(hollow * a, b) for a, b in sickle[::-1]]
    c, s = 1.25 * math.cos(lean), 1.25 * math.sin(lean)
    disc.polygon([(a * c - b * s, a * s + b * c) for a, b in sickle], colour)


def star(view: View) -> None:
    """Stars over the whole sky, a few of them large enough to twinkle."""
    count = view.some(45, 120)
    xs = view.rng.uniform(view.left, view.right, count)
    ys = view.rng.uniform(view.left, 0.95 * view.horizon, count)
    for x, y in points(xs, ys):
        size = view.between(0.004, 0.0085)
        glow = mix(WHITE, (170, 200, 255), view.between(0, 0.8))
        brush = view.brush("star").at(x, y, size)
        brush.ellipse(0, 0, 1.5, 1.5, veil(glow, 0.3))
        brush.ellipse(0, 0, 0.8, 0.8, glow)
        if size > 0.0078:
            brush.line([(-3, 0), (3, 0)], veil(glow, 0.7), 0.5)
            brush.line([(0, -3), (0, 3)], veil(glow, 0.7), 0.5)


def cloud(view: View) -> None:
    """Heaps with flat feet, long thin bars, or drifting wisps."""
    base = {"dusk": (255, 190, 150), "dawn": (255, 226, 214), "night": (96, 110, 150)}
    colour = mix(base.get(view.light.name, WHITE), view.light.sky[1], view.between(0, 0.3))
    under = mix(view.light.sky[0], colour, view.between(0.35, 0.65))
    kind = view.rng.random()
    if kind < 0.3:
        box = (view.left, view.left, view.right, view.horizon * view.between(0.7, 0.98))
        view.brush("cloud").drift(*box, under, view.between(0.45, 0.6))
        view.brush("cloud").drift(*box, colour, view.between(0.4, 0.5))
        return
    for _ in range(view.some(2, 5)):
        y = view.between(0.1, max(0.85 * view.horizon, 0.16))
        size = view.between(0.1, 0.26) * (0.5 + 0.7 * (1 - y / max(view.horizon, 0.2)))
        brush = view.brush("cloud").at(view.across(0), y, size)
        (_heap if kind < 0.75 else _bar)(view, brush, colour, under)


def _heap(view: View, brush: Brush, colour: Colour, under: Colour) -> None:
    places = np.linspace(-1, 1, view.some(4, 6))
    heights = (1.05 - 0.75 * np.abs(places)) * view.rng.uniform(0.4, 0.75, len(places))
    for lift, tone in ((0.0, under), (0.12, colour)):
        for x, high in points(places, heights):
            brush.ellipse(x, -high * 0.55 - lift, 0.42, high * 0.62, tone)
    brush.ellipse(0, 0.02, 1.35, 0.16, under)


def _bar(view: View, brush: Brush, colour: Colour, under: Colour) -> None:
    for _ in range(3):
        x, y = view.between(-1, 1), view.between(-0.3, 0.3)
        brush.ellipse(x, y + 0.04, 1.6, 0.1, under)
        brush.ellipse(x, y, view.between(1.1, 1.6), 0.09, colour)


_ARCH = inks("ce3c3c ee963c f4dc5a 5ab464 4682d2 825abe")


def rainbow(view: View) -> None:
    """An arch over the land."""
    x, y = view.across(0.2), view.horizon + view.between(0.0, 0.2)
    radius, band = view.between(0.45, 0.8), view.between(0.016, 0.026)
    for ring, hue in enumerate(_ARCH):
        colour = veil(mix(hue, view.light.sky[-1], 0.1), 0.75)
        view.brush("rainbow").arch(x, y, radius - ring * band, colour, band * 1.15)


def bird(view: View) -> None:
    """A flock on the wing, or one or two birds close by."""
    pale = not view.light.dark and view.light.sky[1][2] < 225
    tone = view.choose([(24, 26, 34), (60, 56, 60), (250, 248, 240) if pale else (40, 30, 36)])
    near = view.probably(0.3)
    x, y = view.across(0.35), view.between(0.14, max(view.horizon * 0.7, 0.35))
    for _ in range(view.some(1, 2) if near else view.some(6, 12)):
        size = view.between(0.13, 0.2) if near else view.between(0.055, 0.1)
        spread = 0.12 if near else 0.3
        a, b = x + view.rng.normal(0, spread), y + view.rng.normal(0, spread / 3)
        _gull(view, view.brush("bird").at(float(a), max(float(b), 0.06), size), tone)


def _gull(view: View, brush: Brush, tone: Colour) -> None:
    lift, lean = view.between(0.25, 0.6), view.between(-0.15, 0.15)
    for side in (-1, 1):
        rise = side * lean
        wing = [(side * 0.5, -lift - rise / 2), (side, -lift * 0.4 - rise)]
        wing.append((side * 0.45, 0.16 - lift - rise / 2))
        brush.polygon([(0, -0.08), *wing, (0, 0.16)], shade(tone, 1.0 if side > 0 else 1.25))
    brush.ellipse(0, 0.03, 0.13, 0.17, tone)


_SILKS = inks("ce3a34 f0be46 287896 f5eedc 5a4682 e8783c")


def balloon(view: View) -> None:
    """A hot-air balloon or two, striped."""
    for number in range(view.some(1, 2)):
        size = view.between(0.12, 0.2) * (0.6 if number else 1)
        lowest = max(view.horizon - size * 1.4, size + 0.06)
        brush = view.brush("balloon").at(view.across(0.15), view.between(size + 0.03, lowest), size)
        silks = [view.choose(_SILKS), view.choose(_SILKS)]
        brush.polygon([(-0.8, 0.55), (0.8, 0.55), (0.16, 1.3), (-0.16, 1.3)], silks[0])
        for stripe, part in enumerate((1.0, 0.74, 0.42, 0.14)):
            brush.ellipse(0, 0, part, 1, silks[stripe % 2])
        basket = view.lit((120, 84, 50))
        brush.rectangle(-0.15, 1.42, 0.15, 1.68, basket)
        for x in (-0.13, 0.13):
            brush.line([(x, 1.25), (x, 1.45)], basket, 0.03)


def rain(view: View) -> None:
    """Streaks over everything, under a grey veil."""
    bare = view.brush()
    mist = veil(view.light.haze, view.between(0.08, 0.22))
    bare.rectangle(view.left, view.left, view.right, 1.1, mist)
    count, slant = view.some(220, 380), view.between(-0.4, 0.4)
    drop = veil(mix(view.light.sky[-1], WHITE, 0.6), view.between(0.4, 0.7))
    long = view.between(0.05, 0.13)
    xs = view.rng.uniform(-0.2, view.wide + 0.2, count)
    for x, y in points(xs, view.rng.uniform(-0.1, 1.05, count)):
        bare.line([(x, y), (x + slant * long, y + long)], drop, 0.006)
