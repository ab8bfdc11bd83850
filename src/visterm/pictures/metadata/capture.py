"""When and where a picture was taken: from EXIF, XMP, the file's name, and last its time of change.

Times are those of the camera's own clock, as seconds since 1970 if that clock showed UTC: what
people mean by "July 2019" is the month in which it was July where they stood.
"""

from __future__ import annotations

import io
import math
import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import BinaryIO

from visterm.pictures.decoding.containers import (
    BrokenContainer,
    TiffEntry,
    tiff_entries,
    tiff_numbers,
)

EXIF, XMP, NAME, VIDEO, FILE = "exif", "xmp", "name", "video", "file"
"""Where a time comes from, the most trustworthy first."""

_EXIF_IFD, _GPS_IFD = 0x8769, 0x8825
_ORIGINAL, _DIGITIZED, _CHANGED = 0x9003, 0x9004, 0x0132
_TIME = re.compile(r"(\d{4})[:\-/](\d\d)(?:[:\-/](\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d))?)?)?")
_IN_A_NAME = re.compile(
    r"""(?<!\d) ((?:19|20)\d\d) ([-_.]?) (0[1-9]|1[0-2]) \2 (0[1-9]|[12]\d|3[01])
        (?: (?:[-_.\sT]|\sat\s){1,4} ([01]\d|2[0-3]) [-_.:]? ([0-5]\d) [-_.:]? ([0-5]\d) \d{0,3}
        )? (?!\d)""",
    re.VERBOSE,
)
_DEGREES = re.compile(r"(\d{1,3}),(\d{1,2}(?:\.\d+)?)(?:,(\d{1,2}(?:\.\d+)?))?([NSEW])")


@dataclass(frozen=True)
class Capture:
    """When and where a picture was taken, and how the time is known."""

    taken: int | None = None
    source: str = ""
    """exif, xmp, name, video or file; nothing where the time is not known."""
    latitude: float | None = None
    longitude: float | None = None

    def __or__(self, other: Capture) -> Capture:
        """This, completed by what another knows."""
        found = (
            self
            if self.taken is not None
            else replace(self, taken=other.taken, source=other.source)
        )
        if found.latitude is None:
            found = replace(found, latitude=other.latitude, longitude=other.longitude)
        return found


NOTHING = Capture()


def exif_capture(exif: bytes | BinaryIO) -> Capture:
    """What an EXIF block says, or the tags of a TIFF; nothing where they are broken."""
    file = io.BytesIO(exif.removeprefix(b"Exif\0\0")) if isinstance(exif, bytes) else exif
    try:
        first = {entry.tag: entry for entry in tiff_entries(file)}
        more = _directory(file, first.get(_EXIF_IFD))
        at = _directory(file, first.get(_GPS_IFD))
    except (BrokenContainer, struct.error, ValueError):
        return NOTHING
    entries = (more.get(_ORIGINAL), more.get(_DIGITIZED), first.get(_CHANGED))
    times = (_seconds(_ascii(file, entry)) for entry in entries if entry is not None)
    taken = next((time for time in times if time is not None), None)
    latitude = _signed(_angle(file, at.get(2)), _ascii(file, at.get(1)))
    longitude = _signed(_angle(file, at.get(4)), _ascii(file, at.get(3)))
    return made_capture(taken, EXIF, latitude, longitude)


def xmp_capture(found: Mapping[str, Iterable[str]]) -> Capture:
    """What the properties of a packet say, as `read_xmp` returns them.

    >>> xmp_capture({"taken": ["2019-07-04T10:20:30"], "latitude": ["38,42.5N"]}).source
    'xmp'
    """
    times = (_seconds(text) for field in ("taken", "created") for text in found.get(field, ()))
    taken = next((time for time in times if time is not None), None)
    latitude, longitude = (
        next(map(_xmp_degrees, found.get(field, ())), None) for field in ("latitude", "longitude")
    )
    return made_capture(taken, XMP, latitude, longitude)


