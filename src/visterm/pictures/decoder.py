"""An open file as a picture: what it is, its metadata, upright RGB.

Whatever a decoder gives (palettes, alpha, 16 bits, inks, floats) becomes rows of plain RGB.
RAW files are opened by rawpy (extra ``raw``): the preview that the camera wrote is decoded as any
other picture is, and where there is none of a useful size, LibRaw develops one.
"""

from __future__ import annotations

import contextlib
import importlib
import io
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from visterm.pictures import formats
from visterm.pictures.formats import Refused, check_size, reasons

if TYPE_CHECKING:
    from PIL import Image
    from PIL.Image import Exif
    from PIL.ImageFile import ImageFile

Pixels = NDArray[np.uint8]

USEFUL_PREVIEW = 256
"""Pixels of the longer side from which the preview of a RAW file will do."""
MAX_RAW_BYTES = 400_000_000
_ORIENTATION = 274
_SUB_IFDS, _PHOTOMETRIC, _DNG_VERSION = 0x014A, 0x0106, 0xC612
_SENSOR = {32_803, 34_892}
_MAX_DIRECTORIES = 16
_TURNS = {3: 3, 5: 8, 6: 6}
"""EXIF's orientation by LibRaw's number of the same turn."""
_HIGH_MODES = ("I", "I;16", "I;16L", "I;16B", "I;16N", "F")
_BITS_PER_SAMPLE = 258


class OpenPicture:
    """A picture whose header was read, and nothing of its pixels yet."""

    def __init__(self, picture: ImageFile, format_: str) -> None:
        self.picture, self.format, self._stored_size = picture, format_, picture.size
        # A TIFF's tags are its EXIF, and read from the file, which Pillow lets go of on loading.
        self._tags = picture.getexif() if format_ == "TIFF" else None

    @property
    def exif(self) -> Exif:
        """Its EXIF tags, as far as they were met: those of a PNG may stand behind the pixels."""
        if self._tags is not None:
            return self._tags
        from PIL import Image

        exif, block = Image.Exif(), self.picture.info.get("exif")
        if isinstance(block, bytes):
            with contextlib.suppress(Exception):  # Pillow raises whatever comes to hand
                exif.load(block)
        return exif

    @property
    def orientation(self) -> int:
        """EXIF's number of the turn that is still to be done, 1 to 8.

        Pillow itself turns a TIFF upright while loading it, and pillow-heif a HEIC.
        """
        turn = 1
        if self.format not in ("TIFF", "HEIF"):
            with contextlib.suppress(Exception):
                turn = self.exif.get(_ORIENTATION, 1)
        return turn if turn in range(1, 9) else 1

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the upright picture."""
        width, height = self._stored_size
        return (height, width) if self.orientation >= 5 else (width, height)

    def pixels(self, max_side: int | None, orientation: int | None = None) -> Pixels:
        """The picture as upright RGB, its longer side shrunk to ``max_side``; a JPEG is decoded at
        the fraction of its size that is enough."""
        picture, target = self.picture, _target(self._stored_size, max_side)
        if self.format == "JPEG":
            if target is not None:
                # Twice the size that is wanted leaves the last halving to a better filter.
                picture.draft(None, (2 * target[0], 2 * target[1]))
            if picture.mode == "CMYK" and "adobe" not in picture.info:
                # Pillow takes every JPEG of four inks for one of Adobe's, stored inverted.
                picture.tile = [tile._replace(args=("CMYK", "")) for tile in picture.tile]
        picture.load()
        # What the WebP and AVIF readers keep for further frames: up to three more pictures.
        vars(picture).pop("_decoder", None)
        if self.format == "TIFF":  # it may have been turned
            target = _target(picture.size, max_side)
        turn = self.orientation if orientation is None else orientation
        return rgb_pixels(picture, target, turn)


@contextlib.contextmanager
def open_picture(file: BinaryIO) -> Iterator[OpenPicture]:
    """An open file as a picture; `Refused` says why it is none, also of what happens in the
    block."""
    from PIL import Image

    file.seek(0)
    head = file.read(formats.HEAD)
    if not head:
        raise Refused("the file is empty")
    format_ = formats.recognise(head)
    if format_ is None:
        names = ", ".join(formats.EXTENSIONS)
        raise Refused(f"it is not a picture in a format visterm reads ({names})")
    _load_plugin(format_)
    file.seek(0)
    # No other format is tried, whatever the file holds.
    with reasons(format_), Image.open(file, formats=[format_]) as picture:
        check_size(picture.size)
        yield OpenPicture(picture, format_)


class RawPicture:
    """A RAW file: its preview, or else the picture developed."""

    def __init__(self, file: BinaryIO, raw: Any) -> None:
        self._file, self._raw = file, raw

    @cached_property
    def _preview(self) -> bytes:
        try:
            preview = self._raw.extract_thumb()
        except Exception:  # LibRaw's errors: there is none, or of a kind it does not know
            return b""
        return preview.data if isinstance(preview.data, bytes) else b""

    @property
    def exif(self) -> Exif:
        """Its tags; where it is no TIFF, those of its preview."""
        from PIL import Image

        exif = Image.Exif()
        with contextlib.suppress(Exception):
            self._file.seek(0)
            exif.load_from_fp(self._file)
        if not len(exif):
            with contextlib.suppress(Refused), self._open_preview() as picture:
                return picture.exif
        return exif

    def _open_preview(self) -> contextlib.AbstractContextManager[OpenPicture]:
        return open_picture(io.BytesIO(self._preview))

    def read(self, max_side: int | None, *, only_size: bool = False) -> tuple[Any, Any]:
        """Width and height upright, and the pixels unless ``only_size`` is asked for."""
        wanted = min(USEFUL_PREVIEW, max_side or USEFUL_PREVIEW)
        small = None
        with contextlib.suppress(Refused), self._open_preview() as picture:
            turn = picture.orientation
            if turn == 1:  # then the file around it says how it is to be turned
                turn = _TURNS.get(self._raw.sizes.flip, 1)
            width, height = picture.picture.size
            size = (height, width) if turn >= 5 else (width, height)
            is_useful = max(size) >= wanted
            if is_useful and only_size:
                return size, None
            small = size, picture.pixels(max_side, turn)
            if is_useful:
                return small
        try:
            return self._developed(max_side)
        except Refused:
            if small is not None:
                return small
            raise

    def _developed(self, max_side: int | None) -> tuple[tuple[int, int], Pixels]:
        """The picture developed from the sensor's values, upright, at half its size."""
        from PIL import Image

        sizes = self._raw.sizes
        check_size((sizes.raw_width, sizes.raw_height))
        with reasons("RAW"):
            pixels = self._raw.postprocess(half_size=True, use_camera_wb=True, output_bps=8)
        is_grey = pixels.ndim == 3 and pixels.shape[2] == 1
        picture = Image.fromarray(pixels[:, :, 0] if is_grey else pixels)
        return picture.size, rgb_pixels(picture, _target(picture.size, max_side))


