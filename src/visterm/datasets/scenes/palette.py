"""Colours and the light that falls on them: one word looks different at dawn, at noon, at night."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Colour = tuple[int, ...]
"""Red, green, blue, and for veils and glows an opacity, each from 0 to 255."""


@dataclass(frozen=True)
class Light:
    """The hour of a picture.

    ``sky`` runs from the top to the horizon; ``tint`` multiplies what the light falls on; ``side``
    is -1 where it comes from the left and +1 where it comes from the right.
    """

    name: str
    sky: tuple[Colour, ...]
    tint: tuple[float, float, float]
    side: int

    @property
    def dark(self) -> bool:
        """Whether windows, lamps and stars shine."""
        return self.name == "night"

    @property
    def haze(self) -> Colour:
        """The colour into which far things fade."""
        return mix(self.sky[-1], self.sky[-2], 0.25)

    def on(self, colour: Colour, distance: float = 0.0) -> Colour:
        """How a colour looks in this light, and from ``distance`` (0 near, 1 at the horizon)."""
        lit = tuple(_clip(value * tint) for value, tint in zip(colour, self.tint, strict=False))
        return mix(lit, self.haze, 0.62 * min(max(distance, 0.0), 1.0)) + tuple(colour[3:])


_SKIES: dict[str, tuple[tuple[Colour, ...], ...]] = {
    "dawn": (
        ((104, 122, 176), (238, 178, 166), (255, 228, 186)),
        ((126, 160, 190), (250, 206, 176), (255, 240, 212)),
        ((150, 124, 172), (242, 166, 154), (253, 218, 166)),
        ((88, 148, 160), (206, 206, 180), (252, 224, 168)),
    ),
    "day": (
        ((52, 118, 186), (124, 184, 222), (226, 238, 234)),
        ((34, 146, 184), (138, 208, 212), (246, 240, 216)),
        ((92, 146, 206), (168, 204, 230), (240, 242, 238)),
        ((24, 96, 160), (70, 150, 200), (178, 216, 226)),
        ((120, 180, 180), (196, 218, 200), (248, 236, 204)),
    ),
    "dusk": (
        ((48, 40, 92), (192, 82, 92), (252, 164, 84)),
        ((30, 62, 104), (230, 124, 74), (255, 204, 116)),
        ((84, 42, 92), (204, 74, 102), (250, 146, 112)),
        ((20, 72, 92), (126, 150, 130), (247, 192, 112)),
        ((150, 50, 44), (226, 96, 52), (255, 190, 90)),
    ),
    "night": (
        ((9, 13, 40), (24, 38, 84), (66, 86, 128)),
        ((7, 22, 38), (18, 56, 76), (52, 104, 114)),
        ((24, 14, 50), (58, 38, 88), (112, 80, 112)),
        ((14, 16, 26), (34, 40, 58), (74, 80, 96)),
    ),
    "overcast": (
        ((128, 138, 148), (166, 172, 178), (204, 206, 203)),
        ((92, 106, 122), (136, 148, 158), (184, 190, 190)),
        ((168, 163, 153), (190, 186, 176), (216, 210, 198)),
        ((110, 124, 120), (150, 162, 156), (198, 204, 194)),
    ),
}
_TINTS = {
    "dawn": (1.0, 0.89, 0.84),
    "day": (1.0, 1.0, 0.97),
    "dusk": (0.84, 0.64, 0.60),
    "night": (0.38, 0.44, 0.62),
    "overcast": (0.76, 0.79, 0.82),
}


def choose_light(rng: np.random.Generator, name: str) -> Light:
    """A light of one of the five hours; its sky and its side differ from picture to picture."""
    skies = _SKIES[name]
    hue, strength = rng.normal(0, 0.012), rng.uniform(0.85, 1.12)
    sky = tuple(turn(colour, hue, strength) for colour in skies[int(rng.integers(len(skies)))])
    red, green, blue = (float(value * rng.uniform(0.95, 1.05)) for value in _TINTS[name])
    return Light(name, sky, (red, green, blue), side=int(rng.choice([-1, 1])))


def inks(codes: str) -> tuple[Colour, ...]:
    """Colours from their codes.

    >>> inks("ff8000 0a0a14")
    ((255, 128, 0), (10, 10, 20))
    """
    return tuple(tuple(bytes.fromhex(code)) for code in codes.split())


def _clip(value: float) -> int:
    return min(max(round(value), 0), 255)


def mix(a: Colour, b: Colour, share: float) -> Colour:
    """``share`` of ``b`` in ``a``.

    >>> mix((0, 0, 0), (200, 100, 50), 0.5)
    (100, 50, 25)
    """
    return tuple(_clip(x + (y - x) * share) for x, y in zip(a[:3], b[:3], strict=True))


def shade(colour: Colour, factor: float) -> Colour:
    """A darker (below 1) or lighter (above 1) colour.

    >>> shade((100, 50, 200), 1.5)
    (150, 75, 255)
    """
    return tuple(_clip(value * factor) for value in colour[:3])


def veil(colour: Colour, opacity: float) -> Colour:
    """The colour as a glaze: 0 is clear, 1 covers.

    >>> veil((10, 20, 30), 0.5)
    (10, 20, 30, 128)
    """
    return (*colour[:3], _clip(255 * opacity))


def turn(colour: Colour, hue: float, strength: float = 1.0) -> Colour:
    """The colour with its hue turned (1 is the whole circle) and its saturation scaled."""
    h, s, v = colorsys.rgb_to_hsv(*(value / 255 for value in colour[:3]))
    turned = colorsys.hsv_to_rgb((h + hue) % 1, min(s * strength, 1), v)
    return tuple(_clip(255 * x) for x in turned)


def pick(rng: np.random.Generator, colours: Sequence[Colour]) -> Colour:
    """One of some colours, never twice quite the same."""
    chosen = colours[int(rng.integers(len(colours)))]
    turned = turn(chosen, rng.normal(0, 0.015), rng.uniform(0.8, 1.15))
    return shade(turned, rng.uniform(0.86, 1.12))
