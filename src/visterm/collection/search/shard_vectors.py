"""Where the vectors of a shard's pictures lie, as the server tells it.

An index may compute exact values anew from the stored vectors. Which file holds whose is in the
catalogue, which only the server's machine can read; the files themselves every node sees. So the
server sends, once for each segment of vectors, whose rows it holds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.feature_rows import open_block
from visterm.collection.store.vector_files import Block

Ids = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class VectorSegment:
    """One segment of vectors: its files, and the pictures whose rows lie at these places.

    Ranges where both are without a gap, as of pictures that were added together: millions of
    numbers need neither be read nor sent then.
    """

    number: int
    folder: Path
    width: int
    files: tuple[str, ...]
    pictures: Ids | range
    places: Ids | range


class SentRows:
    """Vectors by what was sent of them; what `LinearValues` asks of rows."""

    def __init__(self) -> None:
        self._segments: dict[int, VectorSegment] = {}
        self._sorted: tuple[Ids, Ids, Ids] | None = None

    def __contains__(self, number: int) -> bool:
        return number in self._segments

    def take(self, segments: Iterable[VectorSegment], wanted: Iterable[int]) -> None:
        """Know these segments from now on, and of those known before the ones that are wanted."""
        before = self._segments
        known = before | {one.number: one for one in segments}
        self._segments = {number: known[number] for number in wanted if number in known}
        if self._segments.keys() != before.keys():
            self._sorted = None

    def located(self, pictures: Ids) -> Ids:
        """Picture, segment and place of the vectors of some pictures."""
        ids, segments, places = self._by_picture()
        at = np.searchsorted(ids, pictures, side="right") - 1  # the last, if it was described anew
        here = at >= 0
        here[here] = ids[at[here]] == pictures[here]
        return np.stack([pictures[here], segments[at[here]], places[at[here]]], axis=1)

    def segment(self, number: int) -> Block:
        """A segment's vectors, read only when touched."""
        one = self._segments[number]
        return open_block(one.folder, one.width, one.files)

    def _by_picture(self) -> tuple[Ids, Ids, Ids]:
        if self._sorted is None:
            nothing = np.empty(0, np.int64)
            every = [one for _, one in sorted(self._segments.items())]
            ids = np.concatenate([nothing, *(_numbers(one.pictures) for one in every)])
            numbers = np.concatenate(
                [nothing, *(np.full(len(one.pictures), one.number) for one in every)]
            )
            places = np.concatenate([nothing, *(_numbers(one.places) for one in every)])
            order = np.argsort(ids, kind="stable")
            self._sorted = ids[order], numbers[order], places[order]
        return self._sorted


class VectorSegments:
    """The segments of one extractor's vectors, as the catalogue names them, for a server."""

    def __init__(self, extractor: str) -> None:
        self.extractor = extractor
        self._spans: dict[int, tuple[int, int]] = {}

    def current(self, catalogue: Catalogue) -> dict[int, tuple[int, int]]:
        """The segments of now, by number, each with its first and last picture."""
        every = catalogue.db.execute(
            "SELECT id FROM segments WHERE extractor = ? ORDER BY id", (self.extractor,)
        ).fetchall()
        known = self._spans
        self._spans = {n: known.get(n) or self._span(catalogue, n) for (n,) in every}
        return self._spans

    def read(self, catalogue: Catalogue, number: int) -> VectorSegment | None:
        """Whose rows a segment holds; None where it has gone meanwhile."""
        about = catalogue.db.execute(
            "SELECT width, files FROM segments WHERE id = ?", (number,)
        ).fetchone()
        if about is None:
            return None
        pictures, places = self._rows(catalogue, number)
        folder = catalogue.store / "features" / self.extractor
        files = tuple(json.loads(about[1]))
        return VectorSegment(number, folder, int(about[0]), files, pictures, places)

    @staticmethod
    def _rows(catalogue: Catalogue, number: int) -> tuple[Ids | range, Ids | range]:
        """The pictures of a segment, and where their rows lie."""
        count, first, last, place, apart = catalogue.db.execute(
            "SELECT count(*), min(picture), max(picture), min(place),"
            " max(picture - place) - min(picture - place) FROM rows WHERE segment = ?",
            (number,),
        ).fetchone()
        if count and last - first + 1 == count and not apart:
            return range(first, last + 1), range(place, place + count)
        rows = catalogue.db.execute(
            "SELECT picture, place FROM rows WHERE segment = ? ORDER BY place", (number,)
        )
        table = np.fromiter(chain.from_iterable(rows), np.int64).reshape(-1, 2)
        return table[:, 0], table[:, 1]

    def _span(self, catalogue: Catalogue, number: int) -> tuple[int, int]:
        low, high = catalogue.db.execute(
            "SELECT min(picture), max(picture) FROM rows WHERE segment = ?", (number,)
        ).fetchone()
        return (0, -1) if low is None else (low, high)


def _numbers(some: Ids | range) -> Ids:
    return np.arange(some.start, some.stop) if isinstance(some, range) else some


@lru_cache(maxsize=16)
def vector_segments(store: Path, extractor: str) -> VectorSegments:
    """One object for all questions about the vectors of a store."""
    return VectorSegments(extractor)
