"""EXIF: the turn of a picture, and the few texts that people and Windows keep in it."""

from __future__ import annotations

import io
from typing import BinaryIO

from visterm.pictures.containers import BrokenContainer, tiff_entries, tiff_numbers
from visterm.pictures.values import decoded, values

MAX_TEXT = 1_000_000

_DESCRIPTION = 270
_ORIENTATION = 274
# Windows writes these in UTF-16; its keywords are one text with semicolons.
_WINDOWS = {0x9C9B: "title", 0x9C9C: "comment", 0x9C9E: "keywords", 0x9C9F: "subject"}


def orientation_of(exif: bytes) -> int:
    """How the stored picture has to be turned, 1 to 8; 1 where it does not say.

    >>> orientation_of(b"Exif and nothing else")
    1
    """
    file = _opened(exif)
    try:
        numbers = [tiff_numbers(file, tag) for tag in tiff_entries(file) if tag.tag == _ORIENTATION]
    except BrokenContainer:
        return 1
    return numbers[0][0] if numbers and numbers[0] and numbers[0][0] in range(1, 9) else 1


def read_exif(exif: bytes) -> dict[str, list[str]]:
    """The texts of an EXIF block; raises `BrokenContainer` where it is none."""
    return read_exif_tags(_opened(exif))


def read_exif_tags(file: BinaryIO) -> dict[str, list[str]]:
    """The texts of the first directory of a TIFF."""
    found: dict[str, list[str]] = {}
    for entry in tiff_entries(file):
        field = "description" if entry.tag == _DESCRIPTION else _WINDOWS.get(entry.tag)
        if field is None or field in found or entry.kind not in (1, 2, 7):
            continue
        file.seek(entry.offset)
        data = file.read(min(entry.length, MAX_TEXT))
        if entry.tag == _DESCRIPTION:
            texts = [decoded(data.rstrip(b"\0 "))]
        else:
            text = data.decode("utf-16-le", "ignore")
            texts = text.split(";") if field == "keywords" else [text]
        if kept := values(texts):
            found[field] = kept
    return found


def _opened(exif: bytes) -> BinaryIO:
    return io.BytesIO(exif.removeprefix(b"Exif\0\0"))
