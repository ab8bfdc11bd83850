"""Compiled loops over rows and columns; the NumPy expressions beside their calls say the same.

Products of 8-bit rows are sums of whole numbers, so that no order of adding changes them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import carray, njit, types  # type: ignore[attr-defined]
from numba.core import cgutils
from numba.extending import intrinsic

from visterm.index.codes import BLOCK, EXPONENT_BASE

_BASE = np.uint32(EXPONENT_BASE)
_ALL_BUT_SIGN = np.int32(0x7FFFFFFF)
_ROWS_IN_CACHE = 128
"""Rows that are multiplied by all words before the next are read."""


@intrinsic
def _bits_as_float(typing_context: Any, bits: Any = None) -> Any:
    """The float32 that 32 bits are."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.uint32), generate


@intrinsic
def _pointer(typing_context: Any, address: Any = None) -> Any:
    """An address as a pointer: the columns of a query are as many arrays as it has words."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(types.int64), generate


@njit(nogil=True, cache=True)
def add_up(
    start: Any,
    stop: Any,
    constants: Any,
    lengths: Any,
    columns: Any,
    weights: Any,
    lists: Any,
    list_weights: Any,
    mask: Any,
    leasts: Any,
    scores: Any,
    maxima: Any,
    counts: Any,
) -> None:
    """What `visterm.index.scan.Scan` says of the rows from ``start`` to ``stop``, block by block.

    Arrays that others made are given by their addresses, 0 for none: ``lengths``, ``mask``, in each
    row of ``columns`` a term's codes and table, and how many lengths that has a part for, and in
    each of ``lists`` positions and gains, and how many there are.
    """
    of_length = carray(_pointer(lengths), (stop,), np.uint8)
    is_allowed = carray(_pointer(mask), (stop,), np.uint8)
    at = np.zeros(len(lists), np.int64)
    for n in range(len(lists)):
        positions = carray(_pointer(lists[n, 0]), (lists[n, 2],), np.int64)
        at[n] = np.searchsorted(positions, start)
    for first in range(start, stop, BLOCK):
        last = min(first + BLOCK, stop)
        here = scores[first:last]
        here[:] = constants[0]
        if lengths and of_length[first:last].max() > 0:
            for i in range(here.size):
                here[i] = constants[of_length[first + i]]
        for n in range(len(columns)):
            codes = carray(_pointer(columns[n, 0]), (stop,), np.uint16)[first:last]
            weight, lengths_of_table = weights[n], columns[n, 2]
            table = carray(_pointer(columns[n, 1]), (lengths_of_table << 16,), np.float32)
            if not lengths_of_table:
                for i in range(here.size):
                    bits = (np.uint32(codes[i]) + _BASE) << np.uint32(12)
                    here[i] -= weight * _bits_as_float(bits)
            elif lengths_of_table > 1:
                for i in range(here.size):
                    place = np.int64(of_length[first + i]) << 16
                    here[i] += weight * table[place + codes[i]]
            else:
                for i in range(here.size):
                    here[i] += weight * table[codes[i]]
        for n in range(len(lists)):
            count = lists[n, 2]
            positions = carray(_pointer(lists[n, 0]), (count,), np.int64)
            gains = carray(_pointer(lists[n, 1]), (count,), np.float32)
            while at[n] < count and positions[at[n]] < last:
                scores[positions[at[n]]] += list_weights[n] * gains[at[n]]
                at[n] += 1
        if mask:
            for i in range(here.size):
                if not is_allowed[first + i]:
                    here[i] = -np.inf
        highest = maxima[first // BLOCK] = _highest(here.view(np.int32))
        for n in range(leasts.size):
            if highest >= leasts[n]:
                counts[n] += _count_from(here, leasts[n])


@njit(nogil=True, cache=True)
def _highest(bits: Any) -> Any:
    """The highest of some float32 numbers, given by their bits: as whole numbers that are in the
    same order they are compared many at a time."""
    highest = np.int32(-(1 << 31))
    for i in range(bits.size):
        highest = max(highest, bits[i] ^ ((bits[i] >> 31) & _ALL_BUT_SIGN))
    return _bits_as_float(np.uint32(highest ^ ((highest >> 31) & _ALL_BUT_SIGN)))


@njit(nogil=True, cache=True)
def _count_from(scores: Any, least: Any) -> Any:
    """``np.count_nonzero(scores >= least)``, of a block."""
    count = np.int32(0)
    for i in range(scores.size):
        count += np.int32(scores[i] >= least)
    return count


@njit(nogil=True, cache=True)
def dense_products(rows: Any, weights: Any, totals: Any) -> None:
    """``totals[:] = weights @ rows.T``, whole numbers that fit into 32 bits."""
    for first in range(0, rows.shape[0], _ROWS_IN_CACHE):
        stop = min(first + _ROWS_IN_CACHE, rows.shape[0])
        for word in range(weights.shape[0]):
            vector = weights[word]
            for i in range(first, stop):
                row = rows[i]
                total = np.int32(0)
                for j in range(row.size):
                    total += np.int32(row[j]) * np.int32(vector[j])
                totals[word, i] = total


@njit(nogil=True, cache=True)
def column_codes(
    rows: Any,
    scales: Any,
    weights: Any,
    units: Any,
    sums: Any,
    biases: Any,
    table: Any,
    steps: Any,
    codes: Any,
    begin: Any,
) -> None:
    """``codes[:, begin:] = odds_codes(biases + units * (low * sums + step * products))``, and
    every row is read once."""
    totals = np.empty((weights.shape[0], _ROWS_IN_CACHE), np.int32)
    middle = table.size // 2
    for first in range(0, rows.shape[0], _ROWS_IN_CACHE):
        stop = min(first + _ROWS_IN_CACHE, rows.shape[0])
        dense_products(rows[first:stop], weights, totals)
        for word in range(weights.shape[0]):
            for i in range(stop - first):
                low, step = np.float64(scales[first + i, 0]), np.float64(scales[first + i, 1])
                value = units[word] * (low * sums[word] + step * np.float64(totals[word, i]))
                place = np.rint((value + biases[word]) * steps) + middle
                place = min(max(place, 0.0), table.size - 1.0)
                codes[word, begin + first + i] = table[np.int64(place)]
