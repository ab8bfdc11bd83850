"""Read a picture file that nobody vouches for into upright RGB pixels, or say why not."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, BinaryIO

from visterm.errors import BadInput, UnreadablePicture
from visterm.pictures.decoding import formats
from visterm.pictures.decoding.containers import BrokenContainer
from visterm.pictures.decoding.formats import Format
from visterm.pictures.decoding.frames import video_format
from visterm.pictures.decoding.guards import Cost, cost_of
from visterm.pictures.decoding.isolation import decoders
from visterm.pictures.decoding.limits import (
    DEFAULT_MAX_PIXELS,
    check_fixed_cost,
    check_memory,
    check_size,
    webp_size,
)
from visterm.pictures.decoding.orientation import orientation_of
from visterm.pictures.decoding.plugins import make_ready, open_with_pillow
from visterm.pictures.decoding.regular_files import Refused, opened
from visterm.pictures.decoding.time_limit import limited
from visterm.pictures.decoding.warning_filter import quiet

if TYPE_CHECKING:
    from PIL.ImageFile import ImageFile

    from visterm.pictures.decoding.pixels import Pixels


def read_picture(
    source: str | os.PathLike[str] | bytes,
    *,
    max_pixels: int = DEFAULT_MAX_PIXELS,
    max_side: int | None = None,
    second: float | None = None,
) -> Pixels:
    """Decode one picture to upright RGB.

    JPEG, PNG, WebP, GIF (its first frame), TIFF (its first page), BMP and AVIF are recognised by
    content, whatever the name says; HEIC too where the extra ``heic`` is installed, and a frame of
    a video with ``video``. EXIF's orientation is applied, alpha is laid on white, 16-bit and float
    greys are scaled to eight bits.

    Parameters
    ----------
    source
        A path, or the bytes of a picture file. Only regular files are opened.
    max_pixels
        The largest picture that is decoded, 64 million pixels by default, checked before its pixels
        are. Decoding may also take no more than 432 MB, and in proportion more where this limit is
        raised above its default; that is enough for 61 million pixels of most files, 26 million of
        a WebP or AVIF and 43 million of a progressive JPEG without subsampling. Above 178 million
        Pillow's own ``Image.MAX_IMAGE_PIXELS`` holds.
    max_side
        Shrink so that the longer side has at most so many pixels; never enlarge. Much faster for
        JPEG, which is then decoded at a fraction of its size.
    second
        Of a video, the frame that is shown then; without it, the most usual one.

    Returns
    -------
    (height, width, 3) uint8 array, C-contiguous.

    Raises
    ------
    UnreadablePicture
        For whatever cannot be read, with the reason in a few words.

    Examples
    --------
    >>> import io
    >>> from PIL import Image
    >>> file = io.BytesIO()
    >>> Image.new("LA", (40, 20), (0, 0)).save(file, "PNG")
    >>> read_picture(file.getvalue(), max_side=10)[0, 0].tolist()
    [255, 255, 255]
    >>> read_picture(b"GIF89a")
    Traceback (most recent call last):
    visterm.errors.UnreadablePicture: picture in memory: the file is cut short in its header
    """
    if max_pixels < 1 or (max_side is not None and max_side < 1):
        raise BadInput("max_pixels and max_side must be at least 1")
    where = "picture in memory" if isinstance(source, bytes) else os.fspath(source)
    elsewhere = None if isinstance(source, bytes) else decoders()
    if elsewhere is not None:
        return elsewhere.read(where, max_pixels, max_side, second)
    try:
        with opened(source) as file:
            if video_format(file) is None:
                with limited():
                    return _decode(file, max_pixels, max_side)
    except (Refused, BrokenContainer) as reason:
        raise UnreadablePicture(where, str(reason)) from None
    from visterm.pictures.decoding.frames import read_frame

    return read_frame(source, max_pixels, max_side, second)


def _decode(file: BinaryIO, max_pixels: int, max_side: int | None) -> Pixels:
    try:
        if _is_raw(file):
            return _decode_raw(file, max_pixels, max_side)
        format_, cost = examined(file, max_pixels)
        return _decode_as(format_, file, cost, max_pixels, max_side)
    except (Refused, BrokenContainer):
        raise
    except MemoryError:
        raise Refused("there is not enough memory to decode it") from None
    except OSError as problem:
        raise Refused(problem.strerror or "it cannot be read") from None


def _is_raw(file: BinaryIO) -> bool:
    head = file.read(formats.HEAD)
    file.seek(0)
    if not head.startswith(formats.RAW_HEADS) and head[4:12] != b"ftypcrx ":
        return False  # nearly all pictures
    from visterm.pictures.decoding.raw import is_raw

    found = is_raw(file, head)
    file.seek(0)
    return found


def _decode_raw(file: BinaryIO, max_pixels: int, max_side: int | None) -> Pixels:
    """The largest preview that can be read and is of use, or else the picture developed."""
    from PIL import Image

    from visterm.pictures.decoding import raw
    from visterm.pictures.decoding.pixels import rgb_array, shrunk_array

    turn = raw.orientation(file)
    small: Pixels | None = None
    for data in raw.previews(file):
        try:
            pixels = _decode(io.BytesIO(data), max_pixels, max_side)
        except (Refused, BrokenContainer):
            continue
        pixels = pixels if orientation_of_jpeg(data) else rgb_array(Image.fromarray(pixels), turn)
        if max(pixels.shape[:2]) >= min(raw.USEFUL, max_side or raw.USEFUL):
            return pixels
        small = pixels if small is None else small
    try:
        picture = Image.fromarray(raw.developed(file, max_pixels))
    except Refused:
        if small is not None:
            return small
        raise
    target = _target(picture.size, max_side)
    return rgb_array(picture) if target is None else shrunk_array(picture, target)


def orientation_of_jpeg(data: bytes) -> bool:
    """Whether a JPEG says itself how it is to be turned; then the file around it need not."""
    return orientation_of(data[data.find(b"Exif\0\0") :]) != 1 if b"Exif\0\0" in data else False


def examined(file: BinaryIO, max_pixels: int) -> tuple[Format, Cost]:
    """The format of an open file and what decoding costs besides the pixels; its reader is loaded.

    Raises `Refused` or `BrokenContainer` where no decoder should try the file.
    """
    head = file.read(formats.HEAD)
    if not head:
        raise Refused("the file is empty")
    format_ = formats.recognise(head)
    if format_ is None:
        names = ", ".join(known.name for known in formats.FORMATS)
        raise Refused(f"it is not a picture in a format visterm reads ({names})")
    make_ready(format_)
    cost = cost_of(file, format_)
    check_fixed_cost(cost, max_pixels)
    if format_ is formats.WEBP:  # its decoder takes memory for the pixels on opening
        check_size(webp_size(head), max_pixels)
    return format_, cost


def turn_of(picture: ImageFile, format_: Format) -> int:
    """EXIF's number of the turn that is still to be done.

    Pillow itself turns a TIFF upright while loading it, and pillow-heif a HEIC.
    """
    exif = b"" if format_ in (formats.TIFF, formats.HEIC) else picture.info.get("exif", b"")
    return orientation_of(exif) if isinstance(exif, bytes) else 1


def _decode_as(
    format_: Format, file: BinaryIO, cost: Cost, max_pixels: int, max_side: int | None
) -> Pixels:
    from PIL import Image, UnidentifiedImageError

    from visterm.pictures.decoding.pixels import rgb_array, shrunk_array

    try:
        with quiet(), open_with_pillow(file, format_) as picture:
            size = picture.size
            check_size(size, max_pixels)
            if format_ is formats.JPEG:
                _prepare_jpeg(picture, _target(size, max_side))
            shrinks = _target(size, max_side) is not None
            check_memory(picture, format_, cost, size=size, shrinks=shrinks, limit=max_pixels)
            picture.load()
            _free_frames(picture)
            orientation = turn_of(picture, format_)
            target = _target(size if format_ is formats.JPEG else picture.size, max_side)
            if target is None:
                return rgb_array(picture, orientation)
            return shrunk_array(picture, target, orientation)
    except (Refused, MemoryError):
        raise
    except Image.DecompressionBombError:
        limit = min(max_pixels, 2 * (Image.MAX_IMAGE_PIXELS or max_pixels))
        raise Refused(f"it has more pixels than the {limit:,} allowed") from None
    except UnidentifiedImageError:
        raise Refused(f"its {format_.name} data are broken") from None
    except Exception as problem:  # decoders of damaged files raise whatever comes to hand
        raise Refused(_in_few_words(format_, problem)) from None


def _target(size: tuple[int, int], max_side: int | None) -> tuple[int, int] | None:
    """The size to shrink to, or None where the picture is small enough."""
    longer = max(size)
    if max_side is None or longer <= max_side:
        return None
    return max(1, round(size[0] * max_side / longer)), max(1, round(size[1] * max_side / longer))


def _prepare_jpeg(picture: ImageFile, target: tuple[int, int] | None) -> None:
    if target is not None:
        # Twice the size that is wanted leaves the last halving to a better filter.
        picture.draft(None, (2 * target[0], 2 * target[1]))
    if picture.mode == "CMYK" and "adobe" not in picture.info:
        # Pillow takes every JPEG of four inks for one of Adobe's, which are stored inverted.
        picture.tile = [tile._replace(args=("CMYK", "")) for tile in picture.tile]


def _free_frames(picture: ImageFile) -> None:
    """Free what the WebP and AVIF readers keep for further frames: up to three more pictures."""
    vars(picture).pop("_decoder", None)
    if isinstance(picture.fp, io.BytesIO):
        picture.fp = None


def _in_few_words(format_: Format, problem: Exception) -> str:
    message = " ".join(str(problem).split())[:100]
    if isinstance(problem, EOFError) or "truncated" in message.lower():
        return f"its {format_.name} data are cut short"
    return f"its {format_.name} data are broken" + (f" ({message})" if message else "")
