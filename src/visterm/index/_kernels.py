"""The scan: bounds of blocks, then 8-bit codes, then exact values, each only where still needed.

Why nothing is lost:

* A block's bound adds ``weight * highest value`` (``lowest`` for negative weights) in the order and
  precision of the score. Rounding keeps order, so the bound is never below a score in the block.
* A code's bound is a whole number: ``sum(multiplier * code)``, where the multipliers are the
  weights times the step of the codes in some unit, rounded up. What codes and roundings leave
  unknown is added to it once, as a constant of the segment.
* What may still enter is scored by the definition, and the worst of the best ``k`` so far is the
  bar for the rest. A score equal to the bar enters if its id is smaller.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import carray, njit, types  # type: ignore[attr-defined]
from numba.extending import intrinsic

from visterm.index import score as definition
from visterm.index.layout import BLOCK, FACTS

_score = njit(cache=True, nogil=True)(definition.score)

_FIRST = 16
"""Blocks with the highest bounds are scanned before the others, for a high bar from the start."""


class Plan(NamedTuple):
    """How the codes of each segment add up: see the module's second point."""

    multipliers: np.ndarray
    start: np.ndarray
    unit: np.ndarray
    known: np.ndarray
    slack: np.ndarray


class Heap(NamedTuple):
    """The best pictures so far, the worst of them first; ``counts`` holds how many they are, how
    many blocks were scanned and how many pictures scored."""

    scores: np.ndarray
    ids: np.ndarray
    counts: np.ndarray


def _pointer_to(kind):
    @intrinsic
    def pointer(_, address):
        def generate(context, builder, signature, arguments):
            target = context.get_value_type(signature.return_type)
            return builder.inttoptr(arguments[0], target)

        return types.CPointer(kind)(types.int64), generate

    return pointer


_byte_pointer = _pointer_to(types.uint8)
_float_pointer = _pointer_to(types.float32)
_double_pointer = _pointer_to(types.float64)
_integer_pointer = _pointer_to(types.int64)


