"""Pictures of any shape to the square that a network sees."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput
from visterm.features.cnn.recipe import Recipe

# Pillow halves a picture cheaply until it is within so many times the wanted size, and only then
# filters: three is beyond what the eye, or the network, can tell from filtering all the way.
_GAP = 3.0


def seen(width: int, height: int, recipe: Recipe) -> tuple[float, float, float, float]:
    """The part of a picture that the square shows, as left, top, right and bottom in its pixels.

    With "pad" it reaches beyond the picture.

    >>> seen(90, 40, Recipe(size=32, mean=(0, 0, 0), std=(1, 1, 1), crop="half"))
    (15.0, 0.0, 75.0, 40.0)
    """
    short, long = min(width, height), max(width, height)
    if recipe.crop == "squash":
        across, down = float(width), float(height)
    elif recipe.crop == "half":
        side = math.sqrt(width * height)
        across, down = min(side, width), min(side, height)
    else:
        across = down = max(1.0, recipe.fraction * short) if recipe.crop == "centre" else long
    left, top = (width - across) / 2, (height - down) / 2
    return left, top, left + across, top + down


def frame(pixels: NDArray[np.uint8], recipe: Recipe) -> NDArray[np.uint8]:
    """Bring one picture to size × size × 3, as the recipe says.

    Examples
    --------
    >>> wide = np.zeros((40, 100, 3), dtype=np.uint8)
    >>> recipe = Recipe(size=32, mean=(0.5, 0.5, 0.5), std=(1, 1, 1), crop="pad")
    >>> frame(wide, recipe)[[0, 16], 0].tolist()
    [[128, 128, 128], [0, 0, 0]]
    """
    from PIL import Image

    if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8 or not pixels.size:
        raise BadInput(
            f"a picture must be height × width × 3 in 8 bits, not {pixels.shape} {pixels.dtype}"
        )
    picture = Image.fromarray(pixels)
    kind = Image.Resampling[recipe.filter.upper()]
    size, (width, height) = recipe.size, picture.size
    if recipe.crop != "pad":
        box = seen(width, height, recipe)
        return np.asarray(picture.resize((size, size), kind, box, reducing_gap=_GAP))
    scale = size / max(width, height)
    inner = (max(1, round(width * scale)), max(1, round(height * scale)))
    square = np.empty((size, size, 3), dtype=np.uint8)
    square[:] = np.clip(np.round(255 * np.asarray(recipe.mean)), 0, 255)
    left, top = (size - inner[0]) // 2, (size - inner[1]) // 2
    inside = square[top : top + inner[1], left : left + inner[0]]
    inside[:] = np.asarray(picture.resize(inner, kind, reducing_gap=_GAP))
    return square
