"""The vectors of a collection's pictures: one segment a batch, named by the catalogue.

Small segments are written together later, so that a million pictures are dozens of files and not
thousands.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.row_places import remembered_places
from visterm.collection.store.vector_files import Block, joined, parts_of, save
from visterm.errors import VistermError
from visterm.files import make_folder

if TYPE_CHECKING:
    from visterm.features.extractor import Rows as Vectors

RUN = 16
"""So many segments of about one size become one."""
LARGEST = 1 << 14
"""Rows of a segment that is not written again."""
FINDABLE = """EXISTS (SELECT 1 FROM pictures AS one LEFT JOIN pictures AS whole
    ON whole.id = one.video WHERE one.id = rows.picture AND coalesce(whole.present, one.present))"""
"""The condition on ``rows`` under which a picture, or a frame of a video, can be found."""
COMPACT = ("cnn-1",)
"""How the keys of those extractors begin whose vectors are stored in 8 bits a number: of these it
was measured what that costs (``benchmarks.feature_bits``)."""
_FEW = 64
"""So many pictures are looked up sooner than it is seen whether all places are remembered."""
_WORTH_IT = 4  # fewer at a time, and the same rows would be written again and again


class Rows:
    """The vectors that one extractor gave the pictures of a collection."""

    def __init__(self, catalogue: Catalogue, extractor: str) -> None:
        self.catalogue = catalogue
        self.extractor = extractor
        self.folder = catalogue.store / "features" / extractor

    @property
    def is_compact(self) -> bool:
        """Whether vectors are stored in 8 bits a number."""
        return self.extractor.startswith(COMPACT)

    def write(self, vectors: Vectors) -> dict[str, Any]:
        """Write a segment's files; they are rubbish until `name` is called in a transaction."""
        rows, width = vectors.shape
        return self._write(parts_of(vectors, compact=self.is_compact), int(rows), int(width))

    def _write(self, parts: dict[str, NDArray[Any]], rows: int, width: int) -> dict[str, Any]:
        make_folder(self.folder)
        # A number that no segment ever had, so that no name of a file is used twice.
        number = self.catalogue.last_number("segments") + 1
        files = {}
        for part, array in parts.items():
            file = f"{number:08d}.{part}.npy"
            files[file] = save(self.folder / file, array)
        return {"id": number, "rows": rows, "width": width, "files": json.dumps(files)}

    def name(self, written: dict[str, Any], pictures: Sequence[int]) -> None:
        """Name a segment and whose rows it holds, inside a transaction."""
        self._insert(written)
        self.catalogue.db.executemany(
            "INSERT INTO rows (segment, place, extractor, picture) VALUES (?, ?, ?, ?)",
            self._places(written, pictures),
        )

    def _insert(self, written: dict[str, Any]) -> None:
        self.catalogue.db.execute(
            "INSERT INTO segments (id, extractor, rows, width, files) VALUES (?, ?, ?, ?, ?)",
            (written["id"], self.extractor, written["rows"], written["width"], written["files"]),
        )

    def _places(
        self, written: dict[str, Any], pictures: Sequence[int]
    ) -> Iterator[tuple[int, int, str, int]]:
        """Segment, place, extractor and picture of every row that was written."""
        for place, picture in enumerate(pictures):
            yield written["id"], place, self.extractor, picture

    def segment(self, number: int) -> Block:
        """A segment's vectors, read only when touched."""
        found = self.catalogue.db.execute(
            "SELECT width, files FROM segments WHERE id = ?", (number,)
        ).fetchone()
        if found is None:
            raise VistermError(f"segment {number} of the features is gone; visterm check --repair")
        return open_block(self.folder, int(found[0]), json.loads(found[1]))

    def blocks(
        self, source: str = "rows", wanted: str = "1"
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], Block]]:
        """Segment by segment: ids of the pictures, their places in it, and the segment.

        ``source`` and ``wanted`` are the FROM and the WHERE of an SQL question about ``rows``.
        """
        found = self.catalogue.db.execute(
            f"""SELECT rows.segment, rows.place, rows.picture FROM {source}
                WHERE rows.extractor = ? AND {wanted} ORDER BY rows.segment, rows.place""",
            (self.extractor,),
        )
        for number, group in groupby(found, itemgetter(0)):
            table = np.array(list(group), dtype=np.int64)
            yield table[:, 2], table[:, 1], self.segment(number)

    def located(self, pictures: NDArray[np.int64]) -> NDArray[np.int64]:
        """Picture, segment and place of the vectors of some pictures."""
        known = None
        if pictures.size > _FEW:
            known = remembered_places(self.catalogue, self.extractor)
        if known is not None:
            return known.located(pictures)
        question = """SELECT picture, segment, place FROM rows
            WHERE extractor = ? AND picture IN {numbers}"""
        found = list(self.catalogue.among(question, pictures.tolist(), self.extractor))
        return np.array(found, np.int64).reshape(-1, 3)

    def of(self, pictures: Sequence[int]) -> dict[int, NDArray[np.float32]]:
        """The vectors of a few pictures, without SciPy."""
        found = self.located(np.array(pictures, np.int64))
        blocks = {number: self.segment(number) for number in np.unique(found[:, 1]).tolist()}
        return {picture: blocks[segment].row(place) for picture, segment, place in found.tolist()}

    def merge(self) -> bool:
        """Write one run of small segments together; says whether there was one."""
        sizes = self.catalogue.db.execute(
            "SELECT id, rows FROM segments WHERE extractor = ? ORDER BY id", (self.extractor,)
        ).fetchall()
        run = _due(sizes)
        if run:
            self._rewrite(run)
        return bool(run)

    def compact(self) -> int:
        """Write one segment of before in 8 bits a number; returns how many pictures it holds.

        The indexes were made from the vectors as they were, so these pictures are pending then.
        """
        if not self.is_compact:
            return 0
        found = self.catalogue.db.execute(
            "SELECT id, rows FROM segments WHERE extractor = ? AND files LIKE '%.rows.npy%'",
            (self.extractor,),
        ).fetchone()
        if found is None:
            return 0
        self._rewrite([found[0]])
        return int(found[1])

    def _rewrite(self, run: Sequence[int]) -> None:
        """Write the rows of some segments, those that are still asked for, as one."""
        parts, pictures = [], []
        for number in run:
            found = self.catalogue.db.execute(
                "SELECT picture, place FROM rows WHERE segment = ? ORDER BY place", (number,)
            ).fetchall()
            if found:
                parts.append((self.segment(number), np.array([place for _, place in found])))
                pictures += [picture for picture, _ in found]
        changed = any(block.is_dense and not block.is_coded for block, _ in parts)
        written = None
        if parts:
            arrays = joined(parts, compact=self.is_compact)
            written = self._write(arrays, len(pictures), parts[0][0].width)
        with self.catalogue.transaction() as db:
            if written is not None:
                self._insert(written)
                db.executemany(
                    "UPDATE rows SET segment = ?, place = ? WHERE extractor = ? AND picture = ?",
                    self._places(written, pictures),
                )
            if changed and self.is_compact:
                db.executemany(
                    "INSERT OR IGNORE INTO pending VALUES (?)", ((one,) for one in pictures)
                )
            db.executemany("DELETE FROM segments WHERE id = ?", ((number,) for number in run))


