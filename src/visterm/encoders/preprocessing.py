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
    pad : tuple of int or None
        The colour that fills the square around a picture whose long side was resized; ``resize``
        is then that side.
    filter : str
        How pixels are resampled, one of Pillow's filters.
    scale : float
        What pixels are multiplied by.
    mean, deviation : triples of float
        Of red, green and blue, after scaling: the graph gets ``(v − mean) / deviation``.
    """

    resize: int | tuple[int, int] | None
    crop: tuple[int, int] | None
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    filter: str = "bicubic"
    scale: float = 1 / 255
    pad: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        sides = [self.resize] if isinstance(self.resize, int) else [*(self.resize or ())]
        if not all(_is_side(side) for side in [*sides, *(self.crop or ())]):
            raise BadInput(f"sizes are whole numbers of pixels up to {_LARGEST}: {self}")
        for values in (self.mean, self.deviation):
            if len(values) != 3 or not np.isfinite(values).all():
                raise BadInput(f"mean and deviation are three numbers each, not {list(values)}")
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
        kind = Image.Resampling[self.filter.upper()]
        if self.resize is not None:
            picture = picture.resize(self._resized(*picture.size), kind)
        if self.pad is not None:
            assert isinstance(self.resize, int)
            square = Image.new("RGB", (self.resize, self.resize), self.pad)
            left, top = ((self.resize - side) // 2 for side in picture.size)
            square.paste(picture, (left, top))
            picture = square
        if self.crop is not None:
            height, width = self.crop
            left, top = (picture.width - width) // 2, (picture.height - height) // 2
            picture = picture.crop((left, top, left + width, top + height))
        return np.asarray(picture)

    def _resized(self, width: int, height: int) -> tuple[int, int]:
        if isinstance(self.resize, tuple):
            return self.resize[1], self.resize[0]
        side = self.resize or 0
        edge = max(width, height) if self.pad is not None else min(width, height)
        if self.pad is not None:
            return tuple(max(1, round(side * one / edge)) for one in (width, height))  # type: ignore[return-value]
        # As torchvision and its followers do: the long side is cut off, not rounded.
        return tuple(side if one == edge else int(side * one / edge) for one in (width, height))  # type: ignore[return-value]

    def fed(self, squares: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Squares (n, h, w, 3) as numbers for the graph, (n, 3, h, w)."""
        deviation = np.asarray(self.deviation, np.float64)
        factor = (self.scale / deviation).astype(np.float32)
        shift = (-np.asarray(self.mean) / deviation).astype(np.float32)
        return np.ascontiguousarray((squares * factor + shift).transpose(0, 3, 1, 2))


def from_transformers(said: dict[str, Any]) -> Preprocessing:
    """Of a ``preprocessor_config.json`` as the transformers library writes it."""
    resample = said.get("resample", 3)
    if not isinstance(resample, int) or not 0 <= resample < len(_FILTERS):
        raise BadInput(f"resample is the number of one of Pillow's filters, not {resample!r}")
    scale = said.get("rescale_factor", 1 / 255) if said.get("do_rescale", True) else 1.0
    plain = said.get("do_normalize", True) is False
    return Preprocessing(
        resize=_resize(said.get("size")) if said.get("do_resize", True) else None,
        crop=_pair(said.get("crop_size"))
        if said.get("do_center_crop", "crop_size" in said)
        else None,
        mean=(0.0,) * 3 if plain else _three(said, "image_mean"),
        deviation=(1.0,) * 3 if plain else _three(said, "image_std"),
        filter=_FILTERS[resample],
        scale=_number(scale, "rescale_factor"),
    )


def from_open_clip(said: dict[str, Any]) -> Preprocessing:
    """Of a ``preprocess_cfg`` as open_clip writes it."""
    pair = _pair(said.get("size", 224))
    assert pair is not None
    mode = said.get("resize_mode", "shortest")
    if mode not in ("shortest", "longest", "squash"):
        raise BadInput(f"resize_mode is shortest, longest or squash, not {mode!r}")
    if mode != "squash" and pair[0] != pair[1]:
        raise BadInput(f"only squares can be resized by one side, not {pair}; squash them")
    fill = said.get("fill_color", 0)
    return Preprocessing(
        resize=pair if mode == "squash" else pair[0],
        crop=pair if mode == "shortest" else None,
        mean=_three(said, "mean"),
        deviation=_three(said, "std"),
        filter=str(said.get("interpolation", "bicubic")),
        pad=(int(fill),) * 3 if mode == "longest" else None,
    )


def _resize(size: Any) -> int | tuple[int, int]:
    if isinstance(size, dict) and "shortest_edge" in size:
        return _whole(size["shortest_edge"])
    if isinstance(size, int):
        return _whole(size)
    found = _pair(size)
    if found is None:
        raise BadInput("the file does not say to which size pictures are resized")
    return found


def _pair(size: Any) -> tuple[int, int] | None:
    if size is None:
        return None
    if isinstance(size, dict):
        return _whole(size.get("height")), _whole(size.get("width"))
    if isinstance(size, list | tuple) and len(size) == 2:
        return _whole(size[0]), _whole(size[1])
    return _whole(size), _whole(size)


def _whole(value: Any) -> int:
    if not _is_side(value):
        raise BadInput(f"sizes are whole numbers of pixels up to {_LARGEST}, not {value!r}")
    return int(value)


def _is_side(value: Any) -> bool:
    return type(value) is int and 1 <= value <= _LARGEST


def _three(said: dict[str, Any], name: str) -> tuple[float, ...]:
    value = said.get(name)
    if not isinstance(value, list | tuple) or len(value) != 3:
        raise BadInput(f"{name} must be three numbers, for red, green and blue, not {value!r}")
    return tuple(_number(one, name) for one in value)


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadInput(f"{name} must be a number, not {value!r}")
    return float(value)
