"""Inner products of stored vectors with a few directions, the same bits however they are asked for.

A matrix product sums in an order that depends on how many rows, columns and threads there are. Here
each product is one sum of its own, so that a column can be made again bit for bit.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs
from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def dense_products(rows, places, directions, found):
    """``found[i, j] = rows[places[i]] · directions[j]``; a row is read from memory once."""
    for i in range(places.size):
        row = rows[places[i]]
        for j in range(directions.shape[0]):
            found[i, j] = np.dot(row, directions[j])


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