def name_capture(name: str) -> Capture:
    """The date, and often the time, that cameras and telephones write into names.

    >>> found = name_capture("IMG_20190704_102030.jpg")
    >>> datetime.fromtimestamp(found.taken, UTC).isoformat()
    '2019-07-04T10:20:30+00:00'
    >>> name_capture("DSC_0417.jpg").taken is None
    True
    """
    found = _IN_A_NAME.search(name)
    if found is None:
        return NOTHING
    year, _, *rest = found.groups()
    taken = _moment([year, *rest])
    return NOTHING if taken is None else Capture(taken, NAME)


def file_capture(mtime_ns: int) -> Capture:
    """The time at which a file was last changed, on this machine's clock."""
    try:
        local = datetime.fromtimestamp(mtime_ns // 1_000_000_000)
    except (OverflowError, OSError, ValueError):
        return NOTHING
    return Capture(int(local.replace(tzinfo=UTC).timestamp()), FILE)


def made_capture(
    taken: int | None, source: str, latitude: float | None, longitude: float | None
) -> Capture:
    """What was found, without positions that are none: a receiver without signal says 0, 0."""
    is_known = (
        latitude is not None
        and longitude is not None
        and abs(latitude) <= 90
        and abs(longitude) <= 180
        and (latitude, longitude) != (0, 0)
    )
    at = (latitude, longitude) if is_known else (None, None)
    return Capture(taken, source if taken is not None else "", *at)


def _directory(file: BinaryIO, entry: TiffEntry | None) -> dict[int, TiffEntry]:
    places = [] if entry is None else tiff_numbers(file, entry, limit=1)
    if not places:
        return {}
    return {found.tag: found for found in tiff_entries(file, directory=places[0])}


def _ascii(file: BinaryIO, entry: TiffEntry | None) -> str:
    if entry is None or entry.kind != 2:
        return ""
    file.seek(entry.offset)
    return file.read(min(entry.length, 40)).decode("ascii", "ignore").strip("\0 ")


def _angle(file: BinaryIO, entry: TiffEntry | None) -> float | None:
    """Degrees, minutes and seconds, each a fraction of whole numbers."""
    if entry is None or entry.kind != 5 or entry.count < 1:
        return None
    file.seek(0)
    order = "<" if file.read(2) == b"II" else ">"
    file.seek(entry.offset)
    raw = file.read(min(entry.length, 24))
    numbers = struct.unpack(f"{order}{len(raw) // 4}I", raw[: len(raw) // 4 * 4])
    pairs = list(zip(numbers[::2], numbers[1::2], strict=False))
    if any(not below and above for above, below in pairs):
        return None
    return math.fsum(
        above / (below or 1) / share
        for (above, below), share in zip(pairs, (1, 60, 3600), strict=False)
    )


def _signed(angle: float | None, side: str) -> float | None:
    if angle is None:
        return None
    return -angle if side[:1].upper() in ("S", "W") else angle


def _xmp_degrees(text: str) -> float | None:
    """As XMP writes them: 38,42.5N or 38,42,30N."""
    found = _DEGREES.fullmatch(text.strip())
    if found is None:
        return None
    degrees, minutes, seconds, side = found.groups()
    return _signed(float(degrees) + float(minutes) / 60 + float(seconds or 0) / 3600, side)


def _seconds(text: str) -> int | None:
    """A time as EXIF (2019:07:04 10:20:30) or ISO 8601 writes it; its time zone is left out."""
    found = _TIME.match(text)
    return None if found is None else _moment(found.groups())


def _moment(parts: Iterable[str | None]) -> int | None:
    """Seconds of a date and time that may lack their smaller parts; None where there is none."""
    year, month, day, *clock = (None if part is None else int(part) for part in parts)
    hour, minute, second = (part or 0 for part in clock)
    try:
        moment = datetime(year or 0, month or 1, day or 1, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    # A camera whose clock was never set says 1970, 1980 or 2000; only years that cannot be go.
    return int(moment.timestamp()) if moment.year >= 1826 else None
