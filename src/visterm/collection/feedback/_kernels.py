"""Inner products of stored vectors with a few directions, the same bits however they are asked for.

A matrix product sums in an order that depends on how many rows, columns and threads there are. Here
each product is one sum of its own, so that a column can be made again bit for bit; and a row is
read from memory once for all directions.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs
from __future__ import annotations

import numpy as np
from numba import njit

from visterm.index._loops import prefetch_row

# The order of additions is the compiler's choice, made once for all rows.
_FREE = {"contract", "reassoc", "nsz"}


@njit(cache=True, nogil=True)
def dense_products(rows, places, directions, found):
    """``found[j, i] = rows[places[i]] · directions[j]``."""
    for i in range(places.size):
        row = rows[places[i]]
        for j in range(directions.shape[0]):
            found[j, i] = np.dot(row, directions[j])


@njit(cache=True, nogil=True)
def coded_products(codes, scales, places, directions, found):
    """The same for rows of ``low + step * code``: ``low * sum(directions[j])`` is added at last."""
    sums = np.array([directions[j].sum() for j in range(directions.shape[0])])
    count = directions.shape[0]
    for i in range(places.size):
        prefetch_row(codes, places[min(i + 2, places.size - 1)])
        place = places[i]
        low, step = scales[place, 0], scales[place, 1]
        for j in range(0, count, 2):
            # A lone direction has itself beside it, so that every product is added up alike.
            k = min(j + 1, count - 1)
            one, other = _code_products(codes[place], directions[j], directions[k])
            found[j, i] = low * sums[j] + step * one
            found[k, i] = low * sums[k] + step * other


@njit(cache=True, nogil=True, fastmath=_FREE)
def _code_products(codes, direction, beside):
    one = other = np.float32(0)
    for place in range(codes.size):
        code = np.float32(codes[place])
        one += code * direction[place]
        other += code * beside[place]
    return one, other


@njit(cache=True, nogil=True)
def sparse_products(data, indices, starts, places, directions, found):
    """The same for compressed rows."""
    for i in range(places.size):
        first, stop = starts[places[i]], starts[places[i] + 1]
        for j in range(directions.shape[0]):
            total = 0.0
            for place in range(first, stop):
                total += np.float64(data[place]) * directions[j, indices[place]]
            found[j, i] = total
