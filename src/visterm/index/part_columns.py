"""The column of a word in an open segment, in whichever layout it lies there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from visterm.index import old_layout
from visterm.index.layout import CODES, OLD, Bytes, Column, column, column_size
from visterm.index.manifest import Group
from visterm.index.open_segments import OpenSegment, Positions
from visterm.index.score import Floats


class PartColumn(NamedTuple):
    """One word's values over the pictures of a segment: exact ones, or what bounds them."""

    exact: Floats | None
    coded: Column | None
    """None in the layout of before, and where no group holds the word: all are zero then."""

    def bounds(self, positions: Positions) -> tuple[Floats, Floats]:
        """Between which numbers values lie; both are the value where it is kept."""
        if self.exact is not None:
            values = self.exact[positions]
            return values, values
        assert self.coded is not None
        codes = self.coded.codes[positions]
        return self.coded.lows[codes], self.coded.highs[codes]


def part_column(part: OpenSegment, word: int) -> PartColumn:
    """What speaks for a word in a segment."""
    pictures = part.segment.pictures
    stored = stored_column(part, word)
    if stored is None:
        return PartColumn(np.zeros(pictures, np.float32), None)
    group, data = stored
    if group.layout == OLD:
        return PartColumn(old_layout.exact_values(data, pictures)[0], None)
    found = column(data, pictures)
    return PartColumn(None if group.layout == CODES else found.exact, found)


def stored_column(part: OpenSegment, word: int) -> tuple[Group, Bytes] | None:
    """The group that speaks for a word, and the bytes of its column; None where none does."""
    for group, data in zip(reversed(part.segment.groups), reversed(part.maps), strict=True):
        before = 0
        for first, stop in group.ranges:
            if first <= word < stop:
                size = len(data) // len(group.words)
                place = before + word - first
                return group, data[size * place : size * (place + 1)]
            before += stop - first
    return None


def group_values(part: OpenSegment, number: int) -> Floats | None:
    """The exact values of a group, words × pictures; None where it has none."""
    group, pictures = part.segment.groups[number], part.segment.pictures
    data = part.maps[number]
    if group.layout == OLD:
        return old_layout.exact_values(data, pictures)
    if group.layout == CODES:
        return None
    return column(data.reshape(-1, column_size(pictures, group.layout)), pictures).exact
