"""What is written about a picture, in the file or in files beside it: captions, time and place.

Files beside a picture are ``photo.jpg.xmp`` or ``photo.xmp``, and so with ``.txt``.
Times are those of the camera's own clock, as seconds since 1970 if that clock showed UTC: what
people mean by "July 2019" is the month in which it was July where they stood.

Pillow finds and parses the blocks (EXIF, XMP, IPTC) in every format; character sets and the texts
that Windows keeps in EXIF are decoded here.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from visterm.pictures.caption_table import read_row, strings
from visterm.pictures.decoder import OpenPicture, RawPicture
from visterm.pictures.formats import Refused, opened
from visterm.pictures.texts import decoded, old_windows, tidy, values
from visterm.pictures.xmp import CAPTURE, BrokenXMP, read_xmp

if TYPE_CHECKING:
    from PIL.Image import Exif
    from PIL.ImageFile import ImageFile

Values = dict[str, list[str]]

EXIF, XMP, NAME, VIDEO, FILE = "exif", "xmp", "name", "video", "file"
"""Where a time comes from, the most trustworthy first."""

_EXIF_IFD, _GPS_IFD = 0x8769, 0x8825
_ORIGINAL, _DIGITIZED, _CHANGED = 0x9003, 0x9004, 0x0132
_MAKE, _MODEL, _LENS, _RATING = 0x010F, 0x0110, 0xA434, 0x4746
_TIME = re.compile(r"(\d{4})[:\-/](\d\d)(?:[:\-/](\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d))?)?)?")
_IN_A_NAME = re.compile(
    r"""(?<!\d) ((?:19|20)\d\d) ([-_.]?) (0[1-9]|1[0-2]) \2 (0[1-9]|[12]\d|3[01])
        (?: (?:[-_.\sT]|\sat\s){1,4} ([01]\d|2[0-3]) [-_.:]? ([0-5]\d) [-_.:]? ([0-5]\d) \d{0,3}
        )? (?!\d)""",
    re.VERBOSE,
)
_POSITION = re.compile(r"([+-]\d{1,2}(?:\.\d+)?)([+-]\d{1,3}(?:\.\d+)?)")
_DEGREES = re.compile(r"(\d{1,3}),(\d{1,2}(?:\.\d+)?)(?:,(\d{1,2}(?:\.\d+)?))?([NSEW])")
MAX_XMP = 8_000_000
_MAX_TEXT = 1_000_000
_DESCRIPTION, _XMP_TAG = 270, 700
# Windows writes these in UTF-16; its keywords are one text with semicolons.
_WINDOWS = {0x9C9B: "title", 0x9C9C: "comment", 0x9C9E: "keywords", 0x9C9F: "subject"}
_IPTC_CHARSET = (1, 90)
_IPTC_FIELDS = {
    (2, 5): "title",
    (2, 25): "keywords",
    (2, 105): "headline",
    (2, 120): "caption",
    **{(2, number): "place" for number in (90, 92, 95, 101)},  # city, quarter, province, country
}


@dataclass(frozen=True)
class Capture:
    """When, where and with what a picture was taken, how the time is known, and its rating."""

    taken: int | None = None
    source: str = ""
    """exif, xmp, name, video or file; nothing where the time is not known."""
    latitude: float | None = None
    longitude: float | None = None
    camera: str | None = None
    lens: str | None = None
    rating: int | None = None
    """Stars, 1 to 5, or -1 for a picture that was rejected."""

    def __or__(self, other: Capture) -> Capture:
        """This, completed by what another knows."""
        joined = self
        if self.taken is None:
            joined = replace(joined, taken=other.taken, source=other.source)
        if self.latitude is None:
            joined = replace(joined, latitude=other.latitude, longitude=other.longitude)
        about = {name: getattr(self, name) or getattr(other, name) for name in _ABOUT}
        return replace(joined, **about)


_ABOUT = ("camera", "lens", "rating")
NOTHING = Capture()


def exif_capture(exif: Exif) -> Capture:
    """What EXIF tags say; Pillow raises whatever comes to hand where they are broken."""
    more, at = exif.get_ifd(_EXIF_IFD), exif.get_ifd(_GPS_IFD)
    written = (more.get(_ORIGINAL), more.get(_DIGITIZED), exif.get(_CHANGED))
    times = (_seconds(str(text)) for text in written if text)
    taken = next((time for time in times if time is not None), None)
    latitude = _signed(_angle(at.get(2)), str(at.get(1, "")))
    longitude = _signed(_angle(at.get(4)), str(at.get(3, "")))
    stars = str(exif.get(_RATING, ""))
    about = _about(str(exif.get(_MAKE, "")), str(exif.get(_MODEL, "")), str(more.get(_LENS, "")))
    return made_capture(taken, EXIF, latitude, longitude) | about | Capture(rating=_stars(stars))


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
    make, model, lens, stars = (
        next(iter(found.get(field, ())), "") for field in ("make", "model", "lens", "rating")
    )
    about = _about(make, model, lens) | Capture(rating=_stars(stars))
    return made_capture(taken, XMP, latitude, longitude) | about


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


def _about(make: str, model: str, lens: str) -> Capture:
    """What a picture was taken with; many cameras name their maker twice.

    >>> _about("Canon", "Canon EOS 5D", "").camera, _about("FUJIFILM", "X-T3", "").camera
    ('Canon EOS 5D', 'FUJIFILM X-T3')
    """
    make, model, lens = (tidy(text.replace("\0", " ")) for text in (make, model, lens))
    if make and make.split()[0].lower() not in model.lower():
        model = f"{make} {model}".strip()
    return Capture(camera=model or None, lens=lens or None)


def _stars(text: str) -> int | None:
    """A rating; 0 is what programs write where nobody gave one."""
    match = re.fullmatch(r"(-1|[1-5])(\.0*)?", text.strip())
    return None if match is None else int(match[1])


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


@dataclass(frozen=True)
class Caption:
    """A text about a picture and where it was found.

    ``source`` is ``iptc:``, ``xmp:``, ``xmp-sidecar:`` or ``exif:`` and the name of a field
    (``keywords``, ``caption``, ``title``, ``headline``; ``subject``, ``tags``, ``people``,
    ``title``, ``description``; ``description``, ``title``, ``subject``, ``keywords``,
    ``comment``; ``place`` for names of places), or ``txt``. ``text`` holds one value a line: each
    keyword, each language, each line of a file.
    """

    source: str
    text: str


@dataclass
class Metadata:
    """All that is written about a picture: captions by source, time and place, and problems."""

    captions: list[Caption] = field(default_factory=list)
    capture: Capture = NOTHING
    recorded: Capture = NOTHING
    """What the header of a video says, by a clock that is not the camera's."""
    problems: list[str] = field(default_factory=list)


