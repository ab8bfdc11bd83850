"""Bounds of scores, for the kernels: by codes, by blocks of pictures, and by sums of codes."""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs
from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from visterm.index._heap import full
from visterm.index._loops import bytes_at, doubles_at, floats_at
from visterm.index.layout import BLOCK, CODE_VALUES, FACTS

LOWS, HIGHS, TOPS, BOTTOMS, CODES, EXACT = range(6)
_NEAR = 6
"""Codes to both sides over which the slope of a word's bounds is taken."""


class ByCode(NamedTuple):
    """What a word adds to a score, at least and at most, by its code: segments × words × codes."""

    lowers: np.ndarray
    uppers: np.ndarray
    ranges: np.ndarray
    """The smallest and the largest code of each word: segments × words × 2."""


class Blocks(NamedTuple):
    """A bound of every block, segment after segment, and where each segment's begin and end."""

    scores: np.ndarray
    edges: np.ndarray


class Plan(NamedTuple):
    """Whole numbers by which the codes of each segment are multiplied and added up.

    A score is at most ``known + (sum - start) / unit``, but for roundings, which ``slack`` covers.
    """

    factors: np.ndarray
    start: np.ndarray
    unit: np.ndarray
    known: np.ndarray
    slack: np.ndarray


@njit(cache=True, nogil=True)
def by_code(tables, weights):
    """A product of two numbers of 32 bits is exact in 64, so these are bounds to the last bit."""
    shape = (tables.sizes.size, weights.size, CODE_VALUES)
    lowers, uppers = np.empty(shape), np.empty(shape)
    ranges = np.empty((tables.sizes.size, weights.size, 2), np.int64)
    for segment in range(tables.sizes.size):
        at = tables.places[segment]
        for word in range(weights.size):
            weight, column = np.float64(weights[word]), tables.columns[segment, word]
            lows = floats_at(column + at[LOWS], CODE_VALUES)
            highs = floats_at(column + at[HIGHS], CODE_VALUES)
            facts = doubles_at(column, FACTS)
            ranges[segment, word, 0], ranges[segment, word, 1] = int(facts[2]), int(facts[3])
            for code in range(CODE_VALUES):
                one, other = weight * np.float64(lows[code]), weight * np.float64(highs[code])
                lowers[segment, word, code] = min(one, other)
                uppers[segment, word, code] = max(one, other)
    return ByCode(lowers, uppers, ranges)


@njit(cache=True, nogil=True)
def block_bounds(tables, weights, adds, are_upper):
    """The upper bounds of blocks, or the lower ones, from what words add at most, or least."""
    edges = np.zeros(tables.sizes.size + 1, np.int64)
    for segment in range(tables.sizes.size):
        edges[segment + 1] = edges[segment] + (tables.sizes[segment] + BLOCK - 1) // BLOCK
    sums = np.zeros(edges[-1])
    for segment in range(tables.sizes.size):
        part = sums[edges[segment] : edges[segment + 1]]
        for word in range(weights.size):
            side = TOPS if (weights[word] > 0) == are_upper else BOTTOMS
            column = tables.columns[segment, word] + tables.places[segment, side]
            codes = bytes_at(column, part.size)
            by_code = adds[segment, word]
            for block in range(part.size):
                part[block] += by_code[codes[block]]
    return Blocks(sums.astype(np.float32), edges)


@njit(cache=True, nogil=True)
def plan_sums(bounds, usual, room):
    """Choose, per segment, factors whose absolute values add up to at most ``room``.

    They follow the upper bounds near what each word adds to the scores of the best pictures, as
    ``usual`` says. Whatever they are, the sum is a bound: the constant is taken over all codes.
    """
    segments, words, _ = bounds.uppers.shape
    factors = np.zeros((segments, words), np.int64)
    start = np.zeros(segments, np.int64)
    unit, known, slack = np.zeros(segments), np.zeros(segments), np.zeros(segments)
    slopes = np.zeros(words)
    for segment in range(segments):
        size = 0.0
        for word in range(words):
            low, high = bounds.ranges[segment, word]
            most = bounds.uppers[segment, word]
            slopes[word] = _slope(most, low, high, usual[word])
            size += max(abs(most[low]), abs(most[high]))
        spread = np.abs(slopes).sum()
        unit[segment] = (room - words) / spread if spread > 0.0 else 1.0
        for word in range(words):
            low, high = bounds.ranges[segment, word]
            most = bounds.uppers[segment, word]
            factor = int(np.rint(slopes[word] * unit[segment]))
            rise = factor / unit[segment]
            rest = -np.inf
            for code in range(low, high + 1):
                rest = max(rest, most[code] - rise * code)
            known[segment] += rest
            factors[segment, word] = factor
            # Sums begin where no negative factor can bring them under zero.
            start[segment] += 255 * max(0, -factor)
        # Double precision loses some 2^-53 of each of a few numbers a word; 2^-48 is generous.
        size += 255 * spread
        slack[segment] = unit[segment] * size * (words + 16) * 2.0**-48 + 0.01
    return Plan(factors, start, unit, known, slack)


@njit(cache=True, nogil=True)
def _slope(most, low, high, usual):
    """How much a word's bound rises with its code, where it is about as usual."""
    nearest = low
    for code in range(low, high + 1):
        if abs(most[code] - usual) < abs(most[nearest] - usual):
            nearest = code
    first, last = max(low, nearest - _NEAR), min(high, nearest + _NEAR)
    return (most[last] - most[first]) / (last - first) if last > first else 0.0


@njit(cache=True, nogil=True)
def bar(plan, heap, segment):
    """The smallest sum of codes with which a picture of the segment may still enter."""
    if not full(heap):
        return 0
    # The score was rounded to float32: what is above the next lower float32 might round to it.
    worst = np.float64(np.nextafter(heap.scores[0], np.float32(-np.inf)))
    needed = plan.unit[segment] * (worst - plan.known[segment]) - plan.slack[segment]
    return int(np.floor(min(max(plan.start[segment] + needed, 0.0), 2.0**40)))
