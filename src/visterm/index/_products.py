"""Products of many rows with one vector, as fast as the rows can be read; and in a fixed order."""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs
from __future__ import annotations

import numpy as np
from numba import njit

from visterm.index._loops import prefetch_row

# The order of additions is free: whoever asks bounds the error of any order.
_FREE = {"contract", "reassoc", "nsz"}
_LANES = 16


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
    terms = np.zeros(max(vectors.shape[1], _LANES))
    for i in range(vectors.shape[0]):
        _by_lanes(vectors[i], weights, terms, found[i])


@njit(cache=True, nogil=True)
def coded_lane_products(codes, scales, places, weights, found):
    """The same for some rows of ``low + step * code``, which are rounded as vectors are."""
    terms, vector = np.zeros(max(codes.shape[1], _LANES)), np.empty(codes.shape[1], np.float32)
    for i in range(places.size):
        prefetch_row(codes, places[min(i + 1, places.size - 1)])
        row = codes[places[i]]
        low, step = scales[places[i], 0], scales[places[i], 1]
        for place in range(row.size):
            vector[place] = np.float32(row[place]) * step + low
        _by_lanes(vector, weights, terms, found[i])


@njit(cache=True, nogil=True)
def _by_lanes(vector, weights, terms, found):
    """Terms first and sums after, since a loop that does both waits for each sum to be stored."""
    for j in range(weights.shape[0]):
        _fill_terms(vector, weights[j], terms)
        whole = max(vector.size // _LANES * _LANES, _LANES)
        for first in range(_LANES, whole, _LANES):
            for lane in range(_LANES):
                terms[lane] += terms[first + lane]
        for place in range(whole, vector.size):
            terms[place - whole] += terms[place]
        size = _LANES // 2
        while size:
            for lane in range(size):
                terms[lane] += terms[lane + size]
            size //= 2
        found[j] = terms[0]


@njit(cache=True, nogil=True)
def _fill_terms(vector, weights, terms):
    for place in range(vector.size):
        # Sums begin with 0, which makes no difference but to the sign of nothing.
        terms[place] = 0.0 + np.float64(vector[place]) * np.float64(weights[place])
