"""What is done to a picture before a vision graph, read from the encoder's own file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput

_FILTERS = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")
"""Pillow's filters in the order of their numbers, which files name them by."""
_LARGEST = 4096


@dataclass(frozen=True)
class Preprocessing:
    """Resize, cut, scale and shift.

    Attributes
    ----------
    resize : int, pair of int or None
        The short side after resizing, or height and width; None leaves the size.
    crop : pair of int or None
        Height and width of the middle that is cut out; what is smaller gets a black border.
    mean, deviation : triples of float
        Of red, green and blue, after scaling: the graph gets ``(v − mean) / deviation``.
    filter : str
        How pixels are resampled, one of Pillow's filters.
    scale : float
        What pixels are multiplied by.
    """

    resize: int | tuple[int, int] | None
    crop: tuple[int, int] | None
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    filter: str = "bicubic"
    scale: float = 1 / 255

    def __post_init__(self) -> None:
        if min(self.deviation) <= 0 or not 0 < self.scale <= 1:
            raise BadInput("deviations and the scale of pixels must be above zero")
        if self.filter not in _FILTERS:
            raise BadInput(f"no filter is called {self.filter!r}; there are {', '.join(_FILTERS)}")

    @property
    def max_side(self) -> int:
        """The long side that pictures are decoded to: far above what is made of them."""
        sides = self.crop or self.resize or 1024
        return 8 * max(sides if isinstance(sides, tuple) else (sides,))

    def square(self, pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """A picture as the graph sees it, before scaling.

        >>> whole = Preprocessing(4, (4, 4), (0.5,) * 3, (0.5,) * 3)
        >>> whole.square(np.full((8, 16, 3), 9, np.uint8)).shape
        (4, 4, 3)
        """
        from PIL import Image

        picture = Image.fromarray(pixels)
        if isinstance(self.resize, int):
            edge = min(picture.size)
            # As torchvision and its followers do: the long side is cut off, not rounded.
            sides = [
                self.resize if s == edge else int(self.resize * s / edge) for s in picture.size
            ]
        else:
            sides = [*reversed(self.resize or picture.size[::-1])]
        if tuple(sides) != picture.size:
            picture = picture.resize((sides[0], sides[1]), Image.Resampling[self.filter.upper()])
        if self.crop is not None:
            height, width = self.crop
            left, top = (picture.width - width) // 2, (picture.height - height) // 2
            picture = picture.crop((left, top, left + width, top + height))
        return np.asarray(picture)

    def fed(self, squares: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Squares (n, h, w, 3) as numbers for the graph, (n, 3, h, w)."""
        deviation = np.asarray(self.deviation, np.float64)
        factor = (self.scale / deviation).astype(np.float32)
        shift = (-np.asarray(self.mean) / deviation).astype(np.float32)
        return np.ascontiguousarray((squares * factor + shift).transpose(0, 3, 1, 2))


def from_transformers(said: dict[str, Any]) -> Preprocessing:
    """Of a ``preprocessor_config.json`` as the transformers library writes it."""
    size, resample = said.get("size"), said.get("resample", 3)
    if not isinstance(resample, int) or not 0 <= resample < len(_FILTERS):
        raise BadInput(f"resample is the number of one of Pillow's filters, not {resample!r}")
    short = size.get("shortest_edge") if isinstance(size, dict) else size
    resize = _pair(size) if short is None or isinstance(short, list) else _pair(short)[0]
    is_cut = said.get("do_center_crop", "crop_size" in said)
    is_plain = said.get("do_normalize", True) is False
    return Preprocessing(
        resize=resize if said.get("do_resize", True) else None,
        crop=_pair(said.get("crop_size")) if is_cut else None,
        mean=(0.0,) * 3 if is_plain else _numbers(said.get("image_mean"), 3, "image_mean"),
        deviation=(1.0,) * 3 if is_plain else _numbers(said.get("image_std"), 3, "image_std"),
        filter=_FILTERS[resample],
        scale=_numbers([said.get("rescale_factor", 1 / 255)], 1, "rescale_factor")[0]
        if said.get("do_rescale", True)
        else 1.0,
    )


def _pair(size: Any) -> tuple[int, int]:
    """Height and width, however a file writes them."""
    if isinstance(size, dict):
        size = [size.get("height"), size.get("width")]
    both = size if isinstance(size, list) else [size, size]
    if len(both) != 2 or not all(type(one) is int and 1 <= one <= _LARGEST for one in both):
        raise BadInput(f"sizes are whole numbers of pixels up to {_LARGEST}, not {size!r}")
    return both[0], both[1]


def _numbers(value: Any, count: int, name: str) -> tuple[float, ...]:
    is_list = isinstance(value, list) and len(value) == count
    if not is_list or not all(type(one) in (int, float) and np.isfinite(one) for one in value):
        raise BadInput(f"{name} must be {count} finite numbers, not {value!r}")
    return tuple(float(one) for one in value)
