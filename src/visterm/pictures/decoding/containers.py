"""Walk the parts of a picture file (segments, chunks, tags) without decoding any of them.

Both the guards before decoding and the readers of captions need to know what lies where in a file
that nobody vouches for. Every walk here is bounded: it reads headers only, never follows a length
beyond the end of the file, and gives up with `BrokenContainer` after a generous number of parts.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

# Real files hold a few dozen parts; a hostile one can hold millions of empty ones.
MAX_JPEG_SEGMENTS = 4_096
MAX_JPEG_JUNK = 65_536
MAX_PNG_CHUNKS = 500_000
MAX_RIFF_CHUNKS = 65_536
MAX_TIFF_ENTRIES = 4_096

TIFF_UNIT = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4}
TIFF_UNIT |= {16: 8, 17: 8, 18: 8}


class BrokenContainer(ValueError):
    """The parts of a file do not fit together; the message says which and how."""


@dataclass(frozen=True)
class Part:
    """One part of a file: what it calls itself and where its bytes lie."""

    kind: bytes
    offset: int
    length: int

    def read(self, file: BinaryIO, limit: int) -> bytes:
        """Its bytes, at most ``limit`` of them."""
        file.seek(self.offset)
        return file.read(min(self.length, limit))


@dataclass(frozen=True)
class TiffEntry:
    """One tag of a TIFF directory; ``offset`` is where its ``length`` bytes lie in the file."""

    tag: int
    kind: int
    count: int
    offset: int
    length: int


def file_size(file: BinaryIO) -> int:
    """How many bytes the open file holds.

    >>> import io
    >>> file_size(io.BytesIO(b"12345"))
    5
    """
    return file.seek(0, os.SEEK_END)


def jpeg_segments(file: BinaryIO) -> Iterator[Part]:
    """The marker segments of a JPEG up to and including the first start of scan.

    The kind of a part is the marker's second byte; its bytes exclude the two of the length.
    """
    size, position, junk, segments = file_size(file), 2, 0, 0
    while junk <= MAX_JPEG_JUNK and segments <= MAX_JPEG_SEGMENTS:
        file.seek(position)
        head = file.read(4)
        if len(head) < 4:
            raise BrokenContainer("the file is cut short in its header")
        if head[0] != 0xFF or head[1] in (0x00, 0xFF):  # padding, or bytes that belong to nothing
            position, junk = position + 1, junk + 1
            continue
        if 0xD0 <= head[1] <= 0xD9 or head[1] == 0x01:  # markers that stand alone
            position, junk = position + 2, junk + 1
            continue
        length = int.from_bytes(head[2:], "big")
        if length < 2 or position + 2 + length > size:
            raise BrokenContainer("the file is cut short in its header")
        yield Part(head[1:2], position + 4, length - 2)
        if head[1] == 0xDA:
            return
        position, segments = position + 2 + length, segments + 1
    raise BrokenContainer("the JPEG header holds too many parts, and no picture")


def png_chunks(file: BinaryIO) -> Iterator[Part]:
    """The chunks of a PNG, as far as the file reaches."""
    size, position = file_size(file), 8
    for _ in range(MAX_PNG_CHUNKS):
        file.seek(position)
        head = file.read(8)
        if len(head) < 8:
            return
        length = int.from_bytes(head[:4], "big")
        yield Part(head[4:], position + 8, min(length, size - position - 8))
        if head[4:] == b"IEND":
            return
        position += 12 + length
    raise BrokenContainer("the PNG holds too many parts")


def riff_chunks(file: BinaryIO) -> Iterator[Part]:
    """The chunks of a WebP (a RIFF file), as far as the file reaches."""
    size, position = file_size(file), 12
    for _ in range(MAX_RIFF_CHUNKS):
        file.seek(position)
        head = file.read(8)
        if len(head) < 8:
            return
        length = int.from_bytes(head[4:], "little")
        yield Part(head[:4], position + 8, min(length, size - position - 8))
        position += 8 + length + (length & 1)
    raise BrokenContainer("the WebP holds too many parts")


def tiff_entries(
    file: BinaryIO, *, start: int = 0, directory: int | None = None
) -> list[TiffEntry]:
    """The tags of one directory of a TIFF (the first, unless its place is given).

    ``start`` is where the TIFF begins in the file, because EXIF is a TIFF inside another file. Tags
    whose bytes lie outside the file are left out.
    """
    size = file_size(file)
    file.seek(start)
    head = file.read(16)
    order = {b"II": "<", b"MM": ">"}.get(head[:2])
    if order is None or len(head) < 8:
        raise BrokenContainer("the TIFF header is broken")
    (version,) = struct.unpack(order + "H", head[2:4])
    if version not in (42, 43) or (version == 43 and len(head) < 16):
        raise BrokenContainer("the TIFF header is broken")
    big = version == 43
    place, entry, room = ("Q", "HHQ", 8) if big else ("I", "HHI", 4)
    if directory is None:
        (directory,) = struct.unpack(order + place, head[8:16] if big else head[4:8])
    file.seek(min(start + directory, size))
    raw = file.read(8 if big else 2)
    if len(raw) < (8 if big else 2):
        raise BrokenContainer("the TIFF directory lies outside the file")
    (entries,) = struct.unpack(order + ("Q" if big else "H"), raw)
    if entries > MAX_TIFF_ENTRIES:
        raise BrokenContainer("the TIFF directory holds too many tags")
    body, step = file.tell(), struct.calcsize("=" + entry) + room
    table = file.read(entries * step)
    found = []
    for at in range(0, len(table) - step + 1, step):
        tag, kind, count = struct.unpack_from(order + entry, table, at)
        length = TIFF_UNIT.get(kind, 0) * count
        offset = body + at + step - room
        if length > room:
            (offset,) = struct.unpack_from(order + place, table, at + step - room)
            offset += start
        if 0 < length <= size - offset:
            found.append(TiffEntry(tag, kind, count, offset, length))
    return found


def tiff_numbers(file: BinaryIO, entry: TiffEntry, *, start: int = 0, limit: int = 16) -> list[int]:
    """The first whole numbers of a tag (BYTE, SHORT, LONG or LONG8); empty for other kinds."""
    letter = {1: "B", 3: "H", 4: "I", 13: "I", 16: "Q"}.get(entry.kind)
    if letter is None:
        return []
    file.seek(start)
    order = "<" if file.read(2) == b"II" else ">"
    file.seek(entry.offset)
    count = min(entry.count, limit)
    raw = file.read(count * TIFF_UNIT[entry.kind])
    count = len(raw) // TIFF_UNIT[entry.kind]
    return list(struct.unpack_from(f"{order}{count}{letter}", raw))
