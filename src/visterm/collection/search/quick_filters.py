"""Quick filters: how a search could be narrowed by one click, and what each would leave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from visterm.collection.search.filters import DATED, distances, within
from visterm.collection.search.request import SearchRequest
from visterm.collection.search.searcher import matches
from visterm.collection.store.catalogue import Catalogue
from visterm.text.filters import Circle

_TAKEN = f"""SELECT strftime('FORMAT', taken, 'unixepoch'), count(*) FROM pictures
    WHERE taken IS NOT NULL AND {DATED} AND present > 0 AND {{which}} GROUP BY 1"""
_PARTS = {
    "year": _TAKEN.replace("FORMAT", "%Y"),
    "month": _TAKEN.replace("FORMAT", "%Y-%m"),
    "type": """SELECT 'type:' || kind, count(*) FROM pictures
        WHERE kind IS NOT NULL AND present > 0 AND {which} GROUP BY 1""",
    "field": """SELECT 'field.' || name || ':' || iif(typeof(value) = 'text', value, json), count(*)
        FROM fields JOIN pictures ON id = picture
        WHERE (typeof(value) = 'text' OR json IN ('true', 'false')) AND name != 'id'
        AND instr(value, '"') = 0 AND present > 0 AND {which} GROUP BY 1""",
    "folder": """SELECT 'in:' || substr(folder, 1, instr(folder || '/', '/') - 1),
            count(DISTINCT picture) FROM places
        WHERE folder != '' AND NOT vanished AND instr(folder, ':') = 0 AND {which} GROUP BY 1""",
}
_CELLS = """SELECT avg(latitude), avg(longitude) FROM pictures
    WHERE latitude IS NOT NULL AND present > 0 AND {which}
    GROUP BY round(5 * latitude), round(5 * longitude) ORDER BY count(*) DESC LIMIT 100"""
"""Points with many pictures around them: the middles of cells of a fifth of a degree."""
_MOST = 12
_PLACES = 8
_PLACE_KM = 10.0


@dataclass(frozen=True)
class QuickFilter:
    """A term that narrows a query, and how many pictures it would leave."""

    kind: str
    """year, month, place, type, folder or field."""
    term: str
    """As it is written in a query."""
    count: int


def quick_filters(catalogue: Catalogue, root: Path, text: str) -> list[QuickFilter]:
    """What the good matches of a query, or all pictures, could be narrowed by.

    Years and months come from the latest on, types, outermost folders and places by how many
    pictures they leave; what would leave all is left out.
    """
    pictures = None
    if text.strip():
        pictures = matches(catalogue, root, SearchRequest(text, k=200)).tolist()
        total = len(pictures)
    else:
        total = int(catalogue.one("SELECT count(*) FROM pictures WHERE present > 0"))
    counts = {kind: _counted(catalogue, kind, pictures) for kind in _PARTS}
    counts["place"] = _places(catalogue, pictures)
    return [
        QuickFilter(kind, _quoted(term), count)
        for kind, some in counts.items()
        for term, count in _ordered(kind, some)
        if count < total and _quoted(term) not in text.split()
    ]


def _counted(catalogue: Catalogue, kind: str, pictures: list[int] | None) -> Counter[str]:
    """How many of the pictures found, or of all, each term of a kind leaves."""
    column = "picture" if kind == "folder" else "id"
    counts: Counter[str] = Counter()
    for term, count in _among(catalogue, _PARTS[kind], column, pictures):
        counts[term] += count
    return counts


def _places(catalogue: Catalogue, pictures: list[int] | None) -> Counter[str]:
    """Circles around the points where most pictures were taken, none of which touch."""
    chosen: list[Circle] = []
    for latitude, longitude in _among(catalogue, _CELLS, "id", pictures):
        circle = Circle(round(latitude, 2), round(longitude, 2), _PLACE_KM)
        if all(_is_apart(circle, other) for other in chosen):
            chosen.append(circle)
    counts: Counter[str] = Counter()
    for circle in chosen[:_PLACES]:
        inside = within(catalogue, circle, catalogue.last_number("pictures") + 1)
        count = int(inside.sum() if pictures is None else inside[pictures].sum())
        if count:
            counts[f"near:{circle.latitude:g},{circle.longitude:g},{circle.km:g}km"] = count
    return counts


def _is_apart(one: Circle, other: Circle) -> bool:
    there = np.array([other.latitude]), np.array([other.longitude])
    return bool(distances(one, *there)[0] > one.km + other.km)


def _among(
    catalogue: Catalogue, question: str, column: str, pictures: list[int] | None
) -> Iterator[tuple[Any, ...]]:
    """The rows of a question about the pictures found, or about all."""
    if pictures is None:
        yield from catalogue.db.execute(question.replace("{which}", "true"))
    else:
        yield from catalogue.among(question.replace("{which}", column + " IN {numbers}"), pictures)


def _ordered(kind: str, counts: Counter[str]) -> list[tuple[str, int]]:
    if kind in ("year", "month"):
        return sorted(counts.items(), reverse=True)
    return counts.most_common(_MOST)


def _quoted(term: str) -> str:
    """A term that spaces do not take apart.

    >>> _quoted("in:summer 2019")
    'in:"summer 2019"'
    """
    name, colon, value = term.partition(":")
    return f'{name}:"{value}"' if colon and " " in value else term
