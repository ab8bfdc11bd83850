"""What lies under the sky: mountains, fields, sand and water."""

from __future__ import annotations

import numpy as np

from visterm.datasets.scenes.lines import Line, close, points, roughness, skyline
from visterm.datasets.scenes.paint import Paint, ramp
from visterm.datasets.scenes.palette import Colour, inks, mix, pick, shade, veil
from visterm.datasets.scenes.view import View

SNOW: Colour = (244, 248, 252)

_ROCKS = inks("70748c 866e64 5c6874 967882 607668 9c644c")
_CROPS = inks("789e46 5c8a42 ceb256 96a854 92764c 8e709e b0be60")
_SANDS = inks("e2b274 d69660 e8ca98 c4805c")
_SHORES = inks("e8cea0 debe8c f0e0be b0a69c cea682")
_DEEPS = inks("1e5478 186e82 347880 3c5464 243c6e 509696")


def mountain(view: View, *, snow: bool, tall: bool) -> None:
    """One to three chains of peaks, each nearer and darker than the last, or table mountains."""
    rock = pick(view.rng, _ROCKS)
    if not snow and not tall and view.probably(0.12):
        _tables(view, rock)
        return
    chains = view.some(1, 3)
    reach = view.between(0.95, 1.3) if tall else view.between(0.3, 0.58)
    cap = view.between(0.25, 0.6)
    for chain in range(chains):
        far = 0.75 - chain / 6
        peaks = view.some(2, 4) + (chain < chains - 1)
        for place in view.rng.permutation(peaks).tolist():
            x = view.wide * (place + view.between(0.1, 0.9)) / peaks
            height = reach * (1 - 0.22 * chain) * view.between(0.65, 1.0)
            _peak(view, x, height, view.light.on(rock, far), cap * height / reach if snow else 0)


def _peak(view: View, x: float, height: float, rock: Colour, snow: float) -> None:
    foot, broad = view.horizon + 0.05, height * view.between(0.75, 1.25) + 0.08
    fall = np.linspace(0, 1, 10)
    flanks: list[Line] = []
    for side in (-1, 1):
        out = side * broad * fall**1.15 + roughness(view.rng, 10, 0.016) * (fall > 0)
        down = foot - height * (1 - fall) + roughness(view.rng, 10, 0.012) * (fall > 0)
        flanks.append(points(x + out, down))
    left, right = flanks
    rocky = Paint(ramp(rock, 0.6, 1.4), "crags", 0.2, 0.9)
    view.brush("mountain").polygon([*left[::-1], *right[1:]], rocky)
    if snow > 0:
        deep = max(round(9 * snow), 2)
        edge = np.linspace(right[deep][0], left[deep][0], 2 * deep + 1)[1:-1]
        drop = foot - height * (1 - fall[deep]) + view.rng.uniform(-0.07, 0.06, len(edge))
        cap = [*left[deep::-1], *right[1 : deep + 1], *points(edge, drop)]
        white = Paint(ramp(view.light.on(SNOW, 0.3), 0.86, 1.06), "crags", 0.0, 0.8)
        view.brush("mountain", "snow").polygon(cap, white)
    # The side away from the light, from the top down a crooked ridge.
    dim = right if view.light.side < 0 else left
    ridge = x + roughness(view.rng, 8, 0.05) + broad * 0.12 * view.light.side
    inner = points(ridge, np.linspace(foot, foot - height, 8))[:-1]
    shadow = veil(mix(shade(rock, 0.35), view.light.sky[0], 0.35), 0.42)
    view.brush().polygon([*dim, *inner], shadow)


def _tables(view: View, rock: Colour) -> None:
    for _ in range(view.some(1, 3)):
        half, high = view.between(0.1, 0.3), view.between(0.2, 0.42)
        colour = view.light.on(mix(rock, (178, 92, 60), 0.6), view.between(0.1, 0.7))
        x, foot, top = view.across(0.1), view.horizon + 0.05, -high / half
        block = [(-1.35, 0), (-1, top + 0.4), (-0.9, top), (0.85, top), (1, top + 0.4), (1.35, 0)]
        strata = Paint(ramp(colour, 0.7, 1.3), "strokes", 0.2)
        view.brush("mountain").at(x, foot, half).polygon(block, strata)
        dim = [(0.2, top), (0.87, top), (1, top + 0.4), (1.35, 0), (0.4, 0)]
        view.brush().at(x, foot, half, -view.light.side).polygon(dim, veil(shade(colour, 0.4), 0.4))