def open_block(folder: Path, width: int, files: Iterable[str]) -> Block:
    """The vectors in a segment's files, read only when touched."""
    arrays = {}
    for file in files:
        try:
            array = np.load(folder / file, mmap_mode="r", allow_pickle=False)
        except FileNotFoundError:
            raise
        except (OSError, ValueError) as error:
            raise VistermError(
                f"{folder / file} is damaged ({error}); visterm check --repair"
            ) from error
        arrays[file.split(".")[1]] = array
    return Block(width, arrays)


def findable(catalogue: Catalogue, extractor: str) -> NDArray[np.int64]:
    """The ids that the index of this extractor's pictures must hold, ascending."""
    found = catalogue.db.execute(
        f"SELECT picture FROM rows WHERE extractor = ? AND {FINDABLE} ORDER BY picture",
        (extractor,),
    )
    return np.fromiter((picture for (picture,) in found), np.int64)


def vectors_of(catalogue: Catalogue, extractor: str, pictures: list[int]) -> Vectors:
    """The vectors of many pictures, in their order."""
    from visterm.features.extractor import stack_rows

    place = {picture: number for number, picture in enumerate(pictures)}
    parts, order = [], []
    for numbers, places, block in Rows(catalogue, extractor).blocks():
        here = np.array([number in place for number in numbers.tolist()])
        if here.any():
            parts.append(block.vectors(places[here]))
            order += [place[number] for number in numbers[here].tolist()]
    return stack_rows(parts)[np.argsort(order)]


def _due(sizes: Sequence[tuple[int, int]]) -> list[int]:
    """Segments that are alike in size and enough to be worth writing as one, smallest kind first.

    >>> _due([(1, 4000), *((number, 256) for number in range(2, 18))]) == list(range(2, 18))
    True
    """
    kinds: dict[int, list[tuple[int, int]]] = {}
    for number, rows in sizes:
        if rows < LARGEST:
            kinds.setdefault(max(rows, 1).bit_length() // 4, []).append((rows, number))
    for _, alike in sorted(kinds.items()):
        if len(alike) < RUN and sum(rows for rows, _ in alike) < LARGEST:
            continue
        total, run = 0, []
        for rows, number in sorted(alike)[:RUN]:
            total += rows
            if total <= LARGEST:
                run.append(number)
        if len(run) >= _WORTH_IT:
            return run
    return []
