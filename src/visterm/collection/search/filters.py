"""Filters of a search: the pictures that folders, captions, times, places and kinds let through."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from visterm.collection.store.caption_words import CAPTION, FOLDER, holders
from visterm.collection.store.catalogue import Catalogue, below_pattern
from visterm.collection.store.feature_rows import DescribedPictures
from visterm.collection.store.snapshot import Snapshot
from visterm.errors import BadInput
from visterm.text.dates import Period
from visterm.text.filters import FIELD, Circle, Filters
from visterm.text.spelling import closest_words
from visterm.text.tokens import stem

Mask: TypeAlias = NDArray[np.bool_]
"""By the number of a picture, whether it may answer; those beyond it may not."""

DATED = "taken_from != 'file'"
"""The time of a file is that of a copy or scan, and says nothing about when a picture was taken."""
_FACTS = {
    "camera": "camera LIKE ? ESCAPE '\\'",
    "lens": "lens LIKE ? ESCAPE '\\'",
    "person": """id IN (SELECT picture FROM captions
        WHERE source LIKE '%:people' AND text LIKE ? ESCAPE '\\')""",
}
_OF_FIELD = """id IN (SELECT picture FROM fields WHERE name = ? AND CASE
    WHEN json IN ('true', 'false') THEN json {0} ?
    WHEN typeof(value) = 'text' THEN value {0} ? COLLATE NOCASE ELSE value {0} ? END)"""
_EARTH_KM = 6371.0
_MASKS = 64
"""Filters of which it is remembered what they let through."""


def allowed(now: Snapshot, pictures: DescribedPictures, *several: Filters) -> Mask | None:
    """The rows that all of some filters let through, by position; None where there is no filter.

    What was asked before is remembered until files or captions change.
    """
    masks = [_allowed(now, pictures, filters) for filters in several if filters]
    return np.logical_and.reduce(masks) if masks else None


def _allowed(now: Snapshot, pictures: DescribedPictures, filters: Filters) -> Mask:
    by_number = now.masks.get(filters)
    if by_number is None:
        if len(now.masks) >= _MASKS:
            now.masks.clear()
        by_number = now.masks[filters] = _mask(now.catalogue, filters)
    if not by_number.any():
        _explain_nothing(now.catalogue, filters)
    spread = now.frames.spread(by_number)
    return np.append(spread, False)[np.minimum(pictures.ids, spread.size)]


def _mask(catalogue: Catalogue, filters: Filters) -> Mask:
    size = catalogue.last_number("pictures") + 1
    masks = [_by_sql(catalogue, *_conditions(filters), size)] if _has_conditions(filters) else []
    if filters.periods:
        masks.append(_of_periods(catalogue, filters.periods, size))
    if filters.near is not None:
        masks.append(within(catalogue, filters.near, size))
    if filters.folders:
        masks.append(_in_folders(catalogue, filters.folders, size))
    return np.asarray(np.logical_and.reduce(masks))


def _by_sql(catalogue: Catalogue, conditions: list[str], values: list[Any], size: int) -> Mask:
    ids = catalogue.db.execute(
        f"SELECT id FROM pictures WHERE present > 0 AND {' AND '.join(conditions)}", values
    )
    mask = np.zeros(size, bool)
    mask[np.fromiter((picture for (picture,) in ids), np.int64)] = True
    return mask


def _of_periods(catalogue: Catalogue, periods: tuple[Period, ...], size: int) -> Mask:
    """Pictures that were taken in one of them, or whose captions or folders say so."""
    condition = " OR ".join(["(taken >= ? AND taken < ?)"] * len(periods))
    days = [_seconds(day) for period in periods for day in period]
    mask = _by_sql(catalogue, [f"({condition})", DATED], days, size)
    for words in (words for period in periods for words in period.written):
        keys = [stem(word) for word in words]
        for column in (CAPTION, FOLDER):
            lists = (holders(catalogue.db, key, column) for key in keys)
            mask[reduce(np.intersect1d, lists)] = True
    return mask


def within(catalogue: Catalogue, circle: Circle, size: int) -> Mask:
    low, high = circle.latitudes
    rows = catalogue.db.execute(
        """SELECT id, latitude, longitude FROM pictures
            WHERE latitude IS NOT NULL AND latitude BETWEEN ? AND ? AND present > 0""",
        (low, high),
    ).fetchall()
    table = np.array(rows, np.float64).reshape(-1, 3)
    inside = distances(circle, table[:, 1], table[:, 2]) <= circle.km
    mask = np.zeros(size, bool)
    mask[table[inside, 0].astype(np.int64)] = True
    return mask


def _has_conditions(filters: Filters) -> bool:
    return bool(replace(filters, folders=(), periods=(), near=None))


def _conditions(filters: Filters) -> tuple[list[str], list[Any]]:
    """What SQL asks of a picture, but for periods, places and folders."""
    conditions, values = list[str](), list[Any]()
    if filters.captioned is not None:
        negation = "" if filters.captioned else "NOT"
        conditions.append(f"id {negation} IN (SELECT picture FROM captions)")
    if filters.kind is not None:
        conditions.append("kind IS ?")
        values.append(None if filters.kind == "picture" else filters.kind)
    for day, sign in ((filters.after, ">="), (filters.before, "<")):
        if day is not None:
            conditions.append(f"taken {sign} ? AND {DATED}")
            values.append(_seconds(day))
    for name, value in filters.facts:
        if name == "rating":
            stars = value.lstrip("<=>")
            conditions.append(f"rating {value.removesuffix(stars) or '='} ?")
            values.append(int(stars))
        elif FIELD.fullmatch(name):
            wanted = value.lstrip("<=>")
            conditions.append(_OF_FIELD.format(value.removesuffix(wanted) or "="))
            values += [name.removeprefix("field."), *_as_types(wanted)]
        elif name != "every":
            conditions.append(_FACTS[name])
            values.append(f"%{below_pattern(value)[:-2]}%")
    days = [value for name, value in filters.facts if name == "every"]
    if days:
        of_any = " OR ".join(["strftime('%m-%d', taken, 'unixepoch') GLOB ?"] * len(days))
        conditions.append(f"({of_any}) AND {DATED}")
        values += [f"{day}*" for day in days]
    return conditions, values


def _as_types(text: str) -> tuple[str | None, str, float | None]:
    """A value to compare fields with that are true or false, texts, and numbers.

    >>> _as_types("yes"), _as_types("10")
    (('true', 'yes', None), (None, '10', 10.0))
    """
    answer = {"yes": "true", "no": "false", "true": "true", "false": "false"}.get(text.lower())
    try:
        return answer, text, float(text)
    except ValueError:
        return answer, text, None


def distances(
    circle: Circle, latitudes: NDArray[np.float64], longitudes: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Kilometres along great circles, by the haversine formula."""
    here, there = np.radians(circle.latitude), np.radians(latitudes)
    across = np.radians(longitudes - circle.longitude)
    half = np.sin((there - here) / 2) ** 2 + np.cos(here) * np.cos(there) * np.sin(across / 2) ** 2
    return np.asarray(2 * _EARTH_KM * np.arcsin(np.sqrt(np.minimum(half, 1.0))))


