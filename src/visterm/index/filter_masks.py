"""Which pictures may be found: those alive, and those a filter allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from visterm.errors import BadInput
from visterm.index.input_checks import whole_numbers
from visterm.index.layout import Bytes
from visterm.index.open_segments import OpenSegment, Positions
from visterm.index.score import Integers

_FEW = 512
"""Where fewer than one picture in so many is allowed, their positions are soon found."""


class Filter(NamedTuple):
    """Who may be found, for each part: one byte a picture, 0 where it must not be, none where all
    may; and one byte an id, for those parts whose pictures do not lie in that order."""

    masks: list[Bytes | None]
    by_id: Bytes | None = None

    def positions(self, number: int, part: OpenSegment) -> Positions:
        """The positions of those of a part that may be found."""
        mask = self.masks[number]
        if self.by_id is not None and part.order is not None:
            mask = _by_id(part, self.by_id.view(np.bool_))
        return slice(None) if mask is None else np.flatnonzero(mask.view(np.bool_))

    def count(self, parts: Sequence[OpenSegment]) -> int:
        """How many pictures may be found; at most so many, where they are told by id."""
        found = count(parts, self.masks)
        return found if self.by_id is None else min(found, int(np.count_nonzero(self.by_id)))


def read_filter(parts: Sequence[OpenSegment], allow: npt.ArrayLike | None) -> Filter:
    """What a caller allows: ids, or a boolean array indexed by id."""
    if allow is None:
        return Filter([part.alive for part in parts])
    allowed = np.asarray(allow)
    if allowed.dtype == np.bool_:
        if allowed.ndim != 1:
            raise BadInput("a filter must be a list of ids or one boolean an id")
        allowed = np.ascontiguousarray(allowed)  # The kernels read it byte by byte.
        if all(part.order is None for part in parts):
            return Filter([_by_id(part, allowed) for part in parts])
        total = sum(part.segment.pictures for part in parts)
        if np.count_nonzero(allowed) * _FEW >= total:
            masks = [_by_id(part, allowed) if part.order is None else part.alive for part in parts]
            return Filter(masks, allowed.view(np.uint8))
        allowed = np.flatnonzero(allowed)
    ids = np.sort(whole_numbers(allowed))
    return Filter([_listed(part, ids) for part in parts])


def count(parts: Sequence[OpenSegment], chosen: Sequence[Bytes | None]) -> int:
    """How many pictures may be found."""
    total = 0
    for part, mask in zip(parts, chosen, strict=True):
        if mask is None or mask is part.alive:
            total += part.segment.pictures - part.segment.removed
        else:
            total += int(np.count_nonzero(mask.view(np.bool_)))
    return total


def _by_id(part: OpenSegment, allowed: npt.NDArray[np.bool_]) -> Bytes:
    first, pictures = part.segment.first_id, part.segment.pictures
    if part.listed is None and first + pictures <= allowed.size:
        mask = allowed[first : first + pictures].view(np.uint8)
    else:
        ids = part.ids()
        mask = np.zeros(pictures, np.uint8)
        known = ids < allowed.size
        mask[known] = allowed[ids[known]]
    return mask if part.alive is None else mask & part.alive


def _listed(part: OpenSegment, ids: Integers) -> Bytes:
    """The mask of ascending ids."""
    mask = np.zeros(part.segment.pictures, np.uint8)
    first, last = part.span()
    positions, here = part.find(ids[slice(*np.searchsorted(ids, [first, last + 1]))])
    mask[positions[here]] = 1
    return mask