@contextlib.contextmanager
def open_raw(file: BinaryIO) -> Iterator[RawPicture]:
    """An open RAW file; `Refused` says why it cannot be read."""
    try:
        import rawpy
    except ImportError:
        raise Refused("RAW pictures need the extra 'raw': pip install 'visterm[raw]'") from None
    if file.seek(0, io.SEEK_END) > MAX_RAW_BYTES:
        raise Refused(f"it has more than the {MAX_RAW_BYTES:,} bytes of the largest RAW files")
    file.seek(0)
    with reasons("RAW"):
        raw = rawpy.imread(file)
    with raw:
        yield RawPicture(file, raw)


def is_raw(file: BinaryIO) -> bool:
    """Whether an open file is a RAW file, by its content: most of them are TIFFs of a sensor."""
    file.seek(0)
    head = file.read(formats.HEAD)
    if head.startswith(formats.RAW_HEADS) or head[4:12] == b"ftypcrx ":
        return True
    if not head.startswith((b"II*\0", b"MM\0*")):
        return False
    if head[8:10] == b"CR":
        return True
    from PIL.TiffImagePlugin import ImageFileDirectory_v2

    with contextlib.suppress(Exception):  # Pillow raises whatever comes to hand
        tags = ImageFileDirectory_v2(head[:8])
        waiting = [tags.next]
        for _ in range(_MAX_DIRECTORIES):
            file.seek(waiting.pop(0))
            tags.load(file)
            if _DNG_VERSION in tags or tags.get(_PHOTOMETRIC) in _SENSOR:
                return True
            inner = tags.get(_SUB_IFDS, ())
            waiting += inner if isinstance(inner, tuple) else (inner,)
    return False


def _load_plugin(format_: str) -> None:
    """Load the one module that reads a format; `Refused` says what to install."""
    if format_ == "HEIF":
        try:
            import pillow_heif
        except ImportError:
            raise Refused(
                "HEIC pictures need the extra 'heic': pip install 'visterm[heic]'"
            ) from None
        pillow_heif.register_heif_opener(thumbnails=False)
        return
    name = {"WEBP": "WebP"}.get(format_, format_.capitalize())
    module = importlib.import_module(f"PIL.{name}ImagePlugin")
    if not getattr(module, "SUPPORTED", True):
        raise Refused(f"the installed Pillow does not read {format_}")


def _target(size: tuple[int, int], max_side: int | None) -> tuple[int, int] | None:
    """The size to shrink to, or None where the picture is small enough."""
    longer = max(size)
    if max_side is None or longer <= max_side:
        return None
    return max(1, round(size[0] * max_side / longer)), max(1, round(size[1] * max_side / longer))


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