class MetadataReader:
    """Gathers what is written about one picture.

    Metadata from strangers never raises: what is broken gives no caption, and a line about it is
    one of the ``problems``.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._texts: Values = {}
        self._inside, self._beside, self.recorded = NOTHING, NOTHING, NOTHING
        self.problems: list[str] = []

    def embedded(self, picture: OpenPicture | RawPicture) -> None:
        """Take what the file itself holds; one broken kind of metadata does not cost the others."""
        exif = picture.exif
        if isinstance(picture, OpenPicture):
            self._merge(self._attempt(partial(_iptc_texts, picture.picture), self._path), "iptc:")
            xmp = picture.picture.info.get("xmp", b"")
        if isinstance(picture, RawPicture) or picture.format == "TIFF":
            xmp = _tag_bytes(exif, _XMP_TAG)
        self._merge(self._attempt(partial(_exif_texts, exif), self._path), "exif:")
        with contextlib.suppress(Exception):  # Pillow raises whatever comes to hand
            self._inside |= exif_capture(exif)
        if xmp:
            properties = self._attempt(partial(read_xmp, xmp[:MAX_XMP]), self._path)
            self._inside |= _popped_capture(properties)
            self._merge(properties, "xmp:")

    def beside(self, *, in_shard: bool) -> None:
        """Take what lies beside the file; in shards ``.json`` as well."""
        for name in sidecars_of(self._path, ".xmp"):
            properties = self._attempt(partial(_read_xmp_sidecar, name), name)
            self._beside |= _popped_capture(properties)
            self._merge(properties, "xmp-sidecar:")
        for name in sidecars_of(self._path, ".txt"):
            self._merge(self._attempt(partial(_read_txt_sidecar, name), name))
        if in_shard:
            self._merge(_read_json_sidecar(self._path, self.problems))

    def metadata(self) -> Metadata:
        """What was found. Of time and place a sidecar counts first: it was written later."""
        captions = [Caption(source, "\n".join(texts)) for source, texts in self._texts.items()]
        return Metadata(captions, self._beside | self._inside, self.recorded, self.problems)

    def _merge(self, more: Mapping[str, list[str]], prefix: str = "") -> None:
        for name, texts in more.items():
            known = self._texts.get(prefix + name, [])
            self._texts[prefix + name] = list(dict.fromkeys(known + texts))

    def _attempt(self, read: Callable[[], Values], where: str) -> Values:
        try:
            return read()
        except (Refused, BrokenXMP) as problem:
            self.problems.append(f"{where}: {problem}")
        except OSError as problem:
            self.problems.append(f"{where}: {problem.strerror or 'it cannot be read'}")
        except Exception as problem:  # Pillow raises whatever comes to hand
            self.problems.append(f"{where}: its EXIF cannot be read ({type(problem).__name__})")
        return {}


def _popped_capture(found: Values) -> Capture:
    """Take what says when and where out of the values of a packet."""
    return xmp_capture({name: found.pop(name) for name in CAPTURE if name in found})


def _exif_texts(exif: Exif) -> Values:
    """The few texts that people and Windows keep in EXIF."""
    fields: Values = {}
    for tag, name in {_DESCRIPTION: "description", **_WINDOWS}.items():
        data = _tag_bytes(exif, tag)[:_MAX_TEXT]
        if tag == _DESCRIPTION:
            texts = [decoded(data.rstrip(b"\0 "))]
        else:
            text = data.decode("utf-16-le", "ignore")
            texts = text.split(";") if name == "keywords" else [text]
        if kept := values(texts):
            fields[name] = kept
    return fields


def _tag_bytes(exif: Exif, tag: int) -> bytes:
    """The bytes of a tag, as they stand in the file where Pillow gives text or 32-bit numbers."""
    value: Any = exif.get(tag, b"")
    if isinstance(value, str):
        return value.encode("latin-1", "ignore")
    if isinstance(value, tuple) and all(isinstance(number, int) for number in value):
        with contextlib.suppress(struct.error):
            return struct.pack(f"{exif.endian or '<'}{len(value)}I", *value)
    return value if isinstance(value, bytes) else b""


def _iptc_texts(picture: ImageFile) -> Values:
    """The title, keywords, headline, caption and place in IPTC."""
    from PIL.IptcImagePlugin import getiptcinfo

    try:
        block = getiptcinfo(picture) or {}
    except (OSError, SyntaxError, ValueError, struct.error):  # it is broken
        return {}
    charset = block.get(_IPTC_CHARSET) or b""
    fields: Values = {}
    for dataset, name in _IPTC_FIELDS.items():
        data = block.get(dataset) or []
        texts = [text for text in (data if isinstance(data, list) else [data]) if text]
        if kept := values(_characters(text, charset) for text in texts):  # type: ignore[arg-type]
            fields[name] = fields.get(name, []) + kept
    return fields


def _characters(data: bytes, charset: bytes) -> str:
    """ISO 2022's escapes name the encoding; most programs know one, and many name none."""
    if charset.startswith(b"\x1b%"):
        return data.decode("utf-8", "replace")
    return old_windows(data) if charset in (b"\x1b.A", b"\x1b-A") else decoded(data)


