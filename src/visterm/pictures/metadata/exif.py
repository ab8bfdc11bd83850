"""EXIF: the few texts that people and Windows keep in it."""

from __future__ import annotations

import io
from typing import BinaryIO

from visterm.pictures.decoding.containers import tiff_entries
from visterm.pictures.metadata.texts import decoded, values

MAX_TEXT = 1_000_000

_DESCRIPTION = 270
# Windows writes these in UTF-16; its keywords are one text with semicolons.
_WINDOWS = {0x9C9B: "title", 0x9C9C: "comment", 0x9C9E: "keywords", 0x9C9F: "subject"}


def read_exif(exif: bytes) -> dict[str, list[str]]:
    """The texts of an EXIF block; raises `BrokenContainer` where it is none."""
    return read_exif_tags(io.BytesIO(exif.removeprefix(b"Exif\0\0")))


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
