"""Trees: whole forests, and single ones, round, pointed, tall, bare, in blossom, or palms."""

from __future__ import annotations

import math

import numpy as np

from visterm.datasets.scenes.canvas import Brush
from visterm.datasets.scenes.land import SNOW
from visterm.datasets.scenes.lines import Line, blob, close, skyline
from visterm.datasets.scenes.paint import Paint, ramp
from visterm.datasets.scenes.palette import Colour, inks, mix, pick, shade, veil
from visterm.datasets.scenes.view import View

_WOODS = inks("3a623a 2c5446 58763a 4c6854 b07432 a04e30 78803c")
_GREENS = inks("487038 325c42 68843c 54785c 828c46")
_AUTUMN = inks("cc782c b2422a dea83c 965032")
_BLOSSOM = inks("ecb0ba f6d6d8 e28ca0")
_FIRS = inks("28543e 36603c 466050 546e42 2e4e5a")
_BARK = inks("604634 463a36 78604c c8c2b6")


def forest(view: View, *, deep: bool) -> None:
    """Trees in rows, the nearer the larger: a belt at the horizon, or ``deep`` to one's feet."""
    pointed = view.probably(0.55)
    leaves = pick(view.rng, _FIRS if pointed else _WOODS)
    y, belt = max(view.horizon, 0.0) + 0.05, view.some(2, 3)
    while y < 1.25:
        height = view.between(0.15, 0.24) * (0.75 + 1.1 * view.nearness(y))
        tone = view.lit(shade(pick(view.rng, [leaves]), 1.15 - 0.4 * view.nearness(y)), y + 0.15)
        line = (_spires if pointed else _crowns)(view, y, height)
        texture = view.one("needles", "dabs") if pointed else "dabs"
        hues = (shade(tone, 0.6), tone, shade(tone, 1.35))
        foot = 1.09 if deep else y + height * 0.3
        view.brush("forest").polygon(close(line, foot), Paint(hues, texture, 0.1, 0.9))
        if view.winter:
            white = view.lit(SNOW, y + 0.15)
            _frost(view, line, pointed=pointed, height=height, white=white)
        belt -= 1
        if not deep and belt == 0:
            break
        y += height * (view.between(0.5, 0.75) if deep else 0.2)


def _frost(view: View, line: Line, *, pointed: bool, height: float, white: Colour) -> None:
    """Snow on a row of trees: down both sides of every point, or in a band over round crowns."""
    brush = view.brush("forest", "snow")
    if not pointed:
        under = [(x, y + height * view.between(0.1, 0.2)) for x, y in line[::-1]]
        brush.polygon([*line, *under], white)
        return
    for at in range(2, len(line) - 2):
        two, one, top, next_one, next_two = line[at - 2 : at + 3]
        if top[1] < min(one[1], next_one[1]):
            dip = (top[0], top[1] + 0.6 * (max(one[1], next_one[1]) - top[1]))
            brush.polygon([two, one, top, next_one, next_two, dip], white)


_BOUGHS = ((0, 0), (0.5, 0.36), (0.36, 0.4), (0.8, 0.7), (0.66, 0.74), (1, 1))
"""Half a fir, from its foot to its top."""


def _spires(view: View, y: float, height: float) -> Line:
    line: Line = []
    x = view.left - height * view.between(0, 0.2)
    while x < view.right:
        tall, half = height * view.between(0.6, 1.1), height * view.between(0.17, 0.27)
        line += [(x + half * a, y - tall * b) for a, b in _BOUGHS]
        line += [(x + half * (2 - a), y - tall * b) for a, b in _BOUGHS[-2::-1]]
        x += 1.75 * half
    return [*line, (x, y)]


def _crowns(view: View, y: float, height: float) -> Line:
    line: Line = []
    x = view.left - height * view.between(0, 0.2)
    while x < view.right:
        tall, half = height * view.between(0.55, 0.95), height * view.between(0.2, 0.34)
        for t in (0.0, 0.25, 0.5, 0.75):
            dip = half * (1 - math.sin(math.pi * (0.15 + 0.7 * t)))
            line.append((x + 2 * half * t, y - tall + dip))
        x += 1.8 * half
    return [*line, (x, y)]


def woods(view: View) -> None:
    """Among the trees: trunks from the ground out of the picture, light between them."""
    leaves, bark = view.choose(_WOODS), view.choose(_BARK)
    glow = mix(leaves, view.light.sky[-1], 0.5)
    brush = view.brush("forest")
    back = Paint((shade(leaves, 0.6), leaves, glow), "dabs", 0.3, 1.2)
    brush.rectangle(view.left, view.left, view.right, view.horizon + 0.1, back)
    floor = view.lit(SNOW) if view.winter else mix(leaves, view.lit((120, 96, 60)), 0.5)
    ground = view.brush("forest", "snow") if view.winter else brush
    carpet = Paint(ramp(floor, 1.1, 0.7), view.one("dabs", "wash", "grain"), 0.4, 1.0, True)
    ground.polygon(close(skyline(view, view.horizon, 0.02)), carpet)
    for near in (0.15, 0.5, 0.9):
        tone = mix(bark, glow, 0.62 * (1 - near))
        for _ in range(view.some(3, 7)):
            half, lean = 0.012 + 0.034 * near * view.between(0.6, 1.2), view.between(-1.5, 1.5)
            y = view.horizon + 0.3 * near + view.between(-0.02, 0.04)
            high = -(y + 0.1) / half
            trunk = [(lean - 0.8, high), (lean + 0.8, high), (1, -2), (1.5, 0), (-1.5, 0), (-1, -2)]
            x = view.between(view.left, view.right)
            brush.at(x, y, half).polygon(trunk, Paint(ramp(tone, 0.7, 1.25), "needles", 0.0, 0.8))