def _in_folders(catalogue: Catalogue, folders: tuple[str, ...], size: int) -> Mask:
    mask = np.zeros(size, bool)
    patterns = [f"%/{below_pattern(folder)}" for folder in folders]
    inside = " OR ".join("'/' || folder || '/' LIKE ? ESCAPE '\\'" for _ in folders)
    for (folder,) in catalogue.db.execute(f"{_FOLDERS} AND ({inside})", patterns).fetchall():
        ids = catalogue.db.execute(
            "SELECT picture FROM places WHERE folder = ? AND NOT vanished", (folder,)
        )
        mask[np.fromiter((picture for (picture,) in ids), np.int64)] = True
    return mask


_FOLDERS = """WITH RECURSIVE every (folder) AS (
    SELECT min(folder) FROM places
    UNION ALL SELECT (SELECT min(folder) FROM places WHERE folder > every.folder) FROM every
        WHERE folder IS NOT NULL
) SELECT folder FROM every WHERE folder IS NOT NULL"""
"""Every folder, by one step in the index of files each."""


def _seconds(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())


def _explain_nothing(catalogue: Catalogue, filters: Filters) -> None:
    """Where no picture is let through because of a slip, say so."""
    known = {
        part
        for (folder,) in catalogue.db.execute(_FOLDERS)
        for part in (folder, *folder.split("/"))
        if part
    }
    lower = {f"/{folder.lower()}/" for folder in known}
    for folder in filters.folders:
        if not any(f"/{folder.lower()}/" in one for one in lower):
            near = closest_words(folder, sorted(known))
            hint = f"; did you mean {' or '.join('in:' + one for one in near)}?" if near else ""
            raise BadInput(f"the collection has no folder {folder!r}{hint}")
