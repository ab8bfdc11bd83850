"""The one Pillow module that reads a format, loaded when a picture of that format turns up."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, BinaryIO

from visterm.pictures.decoding import formats
from visterm.pictures.decoding.formats import Format
from visterm.pictures.decoding.regular_files import Refused
from visterm.pictures.decoding.warning_filter import silence_libtiff

if TYPE_CHECKING:
    from PIL.ImageFile import ImageFile


def make_ready(format_: Format) -> None:
    """Load the module; `Refused` says what to install where it is missing."""
    module: Any
    try:
        module = importlib.import_module(format_.module)
    except ImportError:
        if format_ is formats.HEIC:
            raise Refused(
                "HEIC pictures need the extra 'heic': pip install 'visterm[heic]'"
            ) from None
        module = None
    if not getattr(module, "SUPPORTED", module is not None):
        raise Refused(f"the installed Pillow does not read {format_.name}")
    if format_ is formats.TIFF:
        silence_libtiff()
    if format_ is formats.HEIC:
        module.register_heif_opener(thumbnails=False)


def open_with_pillow(file: BinaryIO, format_: Format) -> ImageFile:
    """Pillow's picture, not decoded yet; no other format is tried, whatever the file holds."""
    from PIL import Image

    make_ready(format_)
    file.seek(0)
    return Image.open(file, formats=[format_.pillow])
