"""Columns written as groups: of given rows, or of segments that are written together."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import groupby

import numpy as np

from visterm.index.layout import CODES, EXACT, Bytes, Column, Scales, encode
from visterm.index.manifest import Group
from visterm.index.merged_codes import merged, scales_of
from visterm.index.open_segments import GivenRows, MergedRows, OpenSegment, Source
from visterm.index.part_columns import part_column, stored_column
from visterm.index.recomputed import Recomputed
from visterm.index.segment_changes import coded_words
from visterm.index.storage import Draft, Hashed

_LINE = 16
"""Words turned from rows into columns together, at least: one cache line of each row."""

_ENCODED = 1 << 20
"""Values encoded together, at most, unless a single column has more: some 30 bytes each."""

Encode = Callable[[np.ndarray, int], Bytes]


def write_given(
    draft: Draft, source: GivenRows, earlier: OpenSegment | None, kind: str
) -> tuple[Group, ...]:
    """Rows of a caller: what can be computed anew by codes alone, the rest with exact values.

    Codes have the scales of an ``earlier`` segment where its columns are codes as well.
    """
    coded = 0 if source.recomputed is None else len(source.recomputed)
    groups = []
    for first, stop, layout in ((0, coded, CODES), (coded, source.words, EXACT)):
        if first < stop:
            encoded = _encoder(source.recomputed if layout == CODES else None, earlier)
            file = draft.add(kind, _filling(source, first, stop, encoded))
            groups.append(Group(file, ((first, stop),), layout))
    return tuple(groups)


def write_merged(draft: Draft, source: MergedRows, kind: str) -> tuple[Group, ...]:
    """Segments that keep the exact values of the same words."""
    coded = coded_words(source.parts[0].segment)
    groups = []
    for is_coded, some in groupby(range(source.words), coded.__contains__):
        words = list(some)
        if is_coded:
            file = draft.add(kind, partial(_merge, source, words))
        else:
            file = draft.add(kind, _filling(source, words[0], words[-1] + 1, _encoder(None, None)))
        groups.append(Group(file, ((words[0], words[-1] + 1),), CODES if is_coded else EXACT))
    return tuple(groups)


def write_joined(draft: Draft, part: OpenSegment, kind: str) -> Group:
    """A segment's groups of exact values, but for the largest, in one file."""
    largest = max(part.segment.groups, key=lambda group: len(group.words))
    words = sorted({word for group in part.segment.groups for word in group.words})
    columns = {word: stored_column(part, word) for word in words}
    joined = {
        word: found[1]
        for word, found in columns.items()
        if found is not None and found[0] is not largest and found[0].layout == EXACT
    }

    def fill(file: Hashed) -> None:
        for column in joined.values():
            file.write(column)

    file = draft.add(kind, fill)
    return Group(file, tuple((word, word + 1) for word in joined), EXACT)


def _merge(source: MergedRows, words: list[int], file: Hashed) -> None:
    sizes = [part.segment.pictures for part in source.parts]
    places = np.cumsum([0, *sizes[:-1]])[source.owners] + source.positions
    for word in words:
        file.write(merged([_coded(part, word) for part in source.parts], places))


def _coded(part: OpenSegment, word: int) -> Column:
    found = part_column(part, word).coded
    assert found is not None
    return found


def _encoder(recomputed: Recomputed | None, earlier: OpenSegment | None) -> Encode:
    """What makes columns of words × pictures, given the first of the words."""

    def encoded(numbers: np.ndarray, first: int) -> Bytes:
        if recomputed is None:
            return encode(numbers)
        scales: Scales | None = None
        if earlier is not None:
            scales = scales_of([_coded(earlier, first + n) for n in range(len(numbers))])
        return encode(numbers, recomputed, first, scales)

    return encoded


def _filling(source: Source, first: int, stop: int, encoded: Encode) -> Callable[[Hashed], None]:
    """What writes the columns of some words into a file, a few at a time."""
    wide = max(1, _ENCODED // source.pictures)

    def fill(file: Hashed) -> None:
        for begin in range(first, stop, max(wide, _LINE)):
            words = slice(begin, min(begin + max(wide, _LINE), stop))
            columns = np.ascontiguousarray(source.read(slice(0, source.pictures), words).T)
            for place in range(0, len(columns), wide):
                file.write(encoded(columns[place : place + wide], begin + place))

    return fill
