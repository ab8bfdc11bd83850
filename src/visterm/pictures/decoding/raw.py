"""RAW files: the preview that the camera wrote into them, or else their pixels developed by rawpy.

Most RAW files are TIFFs whose directories hold a JPEG of the whole picture; it is decoded as any
other JPEG is, with all guards. Where there is none of a useful size, LibRaw develops the picture at
half its size (extra ``raw``).
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import BinaryIO

from visterm.pictures.decoding.containers import (
    BrokenContainer,
    TiffEntry,
    tiff_entries,
    tiff_numbers,
)
from visterm.pictures.decoding.limits import check_size
from visterm.pictures.decoding.pixels import Pixels, rgb_array
from visterm.pictures.decoding.regular_files import Refused

USEFUL = 256
"""Pixels of the longer side from which a preview will do."""
LARGEST_FILE = 400_000_000
_SUB_IFDS, _JPEG_AT, _JPEG_LENGTH = 0x014A, 0x0201, 0x0202
_COMPRESSION, _PHOTOMETRIC, _STRIPS, _STRIP_LENGTHS = 0x0103, 0x0106, 0x0111, 0x0117
_DNG_VERSION, _ORIENTATION = 0xC612, 0x0112
_SENSOR = (32_803, 34_892)
_MOST_DIRECTORIES = 16


def is_raw(file: BinaryIO, head: bytes) -> bool:
    """Whether an open file is a RAW file, by its content; the file is left anywhere."""
    if head.startswith((b"FUJIFILMCCD-RAW", b"IIRO", b"IIRS", b"MMOR", b"IIU\0")):
        return True
    if head[4:12] == b"ftypcrx ":
        return True
    if not head.startswith((b"II*\0", b"MM\0*")):
        return False
    if head[8:10] == b"CR":
        return True
    try:
        return any(
            _DNG_VERSION in tags or _first(file, tags, _PHOTOMETRIC) in _SENSOR
            for tags in _directories(file)
        )
    except BrokenContainer:
        return False


def previews(file: BinaryIO) -> list[bytes]:
    """The JPEGs that the directories of a TIFF hold, the largest first."""
    found: dict[int, int] = {}
    try:
        for tags in _directories(file):
            at, length = _first(file, tags, _JPEG_AT), _first(file, tags, _JPEG_LENGTH)
            if _first(file, tags, _COMPRESSION) in (6, 7) and not at:
                at, length = _first(file, tags, _STRIPS), _first(file, tags, _STRIP_LENGTHS)
            if at and length:
                found[at] = length
    except BrokenContainer:
        pass  # what was found until then
    jpegs = []
    for at, length in sorted(found.items(), key=lambda pair: -pair[1]):
        file.seek(at)
        data = file.read(min(length, LARGEST_FILE))
        if data.startswith(b"\xff\xd8\xff"):
            jpegs.append(data)
    return jpegs


def orientation(file: BinaryIO) -> int:
    """How the picture is to be turned, as the first directory says."""
    try:
        tags = {entry.tag: entry for entry in tiff_entries(file)}
    except BrokenContainer:
        return 1
    return _first(file, tags, _ORIENTATION) or 1


def developed(file: BinaryIO, max_pixels: int) -> Pixels:
    """The picture developed from the sensor's values, upright, at half its size."""
    try:
        import rawpy
    except ImportError:
        raise Refused(
            "this RAW file holds no preview; developing it needs the extra 'raw': "
            "pip install 'visterm[raw]'"
        ) from None
    if file.seek(0, io.SEEK_END) > LARGEST_FILE:
        raise Refused(f"it has more than the {LARGEST_FILE:,} bytes of the largest RAW files")
    file.seek(0)
    try:
        with rawpy.imread(file) as raw:
            check_size((raw.sizes.raw_width, raw.sizes.raw_height), max_pixels)
            pixels = raw.postprocess(half_size=True, use_camera_wb=True, output_bps=8)
        return _rgb(pixels)
    except (Refused, MemoryError):
        raise
    except Exception as problem:  # LibRaw's errors, and whatever a damaged file brings
        message = " ".join(str(problem).split())[:80]
        raise Refused(f"its RAW data are broken ({message})") from None


def _rgb(pixels: Pixels) -> Pixels:
    """Three channels, also of a sensor without colours."""
    from PIL import Image

    grey = pixels.ndim == 3 and pixels.shape[2] == 1
    return rgb_array(Image.fromarray(pixels[:, :, 0] if grey else pixels))


def _directories(file: BinaryIO) -> Iterator[dict[int, TiffEntry]]:
    """The first directory of a TIFF and those below it, never more than so many."""
    waiting: list[int | None] = [None]
    seen: set[int] = set()
    while waiting and len(seen) < _MOST_DIRECTORIES:
        place = waiting.pop(0)
        if place in seen:
            continue
        seen.add(place or 0)
        tags = {entry.tag: entry for entry in tiff_entries(file, directory=place)}
        yield tags
        if _SUB_IFDS in tags:
            waiting += tiff_numbers(file, tags[_SUB_IFDS], limit=_MOST_DIRECTORIES)


def _first(file: BinaryIO, tags: dict[int, TiffEntry], tag: int) -> int:
    numbers = tiff_numbers(file, tags[tag], limit=1) if tag in tags else []
    return numbers[0] if numbers else 0