def sidecars_of(path: str, extension: str) -> list[str]:
    """The files beside a picture that are named after it, the more telling name first."""
    names = []
    for stem in (path, os.path.splitext(path)[0]):
        names += [stem + extension, stem + extension.upper()]
    return [name for name in names if name != path and os.path.lexists(name)]


def _read_xmp_sidecar(path: str) -> Values:
    """The values in one ``.xmp`` file; raises `Refused` or `BrokenXMP` where there are none."""
    return read_xmp(bytes_of(path, MAX_XMP))


def _read_txt_sidecar(path: str) -> dict[str, list[str]]:
    """The lines of one ``.txt`` file, as ``txt``; raises `Refused` where it is no text."""
    data = bytes_of(path, _MAX_TEXT)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data.decode("utf-16", "replace")
    elif b"\0" in data:
        raise Refused("it is not text")
    else:
        text = decoded(data)
    lines = values(text.splitlines())
    return {"txt": lines} if lines else {}


def _read_json_sidecar(path: str, problems: list[str]) -> dict[str, list[str]]:
    """The caption in the ``.json`` file of a picture of a shard, if there is one: a text, or an
    object with a known name.

    The names are those of columns in tables of captions; what is broken is added to ``problems``.
    """
    name = os.path.splitext(path)[0] + ".json"
    if not os.path.lexists(name):
        return {}
    try:
        said = json.loads(decoded(bytes_of(name, _MAX_TEXT)))
    except (Refused, ValueError, RecursionError) as problem:
        problems.append(f"{name}: no caption in JSON ({problem})")
        return {}
    if isinstance(said, dict):
        said = [text for value in read_row(said)[1] if (text := strings(value))]
    lines = values(line for text in strings(said) or () for line in text.splitlines())
    return {"json": lines} if lines else {}


def bytes_of(path: str, limit: int) -> bytes:
    """A file of up to so many bytes; raises `Refused` where it is larger or no file."""
    with opened(path) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise Refused(f"it is larger than {limit:,} bytes")
    return data
