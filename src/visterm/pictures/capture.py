"""When and where a picture was taken: from EXIF, XMP, the file's name, and last its time of change.

Times are those of the camera's own clock, as seconds since 1970 if that clock showed UTC: what
people mean by "July 2019" is the month in which it was July where they stood.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Exif

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
_POSITION = re.compile(r"([+-]\d{1,2}(?:\.\d+)?)([+-]\d{1,3}(?:\.\d+)?)")
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
        joined = self
        if self.taken is None:
            joined = replace(joined, taken=other.taken, source=other.source)
        if self.latitude is None:
            joined = replace(joined, latitude=other.latitude, longitude=other.longitude)
        return joined


NOTHING = Capture()


def exif_capture(exif: Exif) -> Capture:
    """What EXIF tags say; Pillow raises whatever comes to hand where they are broken."""
    more, at = exif.get_ifd(_EXIF_IFD), exif.get_ifd(_GPS_IFD)
    written = (more.get(_ORIGINAL), more.get(_DIGITIZED), exif.get(_CHANGED))
    times = (_seconds(str(text)) for text in written if text)
    taken = next((time for time in times if time is not None), None)
    latitude = _signed(_angle(at.get(2)), str(at.get(1, "")))
    longitude = _signed(_angle(at.get(4)), str(at.get(3, "")))
    return made_capture(taken, EXIF, latitude, longitude)


def video_capture(facts: Mapping[str, str]) -> Capture:
    """What the header of a video says, by the names of FFmpeg.

    Its time is UTC and not the camera's clock, so that a date in the file's name comes first;
    cameras without a clock write 1904, and ones that were never set 1970.

    >>> video_capture({"creation_time": "2019-07-04T10:20:30.000000Z"}).source
    'video'
    """
    facts = {name.lower(): fact for name, fact in facts.items()}
    taken = _seconds(facts.get("creation_time", ""))
    names = ("location", "location-eng", "com.apple.quicktime.location.iso6709")
    at = next((match for name in names if (match := _POSITION.match(facts.get(name, "")))), None)
    position = (float(at[1]), float(at[2])) if at else (None, None)
    return made_capture(taken if (taken or 0) > 86_400 else None, VIDEO, *position)


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
    match = _IN_A_NAME.search(name)
    if match is None:
        return NOTHING
    year, _, *rest = match.groups()
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


def _angle(parts: Any) -> float | None:
    """Degrees, minutes and seconds, each a number or a fraction."""
    if not isinstance(parts, tuple) or not parts:
        return None
    numbers = [0.0 if getattr(part, "numerator", 1) == 0 else float(part) for part in parts[:3]]
    if not all(map(math.isfinite, numbers)):
        return None
    return math.fsum(number / share for number, share in zip(numbers, (1, 60, 3600), strict=False))


def _signed(angle: float | None, side: str) -> float | None:
    if angle is None:
        return None
    return -angle if side[:1].upper() in ("S", "W") else angle


def _xmp_degrees(text: str) -> float | None:
    """As XMP writes them: 38,42.5N or 38,42,30N."""
    match = _DEGREES.fullmatch(text.strip())
    if match is None:
        return None
    degrees, minutes, seconds, side = match.groups()
    return _signed(float(degrees) + float(minutes) / 60 + float(seconds or 0) / 3600, side)


def _seconds(text: str) -> int | None:
    """A time as EXIF (2019:07:04 10:20:30) or ISO 8601 writes it; its time zone is left out."""
    match = _TIME.match(text)
    return None if match is None else _moment(match.groups())


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
