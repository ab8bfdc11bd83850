"""Dates as people write them: 2019, 2019-07, 4 July 2019, May 1972, summer 1972, the 1970s."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import NamedTuple

from visterm.errors import BadInput

_MONTH_NAMES = (
    "january february march april may june july august september october november december"
)
MONTHS = _MONTH_NAMES.split()
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""The first month of each; *winter 1972* began with the December of 1972, or ended in it."""

_YEAR = r"(1[89]\d\d|20\d\d)"
_DATE = re.compile(rf"{_YEAR}(?:-(\d\d)(?:-(\d\d))?)?")
_ANY_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?")
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_MONTH = f"({'|'.join(f'{month[:3]}|{month}' for month in MONTHS)}|sept)"
_PHRASES = [
    re.compile(pattern + r"(?![^ ])")
    for pattern in (
        rf"(?P<decade>{_YEAR[1:-1]})'?s",
        rf"(?P<season>{'|'.join(SEASONS)}) (?:of )?{_YEAR}",
        rf"{_MONTH} (?:of )?{_YEAR}",
        rf"{_DAY} (?:of )?{_MONTH} (?:of )?{_YEAR}",
        rf"{_MONTH} {_DAY} {_YEAR}",
    )
]
_LONGEST = 5


class Period(NamedTuple):
    """From the first day up to, and without, the last."""

    start: date
    end: date

    def __str__(self) -> str:
        """As it is written in a query.

        >>> str(Period(date(2019, 7, 1), date(2019, 8, 1))), str(parse_date("2019"))
        ('2019-07', '2019')
        >>> [str(period) for period in dated_phrase(["summer", "1972"])[1]]
        ['summer 1972']
        """
        year, months = self.start.year, (self.end.year - self.start.year) * 12 + self.end.month
        months -= self.start.month
        if (self.end - self.start).days == 1:
            return self.start.isoformat()
        if months == 120:
            return f"{year}s"
        named = {first: name for name, first in reversed(SEASONS.items())}
        if months == 3:
            return f"{named[self.start.month]} {year}"
        others = {12: f"{year}", 2: f"January and February {year}"}
        return others.get(months, f"{self.start:%Y-%m}")

    @property
    def written(self) -> Iterator[tuple[str, ...]]:
        """What a text says that is of then: sets of words, one of which it holds whole.

        >>> list(parse_date("1972-05").written)[:3]
        [('1972-05',), ('may', '1972'), ('1972-05-01',)]
        """
        yield tuple(str(self).split())
        if (days := (self.end - self.start).days) == 1:
            yield str(self.start.day), MONTHS[self.start.month - 1], str(self.start.year)
        elif days > 31:
            start = self.start
            while start < self.end:
                yield (f"{start:%Y-%m}",)
                if days > 366:
                    yield (str(start.year),)
                elif days < 100:
                    yield MONTHS[start.month - 1], str(start.year)
                start = _after(start, 1)
        else:
            yield MONTHS[self.start.month - 1], str(self.start.year)
            for day in range(days):
                yield ((self.start + timedelta(days=day)).isoformat(),)


def dated_phrase(terms: Sequence[str]) -> tuple[int, tuple[Period, ...]] | None:
    """How many of the terms, from the first on, are a date, and its periods; None where none are.

    >>> dated_phrase(["May", "1972", "beach"])[0], dated_phrase(["may", "beach"])
    (2, None)
    """
    text = " ".join(terms[:_LONGEST]).lower().replace(",", "")
    for pattern in _PHRASES:
        if (found := pattern.match(text)) is not None:
            return found[0].count(" ") + 1, _periods(found)
    if terms and _DATE.fullmatch(terms[0]):
        return 1, (parse_date(terms[0]),)
    return None


def parse_date(text: str, name: str = "") -> Period:
    """The day, month or year of a text such as 2019-07; ``name`` is what it is the value of."""
    found = (_ANY_DATE if name else _DATE).fullmatch(text)
    try:
        if found is None:
            raise ValueError
        year, month, day = (None if part is None else int(part) for part in found.groups())
        start = date(year or 0, month or 1, day or 1)
    except ValueError:
        prefix = f"{name}:" if name else ""
        hint = "" if name else ', or put it in quotes where it is a word: "2019-13"'
        raise BadInput(
            f"{text!r} is no date; write {prefix}2019, {prefix}2019-07 or {prefix}2019-07-04{hint}"
        ) from None
    if day is not None:
        return Period(start, start + timedelta(days=1))
    return Period(start, _after(start, 1 if month is not None else 12))


def _periods(found: re.Match[str]) -> tuple[Period, ...]:
    named = found.groupdict()
    if named.get("decade"):
        start = date(int(named["decade"]) // 10 * 10, 1, 1)
        return (Period(start, _after(start, 120)),)
    year = int(next(part for part in reversed(found.groups()) if part))
    if season := named.get("season"):
        start = date(year, SEASONS[season], 1)
        later = Period(start, _after(start, 3))
        early = Period(date(year, 1, 1), date(year, 3, 1))
        return (early, later) if season == "winter" else (later,)
    parts = [part for part in found.groups()[:-1] if part]
    month = next(n for n, name in enumerate(MONTHS, 1) for part in parts if part[:3] == name[:3])
    days = [part for part in parts if part.isdigit()]
    return (parse_date("-".join([f"{year}", f"{month:02d}", *(f"{int(d):02d}" for d in days)])),)


def _after(start: date, months: int) -> date:
    """The day so many months later."""
    years, month = divmod(start.month - 1 + months, 12)
    return date(start.year + years, month + 1, 1)
