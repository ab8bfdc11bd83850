"""Inner products of stored vectors with a few directions, the same bits however they are asked for.

A matrix product sums in an order that depends on how many rows, columns and threads there are. Here
each product is one sum of its own, so that a column can be made again bit for bit; and a row is
read from memory once for all directions.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs
from __future__ import annotations

import numpy as np
from numba import njit

# The order of additions is the compiler's choice, made once for all rows.
_FREE = {"contract", "reassoc", "nsz"}


@njit(cache=True, nogil=True)
def dense_products(rows, places, directions, found):
    """``found[i, j] = rows[places[i]] · directions[j]``."""
    for i in range(places.size):
        row = rows[places[i]]
        for j in range(directions.shape[0]):
            found[i, j] = np.dot(row, directions[j])


@njit(cache=True, nogil=True)
def coded_products(codes, scales, places, directions, found):
    """The same for rows of ``low + step * code``: ``low * sum(directions[j])`` is added at last."""
    sums = np.array([directions[j].sum() for j in range(directions.shape[0])])
    for i in range(places.size):
        place = places[i]
        for j in range(directions.shape[0]):
            total = _code_product(codes[place], directions[j])
            found[i, j] = scales[place, 0] * sums[j] + scales[place, 1] * total


@njit(cache=True, nogil=True, fastmath=_FREE)
def _code_product(codes, direction):
    total = np.float32(0)
    for place in range(codes.size):
        total += np.float32(codes[place]) * direction[place]
    return total


@njit(cache=True, nogil=True)
def sparse_products(data, indices, starts, places, directions, found):
    """The same for compressed rows."""
    for i in range(places.size):
        first, stop = starts[places[i]], starts[places[i] + 1]
        for j in range(directions.shape[0]):
            total = 0.0
            for place in range(first, stop):
                total += np.float64(data[place]) * directions[j, indices[place]]
            found[i, j] = total
