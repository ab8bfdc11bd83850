"""Rows that are further frames of videos: which of them belong to which video.

A video is a picture like any other; its own row is that of its most usual frame. Its other frames
have numbers and rows of their own, but no file, no caption and no click: what holds for the video
holds for them. Searches rank rows, and show of every video the best one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from visterm.collection.store.catalogue import Catalogue

Ids = NDArray[np.int64]
Array = TypeVar("Array", bound=NDArray)


@dataclass(frozen=True, eq=False)
class FrameRows:
    """Numbers of further frames, ascending, and of the videos that they belong to.

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
        found = np.zeros(max(values.size, int(self.frames[-1]) + 1), values.dtype)
        found[: values.size] = values
        found[self.frames] = found[self.videos]
        return found  # type: ignore[return-value]

    def mask(self, pictures: Ids) -> NDArray[np.bool_]:
        """By number, whether a row is one of these pictures'."""
        rows = self.rows(pictures)
        found = np.zeros(int(rows.max(initial=-1)) + 1, bool)
        found[rows] = True
        return found


def read_frame_rows(catalogue: Catalogue) -> FrameRows:
    """All that the catalogue knows."""
    found = catalogue.db.execute(  # in another order it would read all pictures
        "SELECT id, video FROM pictures INDEXED BY pictures_by_video WHERE video IS NOT NULL"
    ).fetchall()
    table = np.array(sorted(found), np.int64).reshape(-1, 2)
    return FrameRows(table[:, 0], table[:, 1])
