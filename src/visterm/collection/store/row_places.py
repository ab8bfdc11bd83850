"""Where the vectors of all pictures lie, asked once.

Asking takes longer than using it, so a process remembers it until a segment comes or goes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from visterm.collection.store.catalogue import Catalogue

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RowPlaces:
    """The rows of one extractor, segment after segment.

    Attributes
    ----------
    ids : array of int
        The pictures, ascending.
    order : array of int
        For each of them its number among the rows.
    segments, places : array of int
        The segment of each row, ascending, and its place there.
    """

    ids: Integers
    order: Integers
    segments: Integers
    places: Integers

    def located(self, pictures: Integers) -> Integers:
        """Picture, segment and place of those of some pictures that have a vector."""
        at = np.searchsorted(self.ids, pictures)
        here = at < self.ids.size
        here[here] = self.ids[at[here]] == pictures[here]
        rows = self.order[at[here]]
        return np.stack([pictures[here], self.segments[rows], self.places[rows]], axis=1)


def row_places(catalogue: Catalogue, extractor: str) -> RowPlaces:
    """The places as they are now."""
    key, state = _key(catalogue, extractor), _state(catalogue, extractor)
    known = _KNOWN.get(key)
    if known is not None and known[0] == state:
        return known[1]
    rows = catalogue.db.execute(
        "SELECT segment, place, picture FROM rows WHERE extractor = ? ORDER BY segment, place",
        (extractor,),
    )
    segments, places, pictures = np.array(rows.fetchall(), np.int64).reshape(-1, 3).T.copy()
    order = np.argsort(pictures, kind="stable")
    found = RowPlaces(pictures[order], order, segments, places)
    while len(_KNOWN) >= _COLLECTIONS:
        _KNOWN.pop(next(iter(_KNOWN)))
    _KNOWN[key] = (state, found)
    return found


def remembered_places(catalogue: Catalogue, extractor: str) -> RowPlaces | None:
    """The same, if somebody has asked before."""
    known = _KNOWN.get(_key(catalogue, extractor))
    return known[1] if known and known[0] == _state(catalogue, extractor) else None


_COLLECTIONS = 4
_KNOWN: dict[tuple[str, int, str], tuple[tuple[int, int], RowPlaces]] = {}


def _key(catalogue: Catalogue, extractor: str) -> tuple[str, int, str]:
    return str(catalogue.store), os.stat(catalogue.path).st_ino, extractor


def _state(catalogue: Catalogue, extractor: str) -> tuple[int, int]:
    found: tuple[int, int] = catalogue.db.execute(
        "SELECT coalesce(max(id), 0), count(*) FROM segments WHERE extractor = ?", (extractor,)
    ).fetchone()
    return found
