"""Addresses of everything a search reads, so that one compiled call can walk all segments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from visterm.index.layout import Bytes, places
from visterm.index.open_segments import OpenSegment
from visterm.index.score import Integers


class AddressTables(NamedTuple):
    """One row a segment: what the kernels need to know of it. Address 0 means "not there"."""

    columns: Integers
    """The address of each word's column, segments × words."""
    places: Integers
    """Where highs, lows, codes and exact values begin in a column, segments × 4."""
    sizes: Integers
    """Pictures."""
    first_ids: Integers
    """The smallest id."""
    ids: Integers
    """The address of the ids, where they do not follow each other."""
    masks: Integers
    """The address of one byte a picture, 0 where it must not be found."""

    def of_words(self, words: Integers) -> AddressTables:
        """The tables that a query over these words needs."""
        return self._replace(columns=np.ascontiguousarray(self.columns[:, words]))

    def with_masks(self, masks: Sequence[Bytes | None]) -> AddressTables:
        """The tables with other masks."""
        return self._replace(masks=np.array([address(mask) for mask in masks], np.int64))

    def segments(self, chosen: slice) -> AddressTables:
        """The tables of some of the segments."""
        return AddressTables(*(table[chosen] for table in self))


def address(array: np.ndarray | None) -> int:
    """Where an array's bytes begin."""
    return 0 if array is None else array.ctypes.data


def tables(parts: Sequence[OpenSegment], words: int, blanks: dict[int, Bytes]) -> AddressTables:
    """Look up the column of every word in every segment.

    A word that no group of a segment holds is zero there; it is read from one column of zeros a
    segment size, kept in ``blanks`` and never written to, so it takes no memory.
    """
    columns = np.zeros((len(parts), words), np.int64)
    for row, part in zip(columns, parts, strict=True):
        size = places(part.segment.pictures).end
        for group, data in zip(part.segment.groups, part.maps, strict=True):
            row[group.words] = address(data) + size * np.arange(len(group.words))
        if not row.all():
            blank = blanks.setdefault(size, np.zeros(size, np.uint8))
            row[row == 0] = address(blank)
    return AddressTables(
        columns,
        np.array([places(part.segment.pictures)[:4] for part in parts], np.int64).reshape(-1, 4),
        np.array([part.segment.pictures for part in parts], np.int64),
        np.array([part.segment.first_id for part in parts], np.int64),
        np.array([address(part.listed) for part in parts], np.int64),
        np.array([address(part.alive) for part in parts], np.int64),
    )
