"""The vectors of a collection's pictures: which row of an extractor's file is whose.

Rows are appended batch by batch and never move; the catalogue says how many count. A row whose
picture was forgotten, or described anew, is listed as dead until enough of them have gathered to
write the file anew. Further frames of videos have rows, too.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from visterm.collection.store.catalogue import Catalogue
from visterm.errors import VistermError
from visterm.index.feature_file import FeatureFile, layout_of
from visterm.quick_dataclass import dataclass

if TYPE_CHECKING:
    from visterm.features.extractor import Rows as Vectors

Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]
Array = TypeVar("Array", bound=NDArray)

ABSENT = """SELECT pictures.id FROM pictures LEFT JOIN pictures AS whole
    ON whole.id = pictures.video WHERE pictures.present <= 0 AND coalesce(whole.present, 0) <= 0"""
"""Pictures, and frames of videos, that cannot be found because their files have gone."""
_DEAD_ROWS = 1000, 0.25
"""So many dead rows, and such a part of all, are worth writing the others anew."""


class Rows:
    """The vectors that one extractor gave the pictures of a collection."""

    def __init__(self, catalogue: Catalogue, extractor: str) -> None:
        self.catalogue = catalogue
        self.extractor = extractor
        self.folder = catalogue.store / "features" / extractor

    @property
    def file(self) -> FeatureFile | None:
        """The rows as they are committed; None before the first."""
        row = self.catalogue.db.execute(
            "SELECT generation, layout, width, count FROM feature_files WHERE extractor = ?",
            (self.extractor,),
        ).fetchone()
        return None if row is None else self._opened(*row)

    def _opened(self, generation: int, layout: str, width: int, count: int) -> FeatureFile:
        return FeatureFile(self.folder / str(generation), layout, width, count)

    def write(self, vectors: Vectors) -> dict[str, Any]:
        """Write rows behind the others; they are rubbish until `name` is called in a
        transaction."""
        file = self.file or self._opened(
            self._generation(), layout_of(vectors), vectors.shape[1], 0
        )
        if (file.layout, file.width) != (layout_of(vectors), vectors.shape[1]):
            raise VistermError(
                f"{self.extractor} gave vectors of {vectors.shape[1]} numbers, where it gave "
                f"{file.width} before; visterm add --features takes another extractor"
            )
        return {"file": file, "rows": vectors.shape[0], "hashes": file.append(vectors)}

    def _generation(self) -> int:
        """A number that no file of this extractor ever had: columns are kept by it."""
        return self.catalogue.last_number("segments") + 1

    def name(self, written: dict[str, Any], pictures: Sequence[int]) -> None:
        """Name rows that were written, and whose they are, inside a transaction."""
        file: FeatureFile = written["file"]
        first = len(file)
        hashes = written["hashes"] | file.append_ids(pictures)
        db = self.catalogue.db
        db.execute(
            "INSERT OR REPLACE INTO feature_files VALUES (?, ?, ?, ?, ?)",
            (
                self.extractor,
                int(file.folder.name),
                file.layout,
                file.width,
                first + written["rows"],
            ),
        )
        db.execute(
            "INSERT INTO segments (extractor, first, rows, files) VALUES (?, ?, ?, ?)",
            (self.extractor, first, written["rows"], json.dumps(hashes)),
        )
        db.executemany(
            "DELETE FROM rows WHERE extractor = ? AND picture = ?",
            ((self.extractor, picture) for picture in pictures),
        )
        db.executemany(
            "INSERT INTO rows (extractor, picture, position) VALUES (?, ?, ?)",
            ((self.extractor, picture, first + n) for n, picture in enumerate(pictures)),
        )

    def located(self, pictures: Sequence[int]) -> dict[int, int]:
        """The positions of a few pictures that have a row."""
        question = "SELECT picture, position FROM rows WHERE extractor = ? AND picture IN {numbers}"
        return dict(self.catalogue.among(question, pictures, self.extractor))

    def of(self, pictures: Sequence[int]) -> dict[int, NDArray[np.float32]]:
        """The vectors of a few pictures."""
        file, positions = self.file, self.located(pictures)
        if file is None or not positions:
            return {}
        vectors = file.dense(np.fromiter(positions.values(), np.int64))
        return dict(zip(positions, vectors, strict=True))

    def compact(self) -> None:
        """Write the file anew where many rows are dead; the caller holds the lock."""
        file = self.file
        dead = self.catalogue.one(
            "SELECT count(*) FROM dead_rows WHERE extractor = ?", self.extractor
        )
        if file is not None and dead >= max(_DEAD_ROWS[0], _DEAD_ROWS[1] * len(file)):
            self.write_anew()

    def drop(self) -> None:
        """Let go of all rows, inside a transaction; the next writer deletes their files."""
        for table in ("rows", "segments", "dead_rows", "feature_files"):
            self.catalogue.db.execute(f"DELETE FROM {table} WHERE extractor = ?", (self.extractor,))

    def write_anew(self) -> None:
        """Write the rows that count to another file; what lies behind the last is not read."""
        import shutil

        file = self.file
        if file is None:
            return
        rows = self.catalogue.db.execute(
            "SELECT picture, position FROM rows WHERE extractor = ? ORDER BY position",
            (self.extractor,),
        ).fetchall()
        table = np.array(rows, np.int64).reshape(-1, 2)
        file = file.first(int(table[:, 1].max(initial=-1)) + 1)
        new = self._opened(self._generation(), file.layout, file.width, 0)
        shutil.rmtree(new.folder, ignore_errors=True)
        segments = []
        for part in new.first(len(table)).parts():
            some = table[part]
            hashes = new.append(file.vectors(some[:, 1])) | new.append_ids(some[:, 0].tolist())
            segments.append((self.extractor, part.start, len(some), json.dumps(hashes)))
            new = new.first(part.stop)
        with self.catalogue.transaction() as db:
            db.execute("DELETE FROM segments WHERE extractor = ?", (self.extractor,))
            db.executemany(
                "INSERT INTO segments (extractor, first, rows, files) VALUES (?, ?, ?, ?)", segments
            )
            db.executemany(
                "UPDATE rows SET position = ? WHERE extractor = ? AND picture = ?",
                ((n, self.extractor, picture) for n, picture in enumerate(table[:, 0].tolist())),
            )
            db.execute("DELETE FROM dead_rows WHERE extractor = ?", (self.extractor,))
            db.execute(
                "UPDATE feature_files SET generation = ?, count = ? WHERE extractor = ?",
                (int(new.folder.name), len(new), self.extractor),
            )


@dataclass(frozen=True, eq=False)
class DescribedPictures:
    """The rows of one extractor at one moment, and which of them can be found.

    Attributes
    ----------
    file : FeatureFile
    is_there : array of bool, or None
        By position; None where all can be found.
    """

    file: FeatureFile
    is_there: Mask | None = field(default=None)

    def __len__(self) -> int:
        return len(self.file) if self.is_there is None else int(np.count_nonzero(self.is_there))

    @property
    def ids(self) -> Ids:
        """The picture of every row."""
        return self.file.ids

    @cached_property
    def _order(self) -> Ids | None:
        """What makes the ids ascend; None where they do."""
        if (self.ids[1:] > self.ids[:-1]).all():
            return None
        return np.argsort(self.ids, kind="stable")

    @cached_property
    def findable(self) -> Ids:
        """The pictures that can be found, ascending."""
        ids = self.ids if self.is_there is None else self.ids[self.is_there]
        return np.sort(ids)

    def located(self, pictures: Ids) -> tuple[Ids, Mask]:
        """The positions of those of some pictures that can be found, and which those are."""
        order = self._order
        sorted_ids = self.ids if order is None else self.ids[order]
        # Of a picture that was described twice, the last row counts.
        at = np.searchsorted(sorted_ids, pictures, side="right") - 1
        known = at >= 0
        known[known] = sorted_ids[at[known]] == np.asarray(pictures)[known]
        positions = at[known] if order is None else order[at[known]]
        if self.is_there is not None:
            there = self.is_there[positions]
            positions = positions[there]
            known[known] = there
        return positions, known

    def positions(self, pictures: Ids) -> Ids:
        """The positions of those of some pictures that can be found, ascending."""
        return np.sort(self.located(np.asarray(pictures, np.int64))[0])

    def holds(self, pictures: Sequence[int] | Ids) -> Mask:
        """Whether each of some pictures can be found."""
        return self.located(np.asarray(pictures, np.int64))[1]


def described(catalogue: Catalogue, extractor: str) -> DescribedPictures | None:
    """The rows of an extractor as they are now; None where there are none."""
    file = Rows(catalogue, extractor).file
    if file is None or not len(file):
        return None
    db = catalogue.db
    dead = db.execute("SELECT position FROM dead_rows WHERE extractor = ?", (extractor,)).fetchall()
    gone = db.execute(ABSENT).fetchall()
    if not dead and not gone:
        return DescribedPictures(file)
    is_there = np.ones(len(file), bool)
    is_there[np.array(dead, np.int64).ravel()] = False
    everybody = DescribedPictures(file, is_there.copy())
    is_there[everybody.positions(np.sort(np.array(gone, np.int64).ravel()))] = False
    return DescribedPictures(file, is_there)


def findable(catalogue: Catalogue, extractor: str) -> Ids:
    """The pictures that an extractor has described and that can be found, ascending."""
    pictures = described(catalogue, extractor)
    return np.empty(0, np.int64) if pictures is None else pictures.findable


def vectors_of(catalogue: Catalogue, extractor: str, pictures: Sequence[int]) -> Vectors:
    """The vectors of many pictures that have one, in their order."""
    file = Rows(catalogue, extractor).file
    if file is None:
        raise VistermError("no picture has been described yet; visterm add does")
    positions, known = DescribedPictures(file).located(np.asarray(pictures, np.int64))
    if not known.all():
        missing = np.asarray(pictures)[~known][0]
        raise VistermError(f"picture {missing} has no vector; visterm add describes it")
    return file.vectors(positions)


@dataclass(frozen=True, eq=False)
class FrameRows:
    """Numbers of further frames, ascending, and of the videos that they belong to.

    A video is a picture like any other; its own row is that of its most usual frame. Its other
    frames have numbers and rows of their own, but no file, no caption and no click: what holds for
    the video holds for them. Searches rank rows, and show of every video the best one.

    >>> known = FrameRows(np.array([4, 5]), np.array([2, 2]))
    >>> known.pictures(np.array([5, 1, 2])), known.rows(np.array([1, 2]))
    (array([2, 1, 2]), array([1, 2, 4, 5]))
    >>> known.spread(np.array([0, 7, 9]))
    array([0, 7, 9, 0, 9, 9])
    """

    frames: Ids
    videos: Ids

    def __bool__(self) -> bool:
        return bool(self.frames.size)

    def pictures(self, rows: Ids) -> Ids:
        """What each row is of: its video, or the picture itself."""
        at = np.minimum(np.searchsorted(self.frames, rows), max(self.frames.size - 1, 0))
        is_frame = self.frames[at] == rows if self else np.zeros(rows.size, bool)
        return np.where(is_frame, self.videos[at], rows) if self else rows

    def rows(self, pictures: Ids) -> Ids:
        """The rows of pictures, ascending: their own, and those of all frames of videos."""
        if not self:
            return pictures
        return np.union1d(pictures, self.frames[np.isin(self.videos, pictures)])

    def spread(self, values: Array) -> Array:
        """Values by the number of a picture, with those of videos at the numbers of their frames;
        numbers beyond have 0."""
        if not self:
            return values
        spread = np.zeros(max(values.size, int(self.frames[-1]) + 1), values.dtype)
        spread[: values.size] = values
        spread[self.frames] = spread[self.videos]
        return spread  # type: ignore[return-value]

    def mask(self, pictures: Ids) -> NDArray[np.bool_]:
        """By number, whether a row is one of these pictures'."""
        rows = self.rows(pictures)
        mask = np.zeros(int(rows.max(initial=-1)) + 1, bool)
        mask[rows] = True
        return mask


def read_frame_rows(catalogue: Catalogue) -> FrameRows:
    """All that the catalogue knows."""
    frames = catalogue.db.execute(  # in another order it would read all pictures
        "SELECT id, video FROM pictures INDEXED BY pictures_by_video WHERE video IS NOT NULL"
    ).fetchall()
    table = np.array(sorted(frames), np.int64).reshape(-1, 2)
    return FrameRows(table[:, 0], table[:, 1])
