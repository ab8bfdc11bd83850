"""Products of many rows with one vector, as fast as the rows can be read; and in a fixed order."""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs
from __future__ import annotations

import numpy as np
from numba import njit

from visterm.index._lanes import LANES, add_coded_lanes
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
    terms = np.zeros(max(vectors.shape[1], LANES))
    for i in range(vectors.shape[0]):
        _by_lanes(vectors[i], weights, terms, found[i])


@njit(cache=True, nogil=True)
def coded_lane_products(codes, scales, places, weights, found):
    """The same for some rows of ``low + step * code``, which are rounded as vectors are."""
    width = codes.shape[1]
    whole = width // LANES * LANES
    sums = np.empty(LANES)
    for i in range(places.size):
        prefetch_row(codes, places[min(i + 1, places.size - 1)])
        row = codes[places[i]]
        low, step = scales[places[i], 0], scales[places[i], 1]
        for j in range(weights.shape[0]):
            sums[:] = 0.0
            if whole:
                weight = weights[j].ctypes.data
                add_coded_lanes(row.ctypes.data, low, step, weight, whole, sums.ctypes.data)
            for place in range(whole, width):
                value = np.float32(row[place]) * step + low
                sums[place - whole] += np.float64(value) * np.float64(weights[j, place])
            found[i, j] = _added_up(sums)


@njit(cache=True, nogil=True)
def sparse_lane_products(data, indices, indptr, places, weights, found):
    """The same for some compressed rows with ascending indices: what is 0 adds nothing to a sum."""
    sums = np.empty(LANES)
    for i in range(places.size):
        for j in range(weights.shape[0]):
            sums[:] = 0.0
            for at in range(indptr[places[i]], indptr[places[i] + 1]):
                place = indices[at]
                sums[place % LANES] += np.float64(data[at]) * np.float64(weights[j, place])
            found[i, j] = _added_up(sums)


@njit(cache=True, nogil=True)
def _by_lanes(vector, weights, terms, found):
    """Terms first and sums after, since a loop that does both waits for each sum to be stored."""
    for j in range(weights.shape[0]):
        _fill_terms(vector, weights[j], terms)
        whole = max(vector.size // LANES * LANES, LANES)
        for first in range(LANES, whole, LANES):
            for lane in range(LANES):
                terms[lane] += terms[first + lane]
        for place in range(whole, vector.size):
            terms[place - whole] += terms[place]
        found[j] = _added_up(terms)


@njit(cache=True, nogil=True)
def _added_up(sums):
    size = LANES // 2
    while size:
        for lane in range(size):
            sums[lane] += sums[lane + size]
        size //= 2
    return sums[0]


@njit(cache=True, nogil=True)
def _fill_terms(vector, weights, terms):
    for place in range(vector.size):
        # Sums begin with 0, which makes no difference but to the sign of nothing.
        terms[place] = 0.0 + np.float64(vector[place]) * np.float64(weights[place])
