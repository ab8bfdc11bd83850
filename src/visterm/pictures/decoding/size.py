"""How large a picture is when it stands upright, from the head of its file alone."""

from __future__ import annotations

import os
from typing import BinaryIO

from visterm.errors import UnreadablePicture
from visterm.pictures.decoding import formats
from visterm.pictures.decoding.containers import BrokenContainer
from visterm.pictures.decoding.decoder import (
    _decode_raw,
    _is_raw,
    examined,
    read_picture,
    turn_of,
)
from visterm.pictures.decoding.frames import video_format
from visterm.pictures.decoding.isolation import decoders
from visterm.pictures.decoding.limits import DEFAULT_MAX_PIXELS
from visterm.pictures.decoding.plugins import open_with_pillow
from visterm.pictures.decoding.regular_files import Refused, opened
from visterm.pictures.decoding.warning_filter import quiet

_LYING = (5, 6, 7, 8)
"""EXIF's orientations that stand a picture on its side."""


def picture_size(source: str | os.PathLike[str] | bytes) -> tuple[int, int]:
    """Width and height as `read_picture` would give them, without decoding a pixel.

    Raises
    ------
    UnreadablePicture
        Where the head of the file already shows that it cannot be read.

    Examples
    --------
    >>> import io
    >>> from PIL import Image
    >>> file = io.BytesIO()
    >>> Image.new("RGB", (40, 20)).save(file, "PNG")
    >>> picture_size(file.getvalue())
    (40, 20)
    """
    source = source if isinstance(source, bytes) else os.fspath(source)
    where = "picture in memory" if isinstance(source, bytes) else source
    try:
        with opened(source) as file:
            if video_format(file) is not None:
                height, width = read_picture(source, second=0.0).shape[:2]
                return width, height
            is_raw, elsewhere = _is_raw(file), decoders()
            if elsewhere is not None and where == source and (is_raw or _opens_in_c(file)):
                return elsewhere.size(where)
            if is_raw:  # only what is decoded has a size: a preview, or half of it
                height, width = _decode_raw(file, DEFAULT_MAX_PIXELS, None).shape[:2]
                return width, height
            format_, _ = examined(file, DEFAULT_MAX_PIXELS)
            with quiet(), open_with_pillow(file, format_) as picture:
                width, height = picture.size
                lies = turn_of(picture, format_) in _LYING
    except (Refused, BrokenContainer) as reason:
        raise UnreadablePicture(where, str(reason)) from None
    except UnreadablePicture:
        raise
    except Exception as problem:  # readers of damaged files raise whatever comes to hand
        raise UnreadablePicture(where, f"its head cannot be read ({problem})") from None
    return (height, width) if lies else (width, height)


def _opens_in_c(file: BinaryIO) -> bool:
    """Whether a library in C reads the very head of a file; of others Python does."""
    head = file.read(formats.HEAD)
    file.seek(0)
    return formats.recognise(head) in (formats.WEBP, formats.AVIF, formats.HEIC)
