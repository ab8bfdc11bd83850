"""How many pictures reach a score, and which: by bounds of blocks, then by those of codes."""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs
from __future__ import annotations

import numpy as np
from numba import njit

from visterm.index._bounds import CODES, EXACT, block_bounds, by_code
from visterm.index._kernels import picture_id
from visterm.index._loops import bytes_at, floats_at
from visterm.index.layout import BLOCK

_ROOM = 1024


@njit(cache=True, nogil=True)
def count_from(tables, weights, least, are_listed):
    """How many pictures surely have a score of ``least`` or more, and the ids of who else may.

    ``are_listed`` has none counted: the ids are those of all who may.
    """
    bounds = by_code(tables, weights)
    highest = block_bounds(tables, weights, bounds.uppers, True)
    lowest = block_bounds(tables, weights, bounds.lowers, False)
    unsure = np.empty(_ROOM, np.int64)
    sure = many = 0
    for segment in range(tables.sizes.size):
        begin, end = highest.edges[segment], highest.edges[segment + 1]
        by_id = 0 if tables.is_rising[segment] else tables.by_id[0]
        is_free = tables.masks[segment] == 0 and by_id == 0
        for block in range(begin, end):
            if highest.scores[block] < least:
                continue
            first = (block - begin) * BLOCK
            stop = min(first + BLOCK, tables.sizes[segment])
            if is_free and not are_listed and lowest.scores[block] >= least:
                sure += stop - first
                continue
            if many + BLOCK > unsure.size:
                unsure = np.concatenate((unsure, np.empty(unsure.size, np.int64)))
            for position in range(first, stop):
                lower, upper = _between(tables, weights, bounds, segment, position)
                if np.float32(upper) < least or not _may_be_found(tables, segment, position, by_id):
                    continue
                if np.float32(lower) >= least and not are_listed:
                    sure += 1
                else:
                    unsure[many] = picture_id(tables, segment, position)
                    many += 1
    return sure, unsure[:many]


@njit(cache=True, nogil=True)
def _between(tables, weights, bounds, segment, position):
    """Between which sums a picture's score is; both are it where exact values are kept."""
    at = tables.places[segment]
    lower = upper = 0.0
    for word in range(weights.size):
        column = tables.columns[segment, word]
        if tables.kept[segment, word]:
            value = floats_at(column + at[EXACT] + 4 * position, 1)[0]
            product = np.float64(weights[word]) * np.float64(value)
            lower += product
            upper += product
        else:
            code = bytes_at(column + at[CODES] + position, 1)[0]
            lower += bounds.lowers[segment, word, code]
            upper += bounds.uppers[segment, word, code]
    return lower, upper


@njit(cache=True, nogil=True)
def _may_be_found(tables, segment, position, by_id):
    mask = tables.masks[segment]
    if mask and not bytes_at(mask + position, 1)[0]:
        return False
    if not by_id:
        return True
    number = picture_id(tables, segment, position)
    return number < tables.by_id[1] and bytes_at(by_id + number, 1)[0] != 0
