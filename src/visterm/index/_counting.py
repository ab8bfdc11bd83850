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
def count_from(tables, weights, least, are_listed, share, shares):
    """How many pictures surely have a score of ``least`` or more, and the ids of who else may.

    ``are_listed`` has none counted: the ids are those of all who may. Of the blocks of every
    segment one ``share`` of so many is looked at, so that threads can take one each.
    """
    bounds = by_code(tables, weights)
    highest = block_bounds(tables, weights, bounds.uppers, True)
    lowest = block_bounds(tables, weights, bounds.lowers, False)
    lowers, uppers = np.empty(BLOCK), np.empty(BLOCK)
    unsure = np.empty(_ROOM, np.int64)
    sure = many = 0
    for segment in range(tables.sizes.size):
        begin, end = highest.edges[segment], highest.edges[segment + 1]
        by_id = 0 if tables.is_rising[segment] else tables.by_id[0]
        is_free = tables.masks[segment] == 0 and by_id == 0
        from_block = begin + (end - begin) * share // shares
        for block in range(from_block, begin + (end - begin) * (share + 1) // shares):
            if highest.scores[block] < least:
                continue
            first = (block - begin) * BLOCK
            count = min(BLOCK, tables.sizes[segment] - first)
            if is_free and not are_listed and lowest.scores[block] >= least:
                sure += count
                continue
            if many + BLOCK > unsure.size:
                unsure = np.concatenate((unsure, np.empty(unsure.size, np.int64)))
            _fill_between(tables, weights, bounds, segment, first, lowers[:count], uppers[:count])
            for place in range(count):
                if np.float32(uppers[place]) < least:
                    continue
                if not _may_be_found(tables, segment, first + place, by_id):
                    continue
                if np.float32(lowers[place]) >= least and not are_listed:
                    sure += 1
                else:
                    unsure[many] = picture_id(tables, segment, first + place)
                    many += 1
    return sure, unsure[:many]


@njit(cache=True, nogil=True)
def _fill_between(tables, weights, bounds, segment, first, lowers, uppers):
    """Between which sums the scores of some pictures are; both are it of exact values."""
    at = tables.places[segment]
    lowers[:] = 0.0
    uppers[:] = 0.0
    for word in range(weights.size):
        column = tables.columns[segment, word]
        if tables.kept[segment, word]:
            weight = np.float64(weights[word])
            values = floats_at(column + at[EXACT] + 4 * first, lowers.size)
            for place in range(lowers.size):
                product = weight * np.float64(values[place])
                lowers[place] += product
                uppers[place] += product
        else:
            codes = bytes_at(column + at[CODES] + first, lowers.size)
            lows, highs = bounds.lowers[segment, word], bounds.uppers[segment, word]
            for place in range(lowers.size):
                lowers[place] += lows[codes[place]]
                uppers[place] += highs[codes[place]]


@njit(cache=True, nogil=True)
def _may_be_found(tables, segment, position, by_id):
    mask = tables.masks[segment]
    if mask and not bytes_at(mask + position, 1)[0]:
        return False
    if not by_id:
        return True
    number = picture_id(tables, segment, position)
    return number < tables.by_id[1] and bytes_at(by_id + number, 1)[0] != 0
