"""How a network wants its pictures: size, crop, means, layout; a plug-in says it in a JSON file.

`frame` makes the square that a network sees of a picture of any shape.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput
from visterm.matrices import unit_rows
from visterm.onnx_session import PROVIDERS

CROPS = ("squash", "half", "centre", "pad")
FILTERS = ("bilinear", "bicubic", "lanczos")
LAYOUTS = ("NCHW", "NHWC")
NORMALISATIONS = ("none", "l2", "sqrt-l2")

EXAMPLE = '{"size": 224, "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}'


@dataclass(frozen=True)
class Recipe:
    """What is done to pixels before a network, and to vectors after it.

    Parameters
    ----------
    size
        Side of the square that the network sees, in pixels.
    mean, std
        For red, green and blue, of pixels between 0 and 1: the network gets (v − mean) / std.
    layout
        Order of the input's axes: N for pictures, C for colours, H and W for rows and columns.
    crop
        "squash" stretches the whole picture to the square, "centre" cuts the middle out of it,
        "half" does half of each (the long side is cut to the geometric mean of both, the rest is
        stretched), "pad" puts all of it into the square and fills the rest with the mean.
    fraction
        With "centre", the side of the middle as a fraction of the picture's short side.
    filter
        How pixels are resampled: "bilinear", "bicubic" or "lanczos".
    output
        Name of the output that holds a vector a picture; the first of that shape if empty.
    normalise
        "none", "l2" (unit length), or "sqrt-l2" (square roots, keeping signs, then unit length).
    provider
        Where onnxruntime computes: "cpu", "cuda", "coreml", "openvino" or "directml". Last digits
        differ between them, so that vectors of one are never compared with those of the other.
    """

    size: int
    mean: tuple[float, ...]
    std: tuple[float, ...]
    layout: str = "NCHW"
    crop: str = "centre"
    fraction: float = 1.0
    filter: str = "bicubic"
    output: str = ""
    normalise: str = "l2"
    provider: str = "cpu"

    def __post_init__(self) -> None:
        if type(self.size) is not int or not 1 <= self.size <= 4096:
            raise BadInput(f"size must be a whole number of pixels up to 4096, not {self.size!r}")
        for name in ("mean", "std"):
            value = getattr(self, name)
            if not isinstance(value, tuple) or len(value) != 3 or not all(map(_number, value)):
                raise BadInput(f"{name} must be three numbers, for red, green and blue: {value!r}")
        if min(self.std) <= 0:
            raise BadInput(f"std must be above zero, not {list(self.std)}")
        if not _number(self.fraction) or not 0 < self.fraction <= 1:
            raise BadInput(f"fraction must be above 0 and at most 1, not {self.fraction!r}")
        if not isinstance(self.output, str):
            raise BadInput(f"output must be the name of one of the outputs, not {self.output!r}")
        _one_of("layout", self.layout, LAYOUTS)
        _one_of("crop", self.crop, CROPS)
        _one_of("filter", self.filter, FILTERS)
        _one_of("normalise", self.normalise, NORMALISATIONS)
        _one_of("provider", self.provider, PROVIDERS)


def read_recipe(path: Path) -> Recipe:
    """Read the recipe of a plugged-in model from the JSON file beside it.

    The file holds one object with the names of :class:`Recipe`; ``size``, ``mean`` and ``std``
    must be there, because no guess at them would be noticed when wrong.
    """
    try:
        said: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadInput(
            f"there is no {path}, which says how the model wants its pictures; write it: {EXAMPLE}"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"{path} cannot be read as JSON: {error}") from None
    known = [field.name for field in fields(Recipe)]
    if not isinstance(said, dict):
        raise BadInput(f"{path} must hold one JSON object, such as {EXAMPLE}")
    if strange := sorted(said.keys() - set(known)):
        raise BadInput(f"{path}: {', '.join(strange)} is not known; known are {', '.join(known)}")
    if missing := [name for name in ("size", "mean", "std") if name not in said]:
        raise BadInput(f"{path} lacks {', '.join(missing)}; an example: {EXAMPLE}")
    given: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in said.items()}
    try:
        return Recipe(**given)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None


def normalised(vectors: NDArray[np.float32], how: str) -> NDArray[np.float32]:
    """Normalise vectors along the last axis; one of zeros stays as it is.

    >>> normalised(np.array([[9.0, -16.0], [0.0, 0.0]], dtype=np.float32), "sqrt-l2")
    array([[ 0.6, -0.8],
           [ 0. ,  0. ]], dtype=float32)
    """
    if how == "none":
        return vectors
    if how == "sqrt-l2":
        vectors = np.copysign(np.sqrt(np.abs(vectors)), vectors)
    return unit_rows(vectors)


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and np.isfinite(value)


def _one_of(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise BadInput(f"{name} must be one of {', '.join(choices)}, not {value!r}")


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
