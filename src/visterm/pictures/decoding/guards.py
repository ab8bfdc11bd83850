"""Look at a picture file before a decoder does, and say what decoding it would cost.

Pillow guards against large pictures, but a file can hurt in other ways: millions of empty parts
before the picture, a progressive JPEG with thousands of scans, one TIFF tile of two gigabytes.
Each look here reads headers only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import BinaryIO

from visterm.pictures.decoding import formats
from visterm.pictures.decoding.containers import (
    BrokenContainer,
    TiffEntry,
    file_size,
    jpeg_segments,
    png_chunks,
    tiff_entries,
    tiff_numbers,
)

MAX_METADATA = 32_000_000
MAX_JPEG_SCANS = 100
MAX_PNG_ANCILLARY = 4_096
MAX_RLE_PIXELS = 16_000_000
MAX_TIFF_NUMBERS = 200_000
MAX_TIFF_SAMPLES = 6
MAX_TIFF_TILE = 64_000_000

_NEXT_MARKER = re.compile(rb"\xff[\x01-\xcf\xd8-\xfe]")
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Cost:
    """What a decoder holds besides the pixels: once for the file, and for each of its pixels."""

    fixed: int = 0
    per_pixel: float = 0.0


def cost_of(file: BinaryIO, format_: formats.Format) -> Cost:
    """Examine the open file; raise `BrokenContainer` where no decoder should try it."""
    if format_ is formats.JPEG:
        return _jpeg(file)
    if format_ is formats.PNG:
        return _png(file)
    if format_ is formats.GIF:
        return _gif(file)
    if format_ is formats.TIFF:
        return _tiff(file)
    if format_ is formats.BMP:
        return _bmp(file)
    # The decoders of the younger formats want the whole file in memory, and copy it.
    return Cost(fixed=2 * file_size(file))


def _jpeg(file: BinaryIO) -> Cost:
    """A JPEG of several scans is held whole as coefficients, two bytes each, until the last."""
    metadata, frame, scan = 0, b"", b""
    position = 0
    for part in jpeg_segments(file):
        kind = part.kind[0]
        metadata += part.length
        if metadata > MAX_METADATA:
            raise BrokenContainer("the JPEG header is too large")
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            frame = part.kind + part.read(file, 20)
        elif kind == 0xDA:
            scan, position = part.read(file, 1), part.offset + part.length
    if len(frame) < 7 or not scan:
        raise BrokenContainer("the JPEG header names no size")
    sampling = [(byte >> 4) * (byte & 15) for byte in frame[8::3]]
    if not sampling or min(sampling) == 0:
        raise BrokenContainer("the JPEG header is broken")
    progressive = frame[0] in (0xC2, 0xC6, 0xCA, 0xCE)
    if not progressive and scan[0] >= frame[6]:
        return Cost(fixed=2 * metadata)
    _count_scans(file, position)
    return Cost(fixed=2 * metadata, per_pixel=2 * sum(sampling) / max(sampling))


def _count_scans(file: BinaryIO, position: int) -> None:
    """Every scan passes over the whole picture, so a small file of many scans takes hours."""
    scans = 1
    size = file_size(file)
    while position < size:
        file.seek(position)
        block = file.read(_BLOCK)
        marker = _NEXT_MARKER.search(block)
        if marker is None:
            position += max(len(block) - 1, 1)  # a marker may lie across two blocks
            continue
        kind = block[marker.start() + 1]
        position += marker.start() + 2
        if kind == 0xD9:
            return
        if kind == 0x01 or kind == 0xD8:
            continue
        scans += kind == 0xDA
        if scans > MAX_JPEG_SCANS:
            raise BrokenContainer("the JPEG holds too many scans")
        file.seek(position)
        position += max(int.from_bytes(file.read(2), "big"), 2)


def _png(file: BinaryIO) -> Cost:
    metadata = ancillary = largest = 0
    for part in png_chunks(file):
        if part.kind == b"IDAT":
            largest = max(largest, part.length)  # what the picture leaves of it is read at once
            continue
        metadata, ancillary = metadata + part.length, ancillary + 1
        if ancillary > MAX_PNG_ANCILLARY or metadata > MAX_METADATA:
            raise BrokenContainer("the PNG holds too much besides its pixels")
    return Cost(fixed=3 * metadata + largest)


def _gif(file: BinaryIO) -> Cost:
    """Pillow keeps all that stands before the first frame, block by block."""
    file.seek(0)
    head = file.read(13)
    if len(head) < 13:
        raise BrokenContainer("the file is cut short in its header")
    begin = position = 13 + (3 << ((head[10] & 7) + 1) if head[10] & 0x80 else 0)
    file.seek(position)
    while (introducer := file.read(1)) == b"!":
        file.read(1)
        while length := int.from_bytes(file.read(1), "big"):
            position = file.seek(length, 1)
            if position - begin > MAX_METADATA // 16:
                raise BrokenContainer("the GIF holds too much besides its pixels")
    if introducer != b",":
        raise BrokenContainer("the GIF holds no picture")
    return Cost(fixed=16 * (position - begin))


def _bmp(file: BinaryIO) -> Cost:
    """Pillow unpacks run-length codes in Python, one pixel at a time where a line ends early."""
    file.seek(18)
    head = file.read(16)
    width, height = (abs(int.from_bytes(head[at : at + 4], "little", signed=True)) for at in (0, 4))
    if head[12:] in (b"\1\0\0\0", b"\2\0\0\0") and width * height > MAX_RLE_PIXELS:
        raise BrokenContainer(f"run-length coded BMPs are read up to {MAX_RLE_PIXELS:,} pixels")
    return Cost()


def _tiff(file: BinaryIO) -> Cost:
    """Tags are read into memory, strips and tiles are decoded whole, turned pictures are copied."""
    entries = {entry.tag: entry for entry in reversed(tiff_entries(file))}
    metadata = sum(entry.length for entry in entries.values())
    for entry in entries.values():
        if entry.kind not in (1, 2, 7) and entry.count > MAX_TIFF_NUMBERS:
            raise BrokenContainer("the TIFF holds too many strips or numbers")

    def number(tag: int, otherwise: int) -> int:
        entry: TiffEntry | None = entries.get(tag)
        values = tiff_numbers(file, entry) if entry else []
        return max(values, default=otherwise)

    if number(277, 1) > MAX_TIFF_SAMPLES:  # Pillow would log this as an error of the program
        raise BrokenContainer("the TIFF has too many samples a pixel")
    width, height = number(256, 0), number(257, 0)
    pixel = max(number(258, 1) * number(277, 1) / 8, 1)
    if 322 in entries:
        strip = int(number(322, 0) * number(323, 0) * pixel)
        if strip > MAX_TIFF_TILE:
            raise BrokenContainer("the tiles of the TIFF are too large")
    else:
        strip = int(width * min(number(278, height), height) * pixel)
    turned = 4.0 if number(274, 1) > 1 else 0.0
    plain = number(259, 1) == 1
    return Cost(fixed=2 * metadata + (0 if plain else strip), per_pixel=turned)
