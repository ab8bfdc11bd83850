"""Which pictures may be found: those alive, and those a filter allows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from visterm.errors import BadInput
from visterm.index.given import whole_numbers
from visterm.index.layout import Bytes
from visterm.index.parts import Part
from visterm.index.score import Integers


def masks(parts: Sequence[Part], allow: npt.ArrayLike | None) -> list[Bytes | None]:
    """One byte a picture for each part, 0 where it must not be found; none where all may be.

    ``allow`` holds ids, or is a boolean array indexed by id.
    """
    if allow is None:
        return [part.alive for part in parts]
    allowed = np.asarray(allow)
    if allowed.dtype == np.bool_:
        if allowed.ndim != 1:
            raise BadInput("a filter must be a list of ids or one boolean an id")
        return [_by_id(part, allowed) for part in parts]
    ids = whole_numbers(allowed)
    return [_listed(part, ids) for part in parts]


def count(parts: Sequence[Part], chosen: Sequence[Bytes | None]) -> int:
    """How many pictures may be found."""
    total = 0
    for part, mask in zip(parts, chosen, strict=True):
        if mask is None or mask is part.alive:
            total += part.segment.pictures - part.segment.removed
        else:
            total += int(np.count_nonzero(mask))
    return total


def _by_id(part: Part, allowed: npt.NDArray[np.bool_]) -> Bytes:
    mask = np.zeros(part.segment.pictures, np.uint8)
    if part.listed is None:
        slots: Integers | slice = slice(part.segment.first_id, None)
    else:
        slots = part.listed[part.listed < allowed.size]
    known = allowed[slots][: mask.size]
    mask[: known.size] = known
    return mask if part.alive is None else mask & part.alive


def _listed(part: Part, ids: Integers) -> Bytes:
    mask = np.zeros(part.segment.pictures, np.uint8)
    positions, here = part.find(ids)
    mask[positions[here]] = 1
    return mask
