"""Filters of a query: which pictures may answer, by folder, caption, time, place, kind and more.

``in:FOLDER``, ``captioned:no``, ``2019-07``, ``after:2019-07``, ``before:2020``,
``near:38.7,-9.1,5km``, ``type:video``, ``camera:nikon``, ``lens:35mm``, ``rating:>=4``,
``person:anna``, ``field.price:<20`` and ``every:12-25`` (that day of any year; ``every:12``, that
month). A field is kept with a picture by a program, under a name of its own. Several
folders, dates or days of any year mean any of them; everything else must hold together. A date
alone (`visterm.text.dates`) lets through what was taken then, and what a caption says is of then,
as scans of old prints are; in quotes it is a word. ``after:`` and ``before:`` take a period by its
beginning: ``after:2019 before:2020`` is 2019. Capitals in a filter's name do not matter.
"""

from __future__ import annotations

import re
from datetime import date
from typing import NamedTuple, TypeVar

from visterm.errors import BadInput
from visterm.quick_dataclass import dataclass
from visterm.text.dates import Period, parse_date

Value = TypeVar("Value")

KINDS = ("picture", "raw", "video")
_ANSWERS = {"yes": True, "no": False}
_NEAR = re.compile(r"(-?[\d.]+),(-?[\d.]+)(?:,([\d.]+)(km|m))?")
FIELD = re.compile(r"field\.[A-Za-z_][A-Za-z0-9_-]{0,63}")
_USUAL_KM = 5.0
_DEGREE_KM = 111.0  # a little less than it is
_FACTS = {
    "camera": (re.compile(r".+"), "part of its name, such as camera:nikon"),
    "lens": (re.compile(r".+"), "part of its name, such as lens:35mm"),
    "person": (re.compile(r".+"), "a name, such as person:anna"),
    "rating": (re.compile(r"(<|<=|=|>=|>)?(-1|[1-5])"), "stars, such as rating:>=4 or rating:5"),
    "field": (re.compile(r"(?:<=|>=|<|>|=)?[^<>=].*"), "a value, such as field.price:>=10"),
    "every": (
        re.compile(r"(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?"),
        "a month or a day of any year, such as every:12 or every:12-25",
    ),
}
"""Filters that are kept as they are written: what they look like, and what to write."""


class Circle(NamedTuple):
    """The neighbourhood of a point, in degrees and kilometres."""

    latitude: float
    longitude: float
    km: float = _USUAL_KM

    @property
    def latitudes(self) -> tuple[float, float]:
        """The lowest and the highest latitude in it."""
        return self.latitude - self.km / _DEGREE_KM, self.latitude + self.km / _DEGREE_KM