@njit(cache=True, nogil=True)
def find(tables, weights, k, sums, skip):
    """The ``k`` best pictures of some segments, in no order, and what was read to find them.

    ``sums`` is room for one block of sums; its type is that of the sums. ``skip=False`` scans every
    block, for measuring.
    """
    heap = Heap(np.empty(k, np.float32), np.empty(k, np.int64), np.zeros(3, np.int64))
    bounds, owners, numbers = _bounds(tables, weights)
    plan = _plan(tables, weights, np.iinfo(sums.dtype).max // 255)
    for place in _highest(bounds, _FIRST):
        _scan(tables, weights, plan, heap, owners[place], numbers[place], sums)
        owners[place] = -1
    for place in range(bounds.size):
        segment, block = owners[place], numbers[place]
        if segment < 0:
            continue
        if skip and _too_low(heap, bounds[place], _id(tables, segment, block * BLOCK)):
            continue
        _scan(tables, weights, plan, heap, segment, block, sums)
    size = heap.counts[0]
    return heap.ids[:size], heap.scores[:size], heap.counts


@njit(cache=True, nogil=True)
def _bounds(tables, weights):
    """The bound of every block of every segment, and which block that is."""
    total = 0
    for size in tables.sizes:
        total += (size + BLOCK - 1) // BLOCK
    bounds = np.empty(total, np.float32)
    owners = np.empty(total, np.int64)
    numbers = np.empty(total, np.int64)
    first = 0
    for segment in range(tables.sizes.size):
        count = (tables.sizes[segment] + BLOCK - 1) // BLOCK
        sums = np.zeros(count)
        for word in range(weights.size):
            weight = np.float64(weights[word])
            side = tables.places[segment, 0 if weight > 0 else 1]
            edges = carray(_float_pointer(tables.columns[segment, word] + side), (count,))
            for block in range(count):
                sums[block] += weight * np.float64(edges[block])
        for block in range(count):
            bounds[first + block] = sums[block]
            owners[first + block] = segment
            numbers[first + block] = block
        first += count
    return bounds, owners, numbers


@njit(cache=True, nogil=True)
def _plan(tables, weights, room):
    """Choose, per segment, multipliers whose absolute values add up to at most ``room``."""
    segments, words = tables.sizes.size, weights.size
    multipliers = np.zeros((segments, words), np.int64)
    start = np.zeros(segments, np.int64)
    unit, known, slack = np.zeros(segments), np.zeros(segments), np.zeros(segments)
    for segment in range(segments):
        spread = 0.0
        size = 0.0
        for word in range(words):
            weight = np.float64(weights[word])
            facts = carray(_double_pointer(tables.columns[segment, word]), (FACTS,))
            low, step, below, above, largest = facts[0], facts[1], facts[2], facts[3], facts[4]
            known[segment] += weight * low + max(weight * below, weight * above)
            spread += abs(weight) * step
            size += abs(weight) * largest
        if spread == 0.0:
            continue
        unit[segment] = (room - words) / spread
        # Double precision loses some 2^-53 of each of a few numbers a word; 2^-50 is generous.
        slack[segment] = unit[segment] * size * (words + 16) * 2.0**-50 + 0.01
        for word in range(words):
            step = carray(_double_pointer(tables.columns[segment, word]), (FACTS,))[1]
            multiplier = int(np.ceil(np.float64(weights[word]) * step * unit[segment]))
            multipliers[segment, word] = multiplier
            # Sums begin where no negative multiplier can bring them under zero.
            start[segment] += 255 * max(0, -multiplier)
    return Plan(multipliers, start, unit, known, slack)


@njit(cache=True, nogil=True)
def _bar(plan, heap, segment):
    """The smallest sum of codes with which a picture of the segment may still enter."""
    if heap.counts[0] < heap.ids.size or plan.unit[segment] == 0.0:
        return 0
    # The score was rounded to float32: what is above the next lower float32 might round to it.
    worst = np.float64(np.nextafter(heap.scores[0], np.float32(-np.inf)))
    needed = plan.unit[segment] * (worst - plan.known[segment]) - plan.slack[segment]
    return int(np.floor(min(max(plan.start[segment] + needed, 0.0), 2.0**40)))


@njit(cache=True, nogil=True)
def _scan(tables, weights, plan, heap, segment, block, sums):
    """Look at one block: sum its codes, and score what may enter."""
    first = block * BLOCK
    count = min(BLOCK, tables.sizes[segment] - first)
    heap.counts[1] += 1
    bar = _bar(plan, heap, segment)
    highest = _sum_codes(tables, plan, segment, first, count, sums, bar)
    if highest < bar:
        return
    values = np.empty(weights.size, np.float32)
    for place in range(count):
        if sums[place] < bar:
            continue
        position = first + place
        if (
            tables.masks[segment]
            and not carray(_byte_pointer(tables.masks[segment] + position), (1,))[0]
        ):
            continue
        for word in range(weights.size):
            exact = tables.columns[segment, word] + tables.places[segment, 3]
            values[word] = carray(_float_pointer(exact + 4 * position), (1,))[0]
        heap.counts[2] += 1
        if _enter(heap, _score(weights, values), _id(tables, segment, position)):
            bar = _bar(plan, heap, segment)


@njit(cache=True, nogil=True)
def _sum_codes(tables, plan, segment, first, count, sums, bar):
    """Fill ``sums`` and return the highest; a lone word that cannot reach the bar is not summed."""
    kind = sums.dtype.type
    words = tables.columns.shape[1]
    at = tables.columns[segment] + (tables.places[segment, 2] + first)
    factors = plan.multipliers[segment]
    start = kind(plan.start[segment])
    one = carray(_byte_pointer(at[0]), (count,))
    if words == 1:
        reach = _largest(one) if factors[0] > 0 else _smallest(one)
        highest = plan.start[segment] + factors[0] * reach
        if highest >= bar:
            _begin(sums, start, one, kind(factors[0]))
        return highest
    done = 2 - words % 2
    if done == 1:
        _begin(sums, start, one, kind(factors[0]))
    else:
        two = carray(_byte_pointer(at[1]), (count,))
        _begin_two(sums, start, one, kind(factors[0]), two, kind(factors[1]))
    for word in range(done, words, 2):
        one = carray(_byte_pointer(at[word]), (count,))
        two = carray(_byte_pointer(at[word + 1]), (count,))
        _add_two(sums, one, kind(factors[word]), two, kind(factors[word + 1]))
    return int(_largest(sums[:count]))


# Short loops that the compiler turns into vector instructions. Sums wrap around while they are
# made, which is harmless: the whole sum fits.


@njit(cache=True, nogil=True)
def _begin(sums, start, one, factor):
    for place in range(one.size):
        sums[place] = start + factor * one[place]


@njit(cache=True, nogil=True)
def _begin_two(sums, start, one, factor, two, second):
    for place in range(one.size):
        sums[place] = start + factor * one[place] + second * two[place]


@njit(cache=True, nogil=True)
def _add_two(sums, one, factor, two, second):
    for place in range(one.size):
        sums[place] = sums[place] + factor * one[place] + second * two[place]


@njit(cache=True, nogil=True)
def _largest(numbers):
    largest = numbers[0]
    for place in range(numbers.size):
        largest = max(largest, numbers[place])
    return largest


@njit(cache=True, nogil=True)
def _smallest(numbers):
    smallest = numbers[0]
    for place in range(numbers.size):
        smallest = min(smallest, numbers[place])
    return smallest


@njit(cache=True, nogil=True)
def _id(tables, segment, position):
    if tables.ids[segment]:
        return carray(_integer_pointer(tables.ids[segment] + 8 * position), (1,))[0]
    return tables.first_ids[segment] + position


@njit(cache=True, nogil=True)
def _worse(score, number, other, other_number):
    return score < other or (score == other and number > other_number)


@njit(cache=True, nogil=True)
def _too_low(heap, bound, smallest_id):
    """Whether no picture with such a bound, and no smaller id, can enter."""
    if heap.counts[0] < heap.ids.size:
        return False
    return _worse(bound, smallest_id, heap.scores[0], heap.ids[0])


@njit(cache=True, nogil=True)
def _enter(heap, score, number):
    """Put a picture among the best, if it is; says whether the bar may have changed."""
    scores, ids, size = heap.scores, heap.ids, heap.counts[0]
    if size == ids.size:
        if _worse(score, number, scores[0], ids[0]):
            return False
        _sink(scores, ids, size, score, number)
        return True
    place = size
    while place > 0:
        above = (place - 1) // 2
        if not _worse(score, number, scores[above], ids[above]):
            break
        scores[place], ids[place] = scores[above], ids[above]
        place = above
    scores[place], ids[place] = score, number
    heap.counts[0] = size + 1
    return size + 1 == ids.size


@njit(cache=True, nogil=True)
def _sink(scores, ids, size, score, number):
    """Put a picture in the place of the worst."""
    place = 0
    while 2 * place + 1 < size:
        below = 2 * place + 1
        right = below + 1
        if right < size and _worse(scores[right], ids[right], scores[below], ids[below]):
            below = right
        if not _worse(scores[below], ids[below], score, number):
            break
        scores[place], ids[place] = scores[below], ids[below]
        place = below
    scores[place], ids[place] = score, number


@njit(cache=True, nogil=True)
def _highest(bounds, count):
    """The places of the highest bounds, the highest first, smaller places first among equals."""
    count = min(count, bounds.size)
    chosen = np.empty(count, np.int64)
    size = 0
    for place in range(bounds.size):
        if size == count and bounds[place] <= bounds[chosen[size - 1]]:
            continue
        if size < count:
            size += 1
        slot = size - 1
        while slot > 0 and bounds[chosen[slot - 1]] < bounds[place]:
            chosen[slot] = chosen[slot - 1]
            slot -= 1
        chosen[slot] = place
    return chosen
