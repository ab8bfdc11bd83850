"""The scan: bounds of blocks, then 8-bit codes, then what codes bound, each only where needed.

Why nothing is lost:

* By its code a value lies between two numbers (`layout`). Their products with the weight, added up
  in the order and precision of the score, are never below (or above) the score: rounding keeps
  order. A block's bound is that of its highest codes (lowest, for negative weights).
* A sum of codes is a whole number, ``sum(factor * code)``. For any factors a constant can be found
  that makes it a bound of what the codes bound (`plan_sums`); factors that follow the bounds near
  the codes of the best pictures make it a close one.
* What may still enter is scored by the definition where exact values are at hand; the worst of the
  best ``k`` so far is the bar for the rest, and a score equal to it enters if its id is smaller.
  Where they are not, lower bounds make the bar, and whoever has an upper bound that reaches it is a
  candidate.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs
from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from visterm.index import score as definition
from visterm.index._bounds import CODES, EXACT, bar, block_bounds, by_code, plan_sums
from visterm.index._heap import enter, full, new_heap
from visterm.index._loops import (
    bytes_at,
    floats_at,
    integers_at,
    largest,
    smallest,
    sum_codes,
)
from visterm.index.layout import BLOCK

_score = njit(cache=True, nogil=True)(definition.score)

_FIRST = 16
"""Blocks with the highest bounds are scanned before the others, for a high bar from the start."""
_MEMORY = 0.1
"""How much a picture that enters changes what is usual for the best ones."""


class Candidates(NamedTuple):
    """Pictures that may be among the best, and between which scores they are."""

    ids: np.ndarray
    lowers: np.ndarray
    uppers: np.ndarray
    size: np.ndarray


@njit(cache=True, nogil=True)
def find(tables, weights, k, sums, skip):
    """The ``k`` best pictures of some segments, in no order, or all that may be among them.

    Returns ids, lower and upper bounds of their scores (both are the score where exact values are
    at hand), and what was read: blocks scanned, pictures scored. ``sums`` is room for the sums of
    several blocks; its type is that of the sums. ``skip=False`` scans every block, for measuring.
    """
    heap = new_heap(k)
    exact = tables.kept.all()
    found = _room(0 if exact else 2 * k + 2 * sums.size)
    bounds = by_code(tables, weights)
    blocks = block_bounds(tables, weights, bounds.uppers, True)
    usual = _highest(bounds)
    room = np.iinfo(sums.dtype).max // 255
    counts = np.zeros(2, np.int64)
    first = _first(blocks.scores)
    for is_first in (True, False):
        order = first if is_first else _others(blocks.scores, first, heap, skip)
        plan = plan_sums(bounds, usual, room)
        done = 0
        while done < order.size:
            found = _with_room(found, heap, sums.size)
            some = order[done:]
            done += _scan(
                tables, weights, bounds, blocks, plan, heap, found, usual, some, sums, skip, counts
            )
    if exact:
        size = heap.size[0]
        return heap.ids[:size], heap.scores[:size], heap.scores[:size], counts
    _keep(found, heap)
    size = found.size[0]
    return found.ids[:size], found.lowers[:size], found.uppers[:size], counts


@njit(cache=True, nogil=True)
def _scan(tables, weights, bounds, blocks, plan, heap, found, usual, order, sums, skip, counts):
    """Take in what some blocks hold, neighbours together, for as long as there is room.

    Returns how many blocks it came to.
    """
    kind = sums.dtype.type
    factors, start = plan.factors.astype(kind), plan.start.astype(kind)
    codes = tables.columns + tables.places[:, CODES : CODES + 1]
    exact = found.ids.size == 0
    many = sums.size // BLOCK
    values = np.empty(weights.size, np.float32)
    bars = np.zeros(tables.sizes.size, np.int64)
    _raise(bars, plan, heap)
    worst = heap.scores[0] if full(heap) else np.float32(-np.inf)
    number = 0
    while number < order.size:
        place = order[number]
        number += 1
        # Most blocks end here, so this line reads nothing but two numbers.
        if skip and blocks.scores[place] < worst:
            continue
        segment = 0
        while blocks.edges[segment + 1] <= place:
            segment += 1
        first = (place - blocks.edges[segment]) * BLOCK
        is_level = exact and blocks.scores[place] == worst
        if skip and is_level and _comes_later(tables, heap, segment, first):
            continue
        if not exact and found.size[0] + sums.size > found.ids.size:
            return number - 1
        together = 1
        while together < many and number < order.size:
            other = order[number]
            if other != place + together or other >= blocks.edges[segment + 1]:
                break
            if skip and blocks.scores[other] < worst:
                break
            together += 1
            number += 1
        counts[0] += together
        count = min(together * BLOCK, tables.sizes[segment] - first)
        if weights.size == 1 and bars[segment] > _best_sum(
            codes[segment, 0] + first, count, plan.factors[segment, 0], plan.start[segment]
        ):
            continue
        if bars[segment] > sum_codes(
            codes[segment], factors[segment], start[segment], first, count, sums
        ):
            continue
        counts[1] += _enter_block(
            tables, weights, bounds, plan, heap, found, usual, values, segment, first, sums[:count]
        )
        if full(heap):
            worst = heap.scores[0]
            _raise(bars, plan, heap)
    return number


@njit(cache=True, nogil=True)
def _highest(bounds):
    """What each word adds at most."""
    segments, words, _ = bounds.uppers.shape
    found = np.full(words, -np.inf)
    for segment in range(segments):
        for word in range(words):
            for code in bounds.ranges[segment, word]:
                found[word] = max(found[word], bounds.uppers[segment, word, code])
    return found


@njit(cache=True, nogil=True)
def _first(bounds):
    """The blocks with the highest bounds, highest first."""
    chosen = np.empty(min(_FIRST, bounds.size), np.int64)
    size = 0
    least = np.float32(-np.inf)
    for place in range(bounds.size):
        if size == _FIRST and bounds[place] <= least:
            continue
        size = min(size + 1, _FIRST)
        slot = size - 1
        while slot > 0 and bounds[chosen[slot - 1]] < bounds[place]:
            chosen[slot] = chosen[slot - 1]
            slot -= 1
        chosen[slot] = place
        least = bounds[chosen[size - 1]]
    return chosen


@njit(cache=True, nogil=True)
def _others(bounds, first, heap, skip):
    """The other blocks that may hold one of the best, as they lie."""
    worst = heap.scores[0] if skip and full(heap) else np.float32(-np.inf)
    chosen = np.empty(bounds.size, np.int64)
    size = 0
    for place in range(bounds.size):
        # Written whether it counts or not, so that nothing has to be foreseen.
        chosen[size] = place
        size += bounds[place] >= worst
    kept = chosen[:size]
    is_new = np.ones(size, np.bool_)
    at = np.searchsorted(kept, first)
    for number in range(first.size):
        if at[number] < size and kept[at[number]] == first[number]:
            is_new[at[number]] = False
    return kept[is_new]


@njit(cache=True, nogil=True)
def _raise(bars, plan, heap):
    for segment in range(bars.size):
        bars[segment] = bar(plan, heap, segment)


@njit(cache=True, nogil=True)
def _comes_later(tables, heap, segment, first):
    """Whether a block's pictures would lose a tie: where ids ascend, its first is the smallest."""
    rising = tables.is_rising[segment]
    return rising and full(heap) and picture_id(tables, segment, first) > heap.ids[0]


