"""From whatever a decoder gives (palettes, alpha, 16 bits, inks, floats) to rows of plain RGB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL import Image

Pixels = NDArray[np.uint8]

_HIGH_MODES = ("I", "I;16", "I;16L", "I;16B", "I;16N", "F")
_BITS_PER_SAMPLE = 258


def rgb_pixels(
    picture: Image.Image, size: tuple[int, int] | None = None, orientation: int = 1
) -> Pixels:
    """The loaded picture as a (height, width, 3) array, shrunk and turned upright.

    ``size`` is width and height before turning, ``orientation`` EXIF's number, 1 to 8.

    >>> from PIL import Image
    >>> rgb_pixels(Image.new("RGB", (3, 2), "red"), orientation=6).shape
    (3, 2, 3)
    """
    from PIL.Image import Resampling, Transpose

    shown = _rgb(picture)
    if size is not None:
        shown = shown.resize(size, Resampling.LANCZOS, reducing_gap=2.0)
    turns = {2: Transpose.FLIP_LEFT_RIGHT, 3: Transpose.ROTATE_180, 4: Transpose.FLIP_TOP_BOTTOM}
    turns |= {5: Transpose.TRANSPOSE, 6: Transpose.ROTATE_270}
    turns |= {7: Transpose.TRANSVERSE, 8: Transpose.ROTATE_90}
    return np.array(shown.transpose(turns[orientation]) if orientation in turns else shown)


def _rgb(picture: Image.Image) -> Image.Image:
    if picture.mode in _HIGH_MODES:
        picture = _of_eight_bits(picture)
    elif picture.mode == "LAB":
        return _of_lab(picture)
    elif picture.has_transparency_data:
        return _on_white(picture)
    return picture if picture.mode == "RGB" else picture.convert("RGB")


def _on_white(picture: Image.Image) -> Image.Image:
    from PIL import Image

    if picture.mode == "La":  # premultiplied grey has only one way out
        picture = picture.convert("LA")
    if picture.mode != "RGBA":
        picture = picture.convert("RGBA")
    white = Image.new("RGB", picture.size, "white")
    white.paste(picture, mask=picture)
    return white


def _of_lab(picture: Image.Image) -> Image.Image:
    from PIL import ImageCms

    lab, srgb = ImageCms.createProfile("LAB"), ImageCms.createProfile("sRGB")
    transform = ImageCms.buildTransform(lab, srgb, "LAB", "RGB")
    converted: Image.Image | None = ImageCms.applyTransform(picture, transform)
    assert converted is not None
    return converted


def _of_eight_bits(picture: Image.Image) -> Image.Image:
    """Greys of more than eight bits, scaled to 0 to 255."""
    from PIL import Image

    with np.errstate(invalid="ignore"):  # damaged floats may be NaNs of the signalling kind
        values = np.array(picture, np.float64 if picture.mode == "I" else np.float32)
        values = np.nan_to_num(values, copy=False, posinf=np.inf, neginf=-np.inf)
        low, high = _range(picture, values)
        key: Any = picture.info.get("transparency")
        is_clear = values == key if isinstance(key, int) else None
        values -= low
        values *= 255.0 / (high - low) if high > low else 0.0
        values += 0.5
        grey = np.nan_to_num(values, copy=False).clip(0, 255, out=values).astype(np.uint8)
    if is_clear is not None:
        grey[is_clear] = 255  # the colour that stands for "nothing here"
    return Image.fromarray(grey)


def _range(picture: Image.Image, values: NDArray[Any]) -> tuple[float, float]:
    """What is black and what is white."""
    if picture.mode.startswith("I;16"):  # a TIFF may say it keeps fewer bits, as 12 of a scanner
        bits = getattr(picture, "tag_v2", {}).get(_BITS_PER_SAMPLE, (16,))
        depth = bits[0] if isinstance(bits, tuple) else bits
        return 0, 2**depth - 1 if depth in range(9, 16) else 65_535
    is_finite = np.isfinite(values)
    low = float(values.min(where=is_finite, initial=0))
    high = float(values.max(where=is_finite, initial=low))
    if low < 0:
        return low, high
    # Integers and floats carry no range of their own: take the usual one that holds them all.
    usual = (1, 255, 65_535) if picture.mode == "F" else (255, 65_535)
    return 0, next((white for white in usual if high <= white), high)
