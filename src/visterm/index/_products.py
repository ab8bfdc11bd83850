"""Products of many rows with one vector, as fast as the rows can be read; and in a fixed order."""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs
from __future__ import annotations

import numpy as np
from numba import njit

from visterm.index._loops import prefetch_row

# The order of additions is free: whoever asks bounds the error of any order.
_FREE = {"contract", "reassoc", "nsz"}


@njit(cache=True, nogil=True, fastmath=_FREE)
def products(rows, vector):
    """``rows @ vector`` in single precision; on rows of a hundred numbers faster than BLAS."""
    n, d = rows.shape
    found = np.empty(n, np.float32)
    for i in range(n):
        total = np.float32(0)
        for j in range(d):
            total += rows[i, j] * vector[j]
        found[i] = total
    return found


@njit(cache=True, nogil=True)
def lane_products(vectors, weights, found):
    """Products by sixteen sums each, in double precision; their order is part of what is exact."""
    lanes = np.empty(16)
    for i in range(vectors.shape[0]):
        _by_lanes(vectors[i], weights, lanes, found[i])


@njit(cache=True, nogil=True)
def coded_lane_products(codes, scales, places, weights, found):
    """The same for some rows of ``low + step * code``, which are rounded as vectors are."""
    lanes, vector = np.empty(16), np.empty(codes.shape[1], np.float32)
    for i in range(places.size):
        prefetch_row(codes, places[min(i + 1, places.size - 1)])
        row = codes[places[i]]
        low, step = scales[places[i], 0], scales[places[i], 1]
        for place in range(row.size):
            vector[place] = np.float32(row[place]) * step + low
        _by_lanes(vector, weights, lanes, found[i])


@njit(cache=True, nogil=True)
def _by_lanes(vector, weights, lanes, found):
    for j in range(weights.shape[0]):
        lanes[:] = 0.0
        _add_lanes(vector, weights[j], lanes)
        size = 8
        while size:
            for lane in range(size):
                lanes[lane] += lanes[lane + size]
            size //= 2
        found[j] = lanes[0]


@njit(cache=True, nogil=True)
def _add_lanes(vector, weights, lanes):
    whole = vector.size // 16 * 16
    for first in range(0, whole, 16):
        for lane in range(16):
            lanes[lane] += np.float64(vector[first + lane]) * np.float64(weights[first + lane])
    for place in range(whole, vector.size):
        lanes[place - whole] += np.float64(vector[place]) * np.float64(weights[place])
