"""The scan: bounds of blocks, then 8-bit codes, then exact values, each only where still needed.

Why nothing is lost:

* A block's bound adds ``weight * highest value`` (``lowest`` for negative weights) in the order and
  precision of the score. Rounding keeps order, so the bound is never below a score in the block.
* A code's bound is a whole number: ``sum(factor * code)``, where the factors are the weights times
  the step of the codes in some unit, rounded up. What codes and roundings leave unknown is added to
  it once, as a constant of the segment.
* What may still enter is scored by the definition, and the worst of the best ``k`` so far is the
  bar for the rest. A score equal to the bar enters if its id is smaller.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs
from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from visterm.index import score as definition
from visterm.index._heap import enter, full, new_heap
from visterm.index._loops import (
    bytes_at,
    doubles_at,
    floats_at,
    integers_at,
    largest,
    smallest,
    sum_codes,
)
from visterm.index.layout import BLOCK, FACTS

_score = njit(cache=True, nogil=True)(definition.score)

_FIRST = 16
"""Blocks with the highest bounds are scanned before the others, for a high bar from the start."""


class Plan(NamedTuple):
    """How the codes of each segment add up: see the module's second point."""

    codes: np.ndarray
    factors: np.ndarray
    start: np.ndarray
    unit: np.ndarray
    known: np.ndarray
    slack: np.ndarray


