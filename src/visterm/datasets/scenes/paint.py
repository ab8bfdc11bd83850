"""Paint: colours laid on with the grain of a surface."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image

from visterm.datasets.scenes.palette import Colour, shade
from visterm.datasets.scenes.textures import SIDE, tile

Box = tuple[int, int, int, int]
"""Left, top, right and foot, in pixels."""


@dataclass(frozen=True)
class Paint:
    """Colours laid on with a texture.

    ``slope`` says how much of the ramp runs down the shape (1) and how much follows the texture
    (0). On ``ground`` the texture is seen in perspective, running away to a point at ``away``.
    """

    ramp: tuple[Colour, ...]
    texture: str = "wash"
    slope: float = 0.0
    scale: float = 1.0
    ground: bool = False
    away: float = 0.75

    def swatch(self, rng: np.random.Generator, box: Box, unit: float, left: float) -> Image.Image:
        """The paint as pixels for a box of the canvas of which ``unit`` pixels are one height."""
        width, height = box[2] - box[0], box[3] - box[1]
        zoom = self.scale * rng.uniform(0.75, 1.35) * unit / 256
        if self.ground:
            grey = _in_perspective(rng, self.texture, width, height, zoom, left)
        else:
            grey = crop(rng, self.texture, width, height, zoom)
        if self.slope:
            fall = Image.linear_gradient("L").resize((width, height), Image.Resampling.NEAREST)
            grey = Image.blend(grey, fall, self.slope)
        stops = np.asarray([colour[:3] for colour in self.ramp], float)
        at = np.linspace(0, len(stops) - 1, 256)
        low = np.minimum(at.astype(int), max(len(stops) - 2, 0))
        high = np.minimum(low + 1, len(stops) - 1)
        ramp = stops[low] + (stops[high] - stops[low]) * (at - low)[:, None]
        grey.putpalette(ramp.astype(np.uint8).tobytes())
        return grey.convert("RGB")


def crop(
    rng: np.random.Generator, texture: str, width: int, height: int, zoom: float
) -> Image.Image:
    across, down = min(width / zoom, SIDE - 1), min(height / zoom, SIDE - 1)
    x, y = rng.uniform(0, SIDE - across), rng.uniform(0, SIDE - down)
    box = (x, y, x + across, y + down)
    return tile(texture).resize((width, height), Image.Resampling.BILINEAR, box)


def _in_perspective(
    rng: np.random.Generator, texture: str, width: int, height: int, zoom: float, away: float
) -> Image.Image:
    """The texture lying flat: at the top of the box ``depth`` times smaller than at its foot."""
    depth = 1 + 5.0 * min(height / (256 * zoom), 1.5)
    bend = (depth - 1) / max(height, 1)
    step = min(0.55 * depth / zoom, (SIDE - 4) / max(width, 1))
    x = rng.uniform(0, max(SIDE - step * width, 1)) + step * away
    y = rng.uniform(0, SIDE / 3)
    fall = min(0.6 * depth / zoom, 0.6 * SIDE * depth / max(height, 1))
    coefficients = (step, x * bend, x - step * away, 0.0, fall + y * bend, y, 0.0, bend)
    source = tile(texture)
    return source.transform(
        (width, height), Image.Transform.PERSPECTIVE, coefficients, Image.Resampling.BILINEAR
    )


def ramp(colour: Colour, first: float, last: float) -> tuple[Colour, ...]:
    """A colour from one brightness to another, by way of itself.

    >>> ramp((100, 100, 100), 0.5, 2.0)
    ((50, 50, 50), (100, 100, 100), (200, 200, 200))
    """
    return (shade(colour, first), colour, shade(colour, last))