@dataclass(frozen=True)
class Filters:
    """Which pictures may answer, whatever their rank.

    Attributes
    ----------
    folders : tuple of str
        Pictures must lie in one of them; all may answer where there is none.
    captioned : bool or None
        Pictures must have a caption, or must not.
    periods : tuple of Period
        Pictures must have been taken in one of them, or their captions say so.
    after, before : date or None
        Pictures must have been taken from this day on; before this day.
    near : Circle or None
        Pictures must have been taken there.
    kind : str or None
        picture, raw or video.
    facts : tuple of pairs of str
        camera, lens, person, rating, every or a field, and its value; all must hold, but of days
        and months of any year one.
    """

    folders: tuple[str, ...] = ()
    captioned: bool | None = None
    periods: tuple[Period, ...] = ()
    after: date | None = None
    before: date | None = None
    near: Circle | None = None
    kind: str | None = None
    facts: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return self != NO_FILTERS

    def __and__(self, other: Filters) -> Filters:
        """Both: folders and periods of either, and whatever either says besides.

        >>> Filters(("alps",)) & Filters(captioned=False) == Filters(("alps",), False)
        True
        """
        starts = [one for one in (self.after, other.after) if one is not None]
        ends = [one for one in (self.before, other.before) if one is not None]
        return Filters(
            tuple(dict.fromkeys(self.folders + other.folders)),
            _either(self.captioned, other.captioned, "is captioned and not captioned"),
            tuple(dict.fromkeys(self.periods + other.periods)),
            max(starts, default=None),
            min(ends, default=None),
            _either(self.near, other.near, "is near two points"),
            _either(self.kind, other.kind, "is of two kinds"),
            tuple(dict.fromkeys(self.facts + other.facts)),
        )

    @property
    def said(self) -> tuple[str, ...]:
        """The conditions in words, for whoever is shown what they let through.

        >>> Filters(periods=(parse_date("2019"),), kind="video").said
        ('of 2019', 'that are videos')
        """
        found = [f"in the folder {' or '.join(self.folders)}"] if self.folders else []
        if self.captioned is not None:
            found.append("with a caption" if self.captioned else "without a caption")
        if self.periods:
            found.append(f"of {' or '.join(map(str, self.periods))}")
        if self.after is not None:
            found.append(f"taken from {self.after} on")
        if self.before is not None:
            found.append(f"taken before {self.before}")
        if self.near is not None:
            found.append(
                f"within {self.near.km:g} km of {self.near.latitude:g}, {self.near.longitude:g}"
            )
        if self.kind is not None:
            others = {"raw": "RAW files", "picture": "neither videos nor RAW files"}
            found.append(f"that are {others.get(self.kind, 'videos')}")
        found += [f"with {name} {value}" for name, value in self.facts]
        return tuple(found)


NO_FILTERS = Filters()


def parse_filter(term: str) -> Filters | None:
    """The filter that a term of a query is, but for dates, or None.

    >>> parse_filter("in:alps").folders, parse_filter("tree") is None
    (('alps',), True)
    """
    name, colon, value = term.partition(":")
    if not colon:
        return None
    kind, dot, key = name.partition(".")
    name = kind.lower() + dot + key
    if name == "in":
        return Filters((_folder(value),))
    if name == "captioned":
        if value not in _ANSWERS:
            raise BadInput(f"captioned is yes or no, not {value!r}; write captioned:no")
        return Filters(captioned=_ANSWERS[value])
    if name == "after":
        return Filters(after=parse_date(value, name).start)
    if name == "before":
        return Filters(before=parse_date(value, name).start)
    if name == "near":
        return Filters(near=_circle(value))
    if name == "type":
        if value not in KINDS:
            raise BadInput(f"there are the types {', '.join(KINDS)}, and not {value!r}")
        return Filters(kind=value)
    fact = "field" if FIELD.fullmatch(name) else name
    if fact in _FACTS and name != "field":
        pattern, example = _FACTS[fact]
        if not pattern.fullmatch(value):
            raise BadInput(f"{name}: needs {example}, not {value!r}")
        return Filters(facts=((name, value),))
    return None


def _circle(text: str) -> Circle:
    found = _NEAR.fullmatch(text)
    try:
        if found is None:
            raise ValueError
        latitude, longitude = float(found[1]), float(found[2])
        km = float(found[3] or _USUAL_KM) / (1000 if found[4] == "m" else 1)
        if abs(latitude) > 90 or abs(longitude) > 180 or not km > 0:
            raise ValueError
    except ValueError:
        raise BadInput(
            "near: needs a latitude, a longitude and how far, such as near:38.7,-9.1,5km"
        ) from None
    return Circle(latitude, longitude, km)


def _either(one: Value | None, other: Value | None, both: str) -> Value | None:
    if one is not None and other is not None and one != other:
        raise BadInput(f"no picture {both}; ask for one of them")
    return other if one is None else one


def _folder(value: str) -> str:
    """A folder below the collection, with slashes and without them at its ends.

    >>> _folder("./alps/")
    'alps'
    """
    folder = value.replace("\\", "/").strip("/")
    while folder.startswith("./"):
        folder = folder[2:].strip("/")
    if not folder or folder == ".":
        raise BadInput("in: needs the name of a folder, such as in:holidays")
    return folder