@njit(cache=True, nogil=True)
def _best_sum(codes, count, factor, start):
    """The largest sum that the codes of a lone word give, without adding any up."""
    best = largest(bytes_at(codes, count)) if factor > 0 else smallest(bytes_at(codes, count))
    return start + factor * best


@njit(cache=True, nogil=True, inline="always")
def _enter_block(tables, weights, bounds, plan, heap, found, usual, values, segment, first, sums):
    """Take in the pictures of a block whose sums reach the bar; returns how many were scored."""
    least = bar(plan, heap, segment)
    mask = tables.masks[segment]
    by_id = 0 if tables.is_rising[segment] else tables.by_id[0]
    at = tables.places[segment]
    exact = tables.kept[segment].all()
    scored = 0
    for place in range(sums.size):
        position = first + place
        if sums[place] < least or (mask and not bytes_at(mask + position, 1)[0]):
            continue
        number = picture_id(tables, segment, position)
        if by_id and (number >= tables.by_id[1] or not bytes_at(by_id + number, 1)[0]):
            continue
        lower = upper = 0.0
        for word in range(weights.size):
            column = tables.columns[segment, word]
            code = bytes_at(column + at[CODES] + position, 1)[0]
            lower += bounds.lowers[segment, word, code]
            upper += bounds.uppers[segment, word, code]
        if full(heap) and np.float32(upper) < heap.scores[0]:
            continue
        scored += 1
        if exact:
            for word in range(weights.size):
                column = tables.columns[segment, word]
                values[word] = floats_at(column + at[EXACT] + 4 * position, 1)[0]
            score = _score(weights, values)
            lower = upper = np.float64(score)
        if found.ids.size:
            _note(found, number, lower, upper)
        if enter(heap, np.float32(lower), number):
            least = bar(plan, heap, segment)
            for word in range(weights.size):
                code = bytes_at(tables.columns[segment, word] + at[CODES] + position, 1)[0]
                usual[word] += _MEMORY * (bounds.uppers[segment, word, code] - usual[word])
    return scored


@njit(cache=True, nogil=True)
def picture_id(tables, segment, position):
    if tables.ids[segment]:
        return integers_at(tables.ids[segment] + 8 * position, 1)[0]
    return tables.first_ids[segment] + position


# Candidates.


@njit(cache=True, nogil=True)
def _room(size):
    scores = np.empty((2, size), np.float32)
    return Candidates(np.empty(size, np.int64), scores[0], scores[1], np.zeros(1, np.int64))


@njit(cache=True, nogil=True)
def _with_room(found, heap, count):
    """The same candidates, but those that cannot be among the best, with room for some more."""
    if found.size[0] + count <= found.ids.size or not found.ids.size:
        return found
    _keep(found, heap)
    if found.size[0] + 2 * count <= found.ids.size:
        return found
    more = _room(2 * found.ids.size)
    size = found.size[0]
    more.ids[:size] = found.ids[:size]
    more.lowers[:size] = found.lowers[:size]
    more.uppers[:size] = found.uppers[:size]
    more.size[0] = size
    return more


@njit(cache=True, nogil=True)
def _note(found, number, lower, upper):
    place = found.size[0]
    found.ids[place] = number
    found.lowers[place], found.uppers[place] = np.float32(lower), np.float32(upper)
    found.size[0] = place + 1


@njit(cache=True, nogil=True)
def _keep(found, heap):
    """Drop candidates that cannot be among the best."""
    worst = heap.scores[0] if full(heap) else np.float32(-np.inf)
    kept = 0
    for place in range(found.size[0]):
        if found.uppers[place] >= worst:
            found.ids[kept] = found.ids[place]
            found.lowers[kept], found.uppers[kept] = found.lowers[place], found.uppers[place]
            kept += 1
    found.size[0] = kept
