"""Addresses of everything a search reads, so that one compiled call can walk all segments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from visterm.index.filter_masks import Filter
from visterm.index.layout import EXACT, OLD, Bytes, column_size, places
from visterm.index.open_segments import OpenSegment
from visterm.index.score import Integers


class AddressTables(NamedTuple):
    """One row a segment: what the kernels need to know of it. Address 0 means "not there"."""

    columns: Integers
    """The address of each word's column, segments × words; 0 for one in the layout of before."""
    kept: npt.NDArray[np.bool_]
    """Whether a column holds exact values."""
    places: Integers
    """Where the parts of a column begin in it, as `layout.Places` says, segments × 6."""
    sizes: Integers
    """Pictures."""
    first_ids: Integers
    """The smallest id."""
    ids: Integers
    """The address of the ids, where they do not follow each other."""
    is_rising: npt.NDArray[np.bool_]
    """Whether ids ascend."""
    masks: Integers
    """The address of one byte a picture, 0 where it must not be found."""

    by_id: Integers
    """The address of one byte an id, 0 where it must not be found, for parts whose ids do not
    ascend; and how many there are."""

    def of_words(self, words: Integers) -> AddressTables:
        """The tables that a query over these words needs."""
        return self._replace(
            columns=np.ascontiguousarray(self.columns[:, words]),
            kept=np.ascontiguousarray(self.kept[:, words]),
        )

    def with_filter(self, chosen: Filter) -> AddressTables:
        """The tables with what may be found."""
        by_id = chosen.by_id
        return self._replace(
            masks=np.array([address(mask) for mask in chosen.masks], np.int64),
            by_id=np.array([address(by_id), 0 if by_id is None else by_id.size], np.int64),
        )

    def segments(self, chosen: slice) -> AddressTables:
        """The tables of some of the segments."""
        some = {name: table[chosen] for name, table in self._asdict().items() if name != "by_id"}
        return self._replace(**some)


def address(array: np.ndarray | None) -> int:
    """Where an array's bytes begin."""
    return 0 if array is None else array.ctypes.data


def tables(parts: Sequence[OpenSegment], words: int, blanks: dict[int, Bytes]) -> AddressTables:
    """Look up the column of every word in every segment.

    A word that no group of a segment holds is zero there; it is read from one column of zeros a
    segment size, kept in ``blanks`` and never written to, so it takes no memory.
    """
    columns = np.zeros((len(parts), words), np.int64)
    kept = np.ones((len(parts), words), bool)
    for row, exact, part in zip(columns, kept, parts, strict=True):
        pictures = part.segment.pictures
        held = np.zeros(words, bool)
        for group, data in zip(part.segment.groups, part.maps, strict=True):
            steps = column_size(pictures, group.layout) * np.arange(len(group.words))
            row[group.words] = 0 if group.layout == OLD else address(data) + steps
            exact[group.words] = group.layout <= EXACT
            held[group.words] = True
        if not held.all():
            size = column_size(pictures)
            row[~held] = address(blanks.setdefault(size, np.zeros(size, np.uint8)))
    return AddressTables(
        columns,
        kept,
        np.array([places(part.segment.pictures) for part in parts], np.int64).reshape(-1, 6),
        np.array([part.segment.pictures for part in parts], np.int64),
        np.array([part.segment.first_id for part in parts], np.int64),
        np.array([address(part.listed) for part in parts], np.int64),
        np.array([part.order is None for part in parts], bool),
        np.array([address(part.alive) for part in parts], np.int64),
        np.zeros(2, np.int64),
    )
