"""A segment as it is read: its ids, who is alive, and its maps; and where new rows come from."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from visterm.index.layout import Bytes
from visterm.index.manifest import Segment
from visterm.index.recomputed import Recomputed
from visterm.index.score import Floats, Integers

Positions = Integers | slice

_FEW = 256
"""Of so many pictures one is looked up faster by steps than by widening all their places."""
_KERNELS = "visterm.index._kernels"
"""Where compiled kernels are loaded, the steps are taken by one as well."""


@dataclass(frozen=True)
class OpenSegment:
    """One opened segment; ``maps`` holds the bytes of its groups, in their order."""

    segment: Segment
    listed: Integers | None
    alive: Bytes | None
    maps: tuple[Bytes, ...]
    order: npt.NDArray[np.int32] | None = None

    def ids(self, positions: Positions = slice(None)) -> Integers:
        """The ids of the pictures at these positions."""
        if self.listed is not None:
            return self.listed[positions]
        if isinstance(positions, slice):
            first, pictures = self.segment.first_id, self.segment.pictures
            return np.arange(first, first + pictures)[positions]
        return positions + self.segment.first_id

    def find(self, ids: Integers) -> tuple[Integers, npt.NDArray[np.bool_]]:
        """The position of each id, and whether a living picture with that id is there."""
        pictures = self.segment.pictures
        if self.listed is None:
            positions = ids - self.segment.first_id
            here = (positions >= 0) & (positions < pictures)
        else:
            positions = _sorted_places(self.listed, self.order, ids)
            here = positions < pictures
            if self.order is not None:
                positions[here] = self.order[positions[here]]
            here[here] = self.listed[positions[here]] == ids[here]
        if self.alive is not None:
            here[here] = self.alive[positions[here]] != 0
        return positions, here

    def span(self) -> tuple[int, int]:
        """The smallest and the largest id, whether those pictures are alive or not."""
        last = self.segment.pictures - 1
        first, last = (0, last) if self.order is None else self.order[[0, -1]].tolist()
        smallest, largest = self.ids(np.array([first, last])).tolist()
        return smallest, largest

    def smallest(self, k: int, mask: Bytes | None) -> Integers:
        """The positions of the ``k`` smallest ids, among those that a mask allows."""
        order = np.arange(self.segment.pictures) if self.order is None else self.order
        chosen = order[:k] if mask is None else order[mask[order] != 0][:k]
        return chosen.astype(np.int64)

    def rising(self) -> Integers:
        """The positions of all living pictures, in ascending order of id."""
        return self.smallest(self.segment.pictures, self.alive)

    def living(self) -> Positions:
        """The positions of all living pictures."""
        return slice(None) if self.alive is None else np.flatnonzero(self.alive.view(np.bool_))


def _sorted_places(
    listed: Integers, order: npt.NDArray[np.int32] | None, ids: Integers
) -> Integers:
    """`numpy.searchsorted`, which spends its time on widening the order.

    Where no number is left out, an id says its place; a few ids are looked up by steps.

    >>> _sorted_places(np.array([5, 1, 9]), np.array([1, 0, 2], np.int32), np.array([9, 2, 10]))
    array([2, 1, 3])
    """
    if order is not None and order.size:
        first, last = listed[order[[0, -1]]].tolist()
        if last - first + 1 == listed.size:
            return np.clip(ids - first, 0, listed.size)
    if order is not None and _KERNELS in sys.modules:
        from visterm.index._loops import sorted_places

        found: Integers = sorted_places(listed, order, np.ascontiguousarray(ids))
        return found
    if order is None or ids.size > listed.size // _FEW:
        return np.searchsorted(listed, ids, sorter=order)
    low, high = np.zeros(ids.size, np.int64), np.full(ids.size, listed.size)
    while (between := np.flatnonzero(low < high)).size:
        middle = (low[between] + high[between]) // 2
        is_smaller = listed[order[middle]] < ids[between]
        low[between[is_smaller]] = middle[is_smaller] + 1
        high[between[~is_smaller]] = middle[~is_smaller]
    return low


class Source(Protocol):
    """Where the rows of a new segment come from."""

    @property
    def pictures(self) -> int: ...

    @property
    def words(self) -> int: ...

    @property
    def ids(self) -> Integers: ...

    def read(self, pictures: slice, words: slice) -> Floats:
        """The values of these words for these pictures, one row a picture."""


@dataclass(frozen=True)
class GivenRows:
    """Rows of a caller's array, in a chosen order."""

    rows: npt.NDArray[np.generic]
    order: Positions
    pictures: int
    ids: Integers
    recomputed: Recomputed | None = None
    """What the first words hold, if not values."""

    def reordered(self, order: Integers) -> GivenRows:
        """The same rows in another order."""
        positions = np.arange(len(self.rows))[self.order][order]
        return replace(self, order=positions, ids=self.ids[order])

    @property
    def words(self) -> int:
        return self.rows.shape[1]

    def read(self, pictures: slice, words: slice) -> Floats:
        if isinstance(self.order, slice):
            chosen = self.rows[self.order][pictures, words]
        else:
            chosen = self.rows[self.order[pictures], words]
        return chosen.astype(np.float32, copy=False)


class Reader(Protocol):
    """Reads exact values out of a part."""

    def __call__(self, part: OpenSegment, positions: Integers, words: slice) -> Floats: ...


class MergedRows:
    """The living rows of several parts together, in ascending order of id unless reordered."""

    def __init__(self, parts: Sequence[OpenSegment], read: Reader, words: int) -> None:
        self.words = words
        self.parts = parts
        self._read = read
        living = [np.arange(part.segment.pictures)[part.living()] for part in parts]
        ids = np.concatenate([part.ids(here) for part, here in zip(parts, living, strict=True)])
        self.ids = ids
        self.positions = np.concatenate(living)
        self.owners = np.repeat(np.arange(len(parts)), [here.size for here in living])
        self.reorder(np.argsort(ids, kind="stable"))

    def reorder(self, order: Integers) -> None:
        """Let the rows come in another order."""
        self.ids, self.positions = self.ids[order], self.positions[order]
        self.owners = self.owners[order]

    @property
    def pictures(self) -> int:
        return int(self.ids.size)

    def read(self, pictures: slice, words: slice) -> Floats:
        positions, owner = self.positions[pictures], self.owners[pictures]
        rows = np.empty((positions.size, words.stop - words.start), np.float32)
        for number, part in enumerate(self.parts):
            mine = owner == number
            rows[mine] = self._read(part, positions[mine], words)
        return rows