def tree(view: View, x: float, y: float, *, warm: bool) -> None:
    """One tree of some kind; a palm where it is warm."""
    brush = view.brush("tree").at(x, y, view.between(0.42, 0.72) * view.scale(y))
    bark, kind = view.choose(_BARK, y), view.rng.random()
    if warm:
        _palm(view, brush, bark)
    elif kind < 0.28:
        _fir(view, brush, bark)
    elif kind < 0.42 or (view.winter and kind < 0.7):
        _branch(view, brush, (0, 0), -math.pi / 2, 0.36, 0.06, bark, 4)
    else:
        _crown(view, brush, bark, slim=kind > 0.88)


def _crown(view: View, brush: Brush, bark: Colour, *, slim: bool) -> None:
    season = view.rng.random()
    kinds = _GREENS if season < 0.6 else _AUTUMN if season < 0.85 else _BLOSSOM
    leaves = view.choose(kinds, brush.y)
    brush.polygon([(-0.045, 0), (-0.027, -0.6), (0.027, -0.6), (0.045, 0)], bark)
    across, down = (0.13, 0.42) if slim else (view.between(0.26, 0.38), 0.33)
    middle = down - 1
    outline = [(a, b + middle) for a, b in blob(view.rng, across, down, view.some(6, 9), 0.07)]
    hues = (shade(leaves, 1.35), leaves, shade(leaves, 0.55))
    brush.polygon(outline, Paint(hues, "dabs", 0.42, 0.9))
    bare = view.brush().at(brush.x, brush.y, brush.size, view.light.side)
    sunny = veil(shade(leaves, 1.5), 0.25)
    bare.ellipse(across * 0.4, middle - down * 0.3, across * 0.45, down * 0.4, sunny)
    if view.winter:
        cap = sorted((a, b) for a, b in outline if b < middle - down * 0.35)
        white = view.brush("tree", "snow").at(brush.x, brush.y, brush.size)
        white.polygon([*cap, (0, middle - down * 0.2)], view.lit(SNOW, brush.y))


def _fir(view: View, brush: Brush, bark: Colour) -> None:
    leaves, tiers, half = view.choose(_FIRS, brush.y), view.some(3, 5), view.between(0.2, 0.3)
    white = view.brush("tree", "snow").at(brush.x, brush.y, brush.size)
    bare = view.brush().at(brush.x, brush.y, brush.size, -view.light.side)
    brush.rectangle(-0.03, -0.15, 0.03, 0, bark)
    for tier in range(tiers):
        foot, wide = -0.1 - 0.72 * tier / tiers, half * (1 - 0.72 * tier / tiers)
        top = foot - 0.9 / tiers - 0.16
        needles = Paint(ramp(leaves, 0.7, 1.25), "needles", 0.0, 0.8)
        brush.polygon([(-wide, foot), (0, top), (wide, foot), (0, foot + wide * 0.12)], needles)
        bare.polygon([(wide, foot), (0, top), (0, foot)], veil(shade(leaves, 0.3), 0.35))
        for side in (-1, 1) if view.winter else ():
            # Inside the outline, or a fir before a white field would lose its shape.
            rise = foot - top
            patch = [(0.72, -0.04), (0.3, -0.5), (0.16, -0.12)]
            dabs = [(side * wide * a, foot + rise * b) for a, b in patch]
            white.polygon(dabs, view.lit(SNOW, brush.y))


def _palm(view: View, brush: Brush, bark: Colour) -> None:
    lean = view.between(-0.3, 0.3)
    brush.line([(lean * t * t, -t) for t in np.linspace(0, 1, 7).tolist()], bark, 0.06)
    leaves, fronds = view.choose(_GREENS, brush.y), view.some(7, 10)
    for frond in range(fronds):
        turn = math.pi * (1.15 * frond / (fronds - 1) - 0.075) + view.between(-0.1, 0.1)
        reach, c, s = view.between(0.38, 0.5), math.cos(turn), math.sin(turn)
        along = (0, 0.35, 0.7, 1)
        rib = [(lean - reach * t * c, reach * (0.55 * t * t - 0.75 * t * s) - 1) for t in along]
        under = [(a, b + w) for (a, b), w in zip(rib[::-1], (0.0, 0.05, 0.07, 0.02), strict=True)]
        brush.polygon([*rib, *under], shade(leaves, view.between(0.75, 1.25)))


def _branch(
    view: View, brush: Brush, at: tuple[float, float], turn: float, long: float, thick: float,
    bark: Colour, forks: int,
) -> None:  # fmt: skip
    end = (at[0] + long * math.cos(turn), at[1] + long * math.sin(turn))
    brush.line([at, end], bark, thick)
    for way in (-1, 1) if forks else ():
        bend, less = way * view.between(0.25, 0.6), view.between(0.62, 0.8)
        _branch(view, brush, end, turn + bend, long * less, thick * 0.62, bark, forks - 1)
