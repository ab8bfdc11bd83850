"""Captions in files beside a picture: ``photo.jpg.xmp`` or ``photo.xmp``, and so with ``.txt``."""

from __future__ import annotations

import json
import os

from visterm.pictures.caption_table import said_by, strings
from visterm.pictures.formats import Refused, opened
from visterm.pictures.texts import decoded, values
from visterm.pictures.xmp import read_xmp

MAX_XMP = 8_000_000
MAX_TXT = 1_000_000


def sidecars_of(path: str, extension: str) -> list[str]:
    """The files beside a picture that are named after it, the more telling name first."""
    names = []
    for stem in (path, os.path.splitext(path)[0]):
        names += [stem + extension, stem + extension.upper()]
    return [name for name in names if name != path and os.path.lexists(name)]


def read_xmp_sidecar(path: str) -> dict[str, list[str]]:
    """The values in one ``.xmp`` file; raises `Refused` or `BrokenXMP` where there are none."""
    return read_xmp(bytes_of(path, MAX_XMP))


def read_txt_sidecar(path: str) -> dict[str, list[str]]:
    """The lines of one ``.txt`` file, as ``txt``; raises `Refused` where it is no text."""
    data = bytes_of(path, MAX_TXT)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data.decode("utf-16", "replace")
    elif b"\0" in data:
        raise Refused("it is not text")
    else:
        text = decoded(data)
    lines = values(text.splitlines())
    return {"txt": lines} if lines else {}


def read_json_sidecar(path: str, problems: list[str]) -> dict[str, list[str]]:
    """The caption in the ``.json`` file of a picture of a shard, if there is one: a text, or an
    object with a known name.

    The names are those of columns in tables of captions; what is broken is added to ``problems``.
    """
    name = os.path.splitext(path)[0] + ".json"
    if not os.path.lexists(name):
        return {}
    try:
        found = json.loads(decoded(bytes_of(name, MAX_TXT)))
    except (Refused, ValueError, RecursionError) as problem:
        problems.append(f"{name}: no caption in JSON ({problem})")
        return {}
    if isinstance(found, dict):
        found = [text for value in said_by(found) if (text := strings(value))]
    lines = values(line for text in strings(found) or () for line in text.splitlines())
    return {"json": lines} if lines else {}


def bytes_of(path: str, limit: int) -> bytes:
    """A file of up to so many bytes; raises `Refused` where it is larger or no file."""
    with opened(path) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise Refused(f"it is larger than {limit:,} bytes")
    return data
