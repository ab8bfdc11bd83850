"""Which pictures may be found: those alive, and those a filter allows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from visterm.errors import BadInput
from visterm.index.input_checks import whole_numbers
from visterm.index.layout import Bytes
from visterm.index.open_segments import OpenSegment
from visterm.index.score import Integers


def masks(parts: Sequence[OpenSegment], allow: npt.ArrayLike | None) -> list[Bytes | None]:
    """One byte a picture for each part, 0 where it must not be found; none where all may be.

    ``allow`` holds ids, or is a boolean array indexed by id.
    """
    if allow is None:
        return [part.alive for part in parts]
    allowed = np.asarray(allow)
    if allowed.dtype == np.bool_:
        if allowed.ndim != 1:
            raise BadInput("a filter must be a list of ids or one boolean an id")
        allowed = np.ascontiguousarray(allowed)  # The kernels read it byte by byte.
        return [_by_id(part, allowed) for part in parts]
    ids = np.sort(whole_numbers(allowed))
    return [_listed(part, ids) for part in parts]


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
        known = allowed[ids[ids < allowed.size]]  # Ids ascend, so those known come first.
        mask[: known.size] = known
    return mask if part.alive is None else mask & part.alive


def _listed(part: OpenSegment, ids: Integers) -> Bytes:
    """The mask of ascending ids."""
    mask = np.zeros(part.segment.pictures, np.uint8)
    first, last = part.ids(np.array([0, mask.size - 1])).tolist()
    positions, here = part.find(ids[slice(*np.searchsorted(ids, [first, last + 1]))])
    mask[positions[here]] = 1
    return mask
