"""When and where a video was taken, as the header of an MP4 or QuickTime file says it.

The time there is UTC and not the camera's clock, so that a date in the file's name comes first.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import BinaryIO

from visterm.pictures.decoding.containers import Part, file_size
from visterm.pictures.metadata.capture import NOTHING, VIDEO, Capture, made_capture

_FROM_1904 = 2_082_844_800
"""Seconds from 1904, where QuickTime begins to count, to 1970."""
_MOST_BOXES = 512
_POSITION = re.compile(r"([+-]\d{1,2}(?:\.\d+)?)([+-]\d{1,3}(?:\.\d+)?)")


def video_capture(file: BinaryIO) -> Capture:
    """What the header says; nothing where there is none, or it is broken."""
    try:
        moov = _named(file, b"moov", 0, file_size(file))
        if moov is None:
            return NOTHING
        inside = moov.offset, moov.offset + moov.length
        header, user = (_named(file, name, *inside) for name in (b"mvhd", b"udta"))
        taken = None if header is None else _time(header.read(file, 32))
        at = None
        if user is not None:
            place = _named(file, b"\xa9xyz", user.offset, user.offset + user.length)
            text = b"" if place is None else place.read(file, 64)[4:]
            at = _POSITION.match(text.decode("ascii", "ignore"))
    except (OSError, struct.error, ValueError):
        return NOTHING
    return made_capture(taken, VIDEO, *((float(at[1]), float(at[2])) if at else (None, None)))


def _time(header: bytes) -> int | None:
    """Seconds since 1970; cameras without a clock write 0, and ones that were never set 1970."""
    (seconds,) = struct.unpack_from(">Q" if header[:1] == b"\1" else ">I", header, 4)
    return seconds - _FROM_1904 if seconds > _FROM_1904 + 86_400 else None


def _named(file: BinaryIO, name: bytes, first: int, end: int) -> Part | None:
    """The first box of a name among those that lie side by side."""
    return next((box for box in _boxes(file, first, end) if box.kind == name), None)


def _boxes(file: BinaryIO, first: int, end: int) -> Iterator[Part]:
    for _ in range(_MOST_BOXES):
        file.seek(first)
        head = file.read(16)
        if len(head) < 8 or first + 8 > end:
            return
        length, kind, begin = int.from_bytes(head[:4], "big"), head[4:8], 8
        if length == 1:
            length, begin = int.from_bytes(head[8:16], "big"), 16
        elif length == 0:
            length = end - first
        if length < begin:
            return
        yield Part(kind, first + begin, min(length, end - first) - begin)
        first += length
