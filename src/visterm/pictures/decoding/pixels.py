"""From whatever a decoder gives (palettes, alpha, 16 bits, inks, floats) to rows of plain RGB.

A picture is converted in bands of rows, so that at no time more than the decoder's picture, the
result and one band are in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL import Image

Pixels = NDArray[np.uint8]

_BAND_PIXELS = 1 << 18
_HIGH_MODES = ("I", "I;16", "I;16L", "I;16B", "I;16N", "F")


def rgb_array(picture: Image.Image, orientation: int = 1) -> Pixels:
    """The loaded picture as a C-contiguous (height, width, 3) array, turned upright.

    ``orientation`` is EXIF's number, 1 to 8; any other counts as 1.

    >>> from PIL import Image
    >>> rgb_array(Image.new("RGB", (3, 2), "red"), orientation=6).shape
    (3, 2, 3)
    """
    width, height = picture.size
    upright = (width, height) if orientation in range(5, 9) else (height, width)
    result = np.empty((*upright, 3), dtype=np.uint8)
    lying = _as_stored(result, orientation)
    row = 0
    for band in _bands(picture, 1):
        lying[row : row + len(band)] = band
        row += len(band)
    return result


def shrunk_array(picture: Image.Image, size: tuple[int, int], orientation: int = 1) -> Pixels:
    """Like `rgb_array`, shrunk to ``size`` (width, height, before turning).

    Whole-number steps are taken by averaging blocks, band by band; what remains, at least a
    halving, by a Lanczos filter.
    """
    from PIL import Image

    if picture.mode in ("RGB", "L") and "transparency" not in picture.info:
        # Nothing to convert first, so Pillow can take both steps on its own picture.
        small = picture.resize(size, Image.Resampling.LANCZOS, reducing_gap=2.0)
        return rgb_array(small, orientation)
    factor = max(1, min(picture.width // (2 * size[0]), picture.height // (2 * size[1])))
    bands = [
        np.asarray(Image.fromarray(band).reduce(factor)) if factor > 1 else band
        for band in _bands(picture, factor)
    ]
    coarse = Image.fromarray(np.concatenate(bands)) if len(bands) > 1 else Image.fromarray(bands[0])
    # The last column and row of blocks may be incomplete; the box keeps the picture's true extent.
    box = (0.0, 0.0, picture.width / factor, picture.height / factor)
    return rgb_array(coarse.resize(size, Image.Resampling.LANCZOS, box=box), orientation)


def _as_stored(upright: Pixels, orientation: int) -> Pixels:
    """A view of the upright array whose rows and columns run as in the file."""
    if orientation in range(5, 9):
        upright = upright.transpose(1, 0, 2)
    if orientation in (3, 4, 6, 7):
        upright = upright[::-1]
    if orientation in (2, 3, 7, 8):
        upright = upright[:, ::-1]
    return upright


def _bands(picture: Image.Image, multiple: int) -> Iterator[Pixels]:
    """RGB rows from top to bottom; all bands but the last have a multiple of so many rows."""
    peak = _Range.of(picture) if picture.mode in _HIGH_MODES else None
    rows = max(_BAND_PIXELS // (picture.width * multiple), 1) * multiple
    for top in range(0, picture.height, rows):
        band = picture.crop((0, top, picture.width, min(top + rows, picture.height)))
        yield peak.to_rgb(band) if peak else _to_rgb(band)


def _to_rgb(band: Image.Image) -> Pixels:
    if band.mode == "RGB" and "transparency" not in band.info:
        return np.asarray(band)
    if band.mode == "LAB":
        return _lab_to_rgb(band)
    if band.has_transparency_data:
        return _on_white(band)
    return np.asarray(band.convert("RGB"))


def _on_white(band: Image.Image) -> Pixels:
    from PIL import Image

    if band.mode == "La":  # premultiplied grey has only one way out
        band = band.convert("LA")
    band = band.convert("RGBA")
    white = Image.new("RGB", band.size, "white")
    white.paste(band, mask=band)
    return np.asarray(white)


def _lab_to_rgb(band: Image.Image) -> Pixels:
    from PIL import ImageCms

    lab, srgb = ImageCms.createProfile("LAB"), ImageCms.createProfile("sRGB")
    transform = ImageCms.buildTransform(lab, srgb, "LAB", "RGB")
    converted = ImageCms.applyTransform(band, transform)
    return np.asarray(converted)


class _Range:
    """How the grey values of a picture of more than eight bits become 0 to 255."""

    def __init__(self, low: float, high: float, key: object = None) -> None:
        self.low = low
        self.scale = 255.0 / (high - low) if high > low else 0.0
        self.key = key

    @classmethod
    def of(cls, picture: Image.Image) -> _Range:
        key = picture.info.get("transparency")
        if picture.mode.startswith("I;16"):
            return cls(0, _white_of_16_bits(picture), key)
        low, high = _extremes(picture)
        if low < 0:
            return cls(low, high, key)
        # Integers and floats carry no range of their own: take the usual one that holds them all.
        usual = (1, 255, 65_535) if picture.mode == "F" else (255, 65_535)
        return cls(0, next((white for white in usual if high <= white), high), key)

    def to_rgb(self, band: Image.Image) -> Pixels:
        values = _numbers(band)
        with np.errstate(invalid="ignore"):  # infinity times nothing, where all else is equal
            grey = np.clip((values - self.low) * self.scale + 0.5, 0, 255).astype(np.uint8)
        if isinstance(self.key, int):
            grey[values == self.key] = 255  # the colour that stands for "nothing here"
        return np.repeat(grey[..., None], 3, axis=2)


def _numbers(band: Image.Image) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):  # damaged floats may be NaNs of the signalling kind
        values = np.asarray(band, dtype=np.float64)
    return np.nan_to_num(values, posinf=np.inf, neginf=-np.inf)


def _white_of_16_bits(picture: Image.Image) -> int:
    """65,535, except in a TIFF that says it keeps fewer bits (12 from some scanners)."""
    bits = getattr(picture, "tag_v2", {}).get(258, (16,))
    depth = bits[0] if isinstance(bits, tuple) else bits
    return 2**depth - 1 if depth in range(9, 16) else 65_535


def _extremes(picture: Image.Image) -> tuple[float, float]:
    low, high = np.inf, -np.inf
    rows = max(_BAND_PIXELS // picture.width, 1)
    for top in range(0, picture.height, rows):
        band = picture.crop((0, top, picture.width, min(top + rows, picture.height)))
        values = _numbers(band)
        values = values[np.isfinite(values)]
        if values.size:
            low, high = min(low, float(values.min())), max(high, float(values.max()))
    return (low, high) if low <= high else (0.0, 0.0)