@njit(cache=True, nogil=True)
def find(tables, weights, k, sums, skip):
    """The ``k`` best pictures of some segments, in no order, and what was read to find them.

    ``sums`` is room for one block of sums; its type is that of the sums. ``skip=False`` scans every
    block, for measuring. What was read: blocks scanned, pictures scored.
    """
    heap = new_heap(k)
    bounds, owners, firsts = _bounds(tables, weights)
    plan = _plan(tables, weights, np.iinfo(sums.dtype).max // 255)
    codes, factors, start = (
        plan.codes,
        plan.factors.astype(sums.dtype),
        plan.start.astype(sums.dtype),
    )
    bars = np.zeros(tables.sizes.size, np.int64)
    worst = np.float32(-np.inf)
    scanned = scored = 0
    for place in _order(bounds):
        # Most blocks end here, so this line reads nothing but two numbers.
        if skip and bounds[place] < worst:
            continue
        segment, first = owners[place], firsts[place]
        if skip and bounds[place] == worst and _comes_later(tables, heap, segment, first):
            continue
        scanned += 1
        count = min(BLOCK, tables.sizes[segment] - first)
        if weights.size == 1 and bars[segment] > _best_sum(
            codes[segment, 0] + first, count, plan.factors[segment, 0], plan.start[segment]
        ):
            continue
        if bars[segment] <= sum_codes(
            codes[segment], factors[segment], start[segment], first, count, sums
        ):
            scored += _enter_block(tables, weights, plan, heap, segment, first, sums[:count])
            if full(heap):
                worst = heap.scores[0]
                for other in range(bars.size):
                    bars[other] = _bar(plan, heap, other)
    size = heap.size[0]
    return heap.ids[:size], heap.scores[:size], np.array([scanned, scored])


@njit(cache=True, nogil=True)
def _bounds(tables, weights):
    """The bound of every block, its segment, and the position of its first picture."""
    total = 0
    for size in tables.sizes:
        total += (size + BLOCK - 1) // BLOCK
    sums = np.zeros(total)
    owners = np.empty(total, np.int32)
    firsts = np.empty(total, np.int32)
    begin = 0
    for segment in range(tables.sizes.size):
        count = (tables.sizes[segment] + BLOCK - 1) // BLOCK
        part = sums[begin : begin + count]
        owners[begin : begin + count] = segment
        firsts[begin : begin + count] = np.arange(count) * BLOCK
        for word in range(weights.size):
            weight = np.float64(weights[word])
            side = tables.places[segment, 0 if weight > 0 else 1]
            edges = floats_at(tables.columns[segment, word] + side, count)
            for block in range(count):
                part[block] += weight * np.float64(edges[block])
        begin += count
    return sums.astype(np.float32), owners, firsts


@njit(cache=True, nogil=True)
def _order(bounds):
    """All blocks: those with the highest bounds, highest first, then the others as they lie."""
    chosen = np.empty(bounds.size, np.int64)
    size = 0
    for place in range(bounds.size):
        if size == _FIRST and bounds[place] <= bounds[chosen[size - 1]]:
            continue
        size = min(size + 1, _FIRST)
        slot = size - 1
        while slot > 0 and bounds[chosen[slot - 1]] < bounds[place]:
            chosen[slot] = chosen[slot - 1]
            slot -= 1
        chosen[slot] = place
    early = np.zeros(bounds.size, np.bool_)
    early[chosen[:size]] = True
    for place in range(bounds.size):
        if not early[place]:
            chosen[size] = place
            size += 1
    return chosen


@njit(cache=True, nogil=True)
def _plan(tables, weights, room):
    """Choose, per segment, factors whose absolute values add up to at most ``room``."""
    segments, words = tables.sizes.size, weights.size
    codes = tables.columns + tables.places[:, 2:3]
    factors = np.zeros((segments, words), np.int64)
    start = np.zeros(segments, np.int64)
    unit, known, slack = np.zeros(segments), np.zeros(segments), np.zeros(segments)
    for segment in range(segments):
        spread = 0.0
        size = 0.0
        for word in range(words):
            weight = np.float64(weights[word])
            facts = doubles_at(tables.columns[segment, word], FACTS)
            low, step, below, above, greatest = facts[0], facts[1], facts[2], facts[3], facts[4]
            known[segment] += weight * low + max(weight * below, weight * above)
            spread += abs(weight) * step
            size += abs(weight) * greatest
        if spread == 0.0:
            continue
        unit[segment] = (room - words) / spread
        # Double precision loses some 2^-53 of each of a few numbers a word; 2^-50 is generous.
        slack[segment] = unit[segment] * size * (words + 16) * 2.0**-50 + 0.01
        for word in range(words):
            step = doubles_at(tables.columns[segment, word], FACTS)[1]
            factor = int(np.ceil(np.float64(weights[word]) * step * unit[segment]))
            factors[segment, word] = factor
            # Sums begin where no negative factor can bring them under zero.
            start[segment] += 255 * max(0, -factor)
    return Plan(codes, factors, start, unit, known, slack)


@njit(cache=True, nogil=True)
def _bar(plan, heap, segment):
    """The smallest sum of codes with which a picture of the segment may still enter."""
    if not full(heap) or plan.unit[segment] == 0.0:
        return 0
    # The score was rounded to float32: what is above the next lower float32 might round to it.
    worst = np.float64(np.nextafter(heap.scores[0], np.float32(-np.inf)))
    needed = plan.unit[segment] * (worst - plan.known[segment]) - plan.slack[segment]
    return int(np.floor(min(max(plan.start[segment] + needed, 0.0), 2.0**40)))


@njit(cache=True, nogil=True)
def _comes_later(tables, heap, segment, first):
    """Whether a block's pictures would lose a tie; its first one has the smallest id."""
    return full(heap) and _id(tables, segment, first) > heap.ids[0]


@njit(cache=True, nogil=True)
def _best_sum(codes, count, factor, start):
    """The largest sum that the codes of a lone word give, without adding any up."""
    best = largest(bytes_at(codes, count)) if factor > 0 else smallest(bytes_at(codes, count))
    return start + factor * best


@njit(cache=True, nogil=True)
def _enter_block(tables, weights, plan, heap, segment, first, sums):
    """Score the pictures of a block whose sums reach the bar; returns how many."""
    bar = _bar(plan, heap, segment)
    mask = tables.masks[segment]
    exact = tables.columns[segment] + tables.places[segment, 3]
    values = np.empty(weights.size, np.float32)
    scored = 0
    for place in range(sums.size):
        position = first + place
        if sums[place] < bar or (mask and not bytes_at(mask + position, 1)[0]):
            continue
        for word in range(weights.size):
            values[word] = floats_at(exact[word] + 4 * position, 1)[0]
        scored += 1
        if enter(heap, _score(weights, values), _id(tables, segment, position)):
            bar = _bar(plan, heap, segment)
    return scored


@njit(cache=True, nogil=True)
def _id(tables, segment, position):
    if tables.ids[segment]:
        return integers_at(tables.ids[segment] + 8 * position, 1)[0]
    return tables.first_ids[segment] + position
