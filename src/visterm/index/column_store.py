"""Columns by word as they are kept: values given, replaced, read back, and bounded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from visterm.errors import BadInput
from visterm.index import old_layout
from visterm.index.column_writer import write_given, write_joined, write_merged
from visterm.index.input_checks import checked_rows, whole_numbers
from visterm.index.layout import BLOCK, OLD, column_size
from visterm.index.likeness_order import order_alike
from visterm.index.manifest import Group, Segment
from visterm.index.open_segments import GivenRows, MergedRows, OpenSegment, Source
from visterm.index.part_columns import group_values, part_column
from visterm.index.recomputed import ExactValues, Recomputed
from visterm.index.score import Floats, Integers
from visterm.index.segment_changes import coded_words, crowded, with_group
from visterm.index.segments import Segmented
from visterm.index.storage import Draft

_COMPARED = 48
"""Words by which pictures are compared then."""


class ColumnStore(Segmented):
    """An index of columns, all but how it is searched."""

    kind = "columns"
    alike_from: int = 64 * BLOCK
    """From so many pictures of a segment on, like ones are laid together in it."""
    exact: ExactValues | None = None
    """What computes the values that are not kept."""

    @classmethod
    def open(cls, folder: str | Path, *, exact: ExactValues | None = None) -> Self:
        """Open an index; nothing but its table of contents is read until it is asked for."""
        index = super().open(folder)
        index.exact = exact
        return index

    def append(
        self,
        rows: npt.ArrayLike,
        ids: npt.ArrayLike | None = None,
        *,
        replace: bool = False,
        recomputed: Recomputed | None = None,
    ) -> Integers:
        """Add pictures, in one commit; as :meth:`Segmented.append`.

        With ``recomputed``, the rows begin with numbers from which values follow, and the values of
        these words are not kept: ``exact`` computes them.
        """
        return self._add(rows, ids, self._without(replace), recomputed)

    def update_word(
        self, word: int, values: npt.ArrayLike, ids: npt.ArrayLike | None = None
    ) -> None:
        """Replace one word's values, in one commit; see :meth:`update_words`."""
        column = np.asarray(values)
        if column.ndim != 1:
            raise BadInput(
                f"a word's values must be a list of numbers, not of shape {column.shape}"
            )
        self.update_words([word], column[:, None], ids)

    def update_words(
        self, words: Sequence[int], rows: npt.ArrayLike, ids: npt.ArrayLike | None = None
    ) -> None:
        """Replace the values of some words, in one commit, without touching those of others.

        Parameters
        ----------
        words
            Which words.
        rows
            One row a picture, one value for each of these words.
        ids
            The pictures of the rows; other pictures keep their values. Without it, the rows are
            those of all pictures, in the order of :meth:`ids`.
        """
        chosen = self._different(words)
        given = checked_rows(rows, chosen.size).astype(np.float32, copy=False)
        with self._changing() as draft:
            numbers = self.ids() if ids is None else whole_numbers(ids)
            if numbers.size != len(given):
                raise BadInput(f"there are {numbers.size} pictures but {len(given)} rows for them")
            segments, known = [], 0
            for part in self._parts:
                positions, here = part.find(numbers)
                segment, count = part.segment, int(here.sum())
                known += count
                if count:
                    values = np.zeros((segment.pictures, chosen.size), np.float32)
                    if count < segment.pictures - segment.removed:
                        living = part.living()
                        values[living] = self.values(chosen, part.ids(living))
                    values[positions[here]] = given[here]
                    segment = self._with_values(draft, part, chosen, values)
                segments.append(segment)
            if known != numbers.size:
                raise BadInput(f"{numbers.size - known} of the pictures are not in the index")
            self._commit(draft, segments)

    @property
    def places(self) -> int:
        """How many places pictures have, those of removed ones among them."""
        return sum(segment.pictures for segment in self._manifest.segments)

    def placed(self) -> Iterator[tuple[Integers, Integers]]:
        """Segment by segment the pictures, ascending, and the place of each among all `places`.

        >>> from visterm.index import Index
        >>> index = Index.in_memory([[0], [3], [5]], ids=[7, 9, 8])
        >>> [(ids.tolist(), places.tolist()) for ids, places in index.placed()]
        [([7, 8, 9], [0, 1, 2])]
        """
        first = 0
        for part in self._parts:
            positions = part.rising()
            yield part.ids(positions), first + positions
            first += part.segment.pictures

    def columns(self, words: npt.ArrayLike) -> Floats:
        """The exact values of some words, words × `places`; 0 where a picture was removed."""
        found = np.zeros((whole_numbers(words).size, self.places), np.float32)
        for ids, places in self.placed():
            found[:, places] = self.values(words, ids).T
        return found

    def update_columns(self, words: Sequence[int], columns: Floats) -> None:
        """Replace all values of some words, in one commit; columns are as :meth:`columns` has them.

        What clicks change is given so: nothing of it is looked up or put in another order.
        """
        chosen = self._different(words)
        with self._changing() as draft:
            if columns.shape != (chosen.size, self.places):
                raise BadInput(
                    f"{chosen.size} words of {self.places} places need as many values, not"
                    f" {columns.shape}"
                )
            if not np.isfinite(columns).all():
                raise BadInput("values must be finite float32 numbers")
            segments, first = [], 0
            for part in self._parts:
                values = columns[:, first : first + part.segment.pictures].T
                segments.append(self._with_values(draft, part, chosen, values))
                first += part.segment.pictures
            self._commit(draft, segments)

    def _different(self, words: Sequence[int]) -> Integers:
        chosen = whole_numbers(words)
        if np.unique(chosen).size != chosen.size or (chosen >= self.words).any():
            raise BadInput(f"words must differ and go from 0 to {self.words - 1}: {list(words)}")
        return chosen

    def _with_values(
        self, draft: Draft, part: OpenSegment, words: Integers, values: Floats
    ) -> Segment:
        """The segment of a part with other values of some words, one row a picture."""
        source = GivenRows(values, slice(None), len(values), part.ids())
        (group,) = write_given(draft, source, None, self.kind)
        ranges = tuple((word, word + 1) for word in words.tolist())
        return with_group(part.segment, Group(group.file, ranges, group.layout))

    def values(self, words: npt.ArrayLike, ids: npt.ArrayLike) -> Floats:
        """The exact values of some words for some pictures, one row a picture.

        >>> import tempfile
        >>> from visterm.index import Index
        >>> index = Index.create(tempfile.mkdtemp(), words=3)
        >>> _ = index.append([[0, 1, 2], [3, 0, 0]])
        >>> index.values([2, 0], [1])
        array([[0., 3.]], dtype=float32)
        """
        lows, found = self.bounds(words, ids)
        chosen, numbers = whole_numbers(words), whole_numbers(ids)
        unsure = lows != found
        which, who = np.flatnonzero(unsure.any(axis=0)), np.flatnonzero(unsure.any(axis=1))
        if which.size:
            anew = self._anew(chosen[which], numbers[who])
            some = np.ix_(who, which)
            # A picture that has gone keeps its bound until the index hears of it.
            found[some] = np.where(unsure[some] & ~np.isnan(anew), anew, found[some])
        return found

    def bounds(self, words: npt.ArrayLike, ids: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Between which numbers these values lie, without computing any; as :meth:`values`.

        Both are the value where it is kept.
        """
        chosen, numbers = whole_numbers(words), whole_numbers(ids)
        if (chosen >= self.words).any():
            raise BadInput(f"words go from 0 to {self.words - 1}: {chosen.tolist()}")
        lows, highs = np.zeros((2, numbers.size, chosen.size), np.float32)
        missing = np.ones(numbers.size, bool)
        for part in self._parts:
            positions, here = part.find(numbers)
            missing &= ~here
            for place, word in enumerate(chosen.tolist()) if here.any() else ():
                found = part_column(part, word).bounds(positions[here])
                lows[here, place], highs[here, place] = found
        if missing.any():
            raise BadInput(f"picture {numbers[missing][0]} is not in the index")
        return lows, highs

    def rows(self, ids: npt.ArrayLike) -> Floats:
        """The exact rows of these pictures."""
        found, numbers = super().rows(ids), whole_numbers(ids)
        for part in self._parts:
            coded = np.array(sorted(coded_words(part.segment)), np.int64)
            _, here = part.find(numbers)
            if coded.size and here.any():
                anew = self._anew(coded, numbers[here])
                if np.isnan(anew).any():  # pictures that have gone meanwhile
                    anew = self.values(coded, numbers[here])
                found[np.ix_(here, coded)] = anew
        return found

    def _anew(self, words: Integers, ids: Integers) -> Floats:
        if self.exact is None:
            raise BadInput(f"{self.storage} keeps no exact values; open it with exact=")
        return self.exact(words, ids)

    def coded(self) -> Integers:
        """The words of which no segment keeps exact values, ascending."""
        every = [coded_words(part.segment) for part in self._parts]
        found = frozenset.intersection(*every) if every else frozenset()
        return np.array(sorted(found), np.int64)

    def keeping(self, words: int) -> Integers:
        """The pictures of segments that keep exact values of any of the first so many words."""
        asked = frozenset(range(words))
        parts = [part for part in self._parts if not asked <= coded_words(part.segment)]
        found = [part.ids(part.living()) for part in parts]
        return np.sort(np.concatenate([np.empty(0, np.int64), *found]))

    def merge(self) -> bool:
        """As :meth:`Segmented.merge`; values that clicks left in a file each are joined, too."""
        return super().merge() or self._join_groups()

    def _join_groups(self) -> bool:
        with self._changing() as draft:
            segments = list(self._manifest.segments)
            number = crowded(segments)
            if number is None:
                return False
            part = self._parts[number]
            segments[number] = with_group(part.segment, write_joined(draft, part, self.kind))
            self._commit(draft, segments)
        return True

    def add_words(self, count: int) -> None:
        """Make room for more words; every picture has 0 for them until they are updated."""
        if count < 0:
            raise BadInput(f"words can only be added, not {count} of them")
        with self._changing() as draft:
            self._commit(draft, self._manifest.segments, words=self.words + count)

    def _alike(self, source: GivenRows) -> GivenRows:
        if source.pictures < self.alike_from:
            return source
        every = slice(0, source.pictures)
        columns = [source.read(every, slice(word, word + 1)) for word in _some(source.words)]
        return source.reordered(order_alike(np.concatenate(columns, axis=1), BLOCK))

    def _merged_alike(self, source: MergedRows) -> MergedRows:
        if source.pictures >= self.alike_from:
            words = _some(source.words)
            rows = np.empty((source.pictures, len(words)), np.float32)
            for number, part in enumerate(source.parts):
                mine = source.owners == number
                columns = [part_column(part, word) for word in words]
                for place, found in enumerate(columns):
                    values = found.exact if found.coded is None else found.coded.codes
                    assert values is not None
                    rows[mine, place] = values[source.positions[mine]]
            source.reorder(order_alike(rows, BLOCK))
        return source

    def _write(self, draft: Draft, source: Source) -> tuple[Group, ...]:
        if isinstance(source, MergedRows):
            return write_merged(draft, source, self.kind)
        assert isinstance(source, GivenRows)
        coded = frozenset(range(len(source.recomputed or ())))
        earlier = [part for part in self._parts if coded and coded <= coded_words(part.segment)]
        return write_given(draft, source, earlier[-1] if earlier else None, self.kind)

    def _read(self, part: OpenSegment, positions: Integers, words: slice) -> Floats:
        rows = np.zeros((positions.size, words.stop - words.start), np.float32)
        for number, group in enumerate(part.segment.groups):
            exact = group_values(part, number)
            if exact is None:
                continue
            before = 0
            for first, stop in group.ranges:
                begin, end = max(first, words.start), min(stop, words.stop)
                if begin < end:
                    values = exact[before + begin - first : before + end - first, positions]
                    rows[:, begin - words.start : end - words.start] = values.T
                before += stop - first
        return rows

    def _group_size(self, pictures: int, group: Group) -> int:
        if group.layout == OLD:
            return len(group.words) * old_layout.column_size(pictures)
        return len(group.words) * column_size(pictures, group.layout)


def _some(words: int) -> list[int]:
    """Some of the words, from all over the vocabulary."""
    return np.unique(np.linspace(0, words - 1, min(words, _COMPARED)).astype(int)).tolist()