def field(view: View) -> None:
    """Rolling fields: grass, corn, lavender or earth, in rows or in tufts; white in winter."""
    hills = view.some(1, 3)
    for hill in range(hills):
        y = view.horizon + (1 - view.horizon) * 0.72 * hill / hills
        swell = view.between(0.005, 0.05) if hills > 1 else 0.008
        colour, contrast = pick(view.rng, _CROPS), view.between(0.18, 0.34)
        texture = view.one("rows", "strokes", "dabs", "grain", "rows")
        brush = view.brush("field")
        if view.winter:
            colour, contrast = mix(SNOW, colour, view.between(0.0, 0.1)), 0.1
            texture, brush = view.one("wash", "strokes", "grain"), view.brush("field", "snow")
        far, near = view.lit(colour, y), view.lit(colour, (y + 1.3) / 2)
        hues = (mix(far, view.light.haze, 0.1), *ramp(near, 1 + contrast, 1 - contrast)[::2])
        paint = Paint(hues, texture, 0.35, view.between(0.8, 1.3), True, view.across(0.2))
        brush.polygon(close(skyline(view, y, swell)), paint)


def desert(view: View) -> None:
    """A plain of sand, and dunes on it with a lit and a dark side."""
    sand = pick(view.rng, _SANDS)
    brush, away = view.brush("desert"), view.across(0.3)
    tone = view.lit(sand, view.horizon + 0.15)
    plain = Paint(ramp(tone, 1.1, 0.85), "ripples", 0.35, view.between(0.8, 1.4), True, away)
    brush.polygon(close(skyline(view, view.horizon, 0.012)), plain)
    for dune in range(view.some(0, 3)):
        _dune(view, sand, view.horizon + (1 - view.horizon) * (0.14 + 0.26 * dune))


def _dune(view: View, sand: Colour, y: float) -> None:
    """A crest across the picture; behind its edge, away from the light, the sand lies in shadow."""
    side, x = view.light.side, view.across(0.15)
    high, tone = view.between(0.08, 0.17) * (0.5 + view.nearness(y)), view.lit(sand, y)
    half = high * view.between(4, 7)
    xs = np.linspace(view.left, view.right, 41)
    crest = y - high * np.exp(-(np.abs((xs - x) / half) ** 1.3)) + 0.3 * high
    lit = Paint(ramp(tone, 1.15, 0.85), view.one("ripples", "grain", "strokes"), 0.45)
    view.brush("desert").polygon(close(points(xs, crest)), lit)
    dim = (xs - x) * side <= 0
    # The shadow begins as a point at the top, widens down the slope and thins out along its foot.
    reach = np.abs(xs[dim] - x) / half
    edge = crest[dim] + high * 2.2 * reach * np.exp(-(reach**1.5))
    outline = points(xs[dim], crest[dim]) + points(xs[dim], edge)[::-1]
    view.brush().polygon(outline, veil(mix(shade(tone, 0.45), view.light.sky[0], 0.3), 0.5))


def sea(view: View) -> None:
    """Water to the horizon: calm, rippled or rough, in the colours of its sky or of its own."""
    deep = pick(view.rng, _DEEPS)
    near = view.lit(deep)
    far = mix(view.lit(deep, view.horizon), view.light.sky[-1], 0.45)
    crest = mix(near, view.light.sky[-1], view.between(0.25, 0.65))
    hues = (far, mix(near, crest, 0.7), near, shade(near, 0.75))
    texture = view.one("strokes", "ripples", "strokes", "wash")
    paint = Paint(hues, texture, view.between(0.35, 0.65), view.between(0.7, 1.5), True)
    view.brush("sea").rectangle(view.left, view.horizon, view.right, 1.09, paint)
    for _ in range(view.some(0, 40)):
        y = view.horizon + (1 - view.horizon) * float(view.rng.random()) ** 1.3 + 0.01
        long, thick = view.between(0.03, 0.1) * view.scale(y), 0.0035 + 0.004 * view.nearness(y)
        view.brush().ellipse(view.across(0), y, long, thick, veil(crest, 0.55))


def beach(view: View) -> None:
    """A shore of sand or shingle in front of the sea."""
    top = max(view.horizon, 0.0)
    y, tip = top + (1 - top) * view.between(0.4, 0.72), view.between(-0.25, 0.25)
    line = skyline(view, y, view.between(0.01, 0.06))
    line = [(a, max(b + tip * (a - view.wide / 2), top + 0.08)) for a, b in line]
    foam, tone = view.lit((250, 250, 246)), view.choose(_SHORES, 0.9)
    for lift, opacity in ((0.045, 0.35), (0.02, 0.8)):
        view.brush().polygon(close([(a, b - lift) for a, b in line]), veil(foam, opacity))
    hues = (shade(tone, 0.72), tone, shade(tone, 1.1), tone)
    sand = Paint(hues, "grain", 0.3, view.between(0.8, 1.5), True)
    view.brush("beach").polygon(close(line), sand)
