"""Compiled loops of the kernels: what no matrix product gives.

Signatures take read-only arrays, as memory-mapped ones are, so that each loop is compiled once.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types


def _array(kind: types.Type, dimensions: int) -> types.Array:
    return types.Array(kind, dimensions, "C", readonly=True)


_REALS, _TABLE = _array(types.float32, 1), _array(types.float32, 2)
_STARTS, _PLACES = _array(types.int64, 1), _array(types.uint32, 1)


@njit(
    types.void(_STARTS, _PLACES, _REALS, _STARTS, _STARTS, _PLACES, _REALS, types.float32[:, ::1]),
    cache=True,
    nogil=True,
)
def sparse_products(starts, columns, values, firsts, holder_starts, holders, held, table):  # type: ignore[no-untyped-def]
    """Add the product of row i and everything j to table[i, j], through those that hold a number.

    The rows come compressed, everything by column; of those that hold the number at place i, only
    the ones from ``firsts[i]`` on are looked at. A pair costs only the numbers it shares, and equal
    rows get equal sums to the last bit, for each sum runs over the columns in order.
    """
    for picture in range(len(starts) - 1):
        row = table[picture]
        for i in range(starts[picture], starts[picture + 1]):
            x = values[i]
            for j in range(firsts[i], holder_starts[columns[i] + 1]):
                row[holders[j]] += x * held[j]


@njit(types.int64[::1](_PLACES, _STARTS), cache=True, nogil=True)
def own_places(columns, holder_starts):  # type: ignore[no-untyped-def]
    """Where the numbers of compressed rows stand once they are ordered by column."""
    following = holder_starts.copy()
    places = np.empty(len(columns), dtype=np.int64)
    for i in range(len(columns)):
        places[i] = following[columns[i]]
        following[columns[i]] += 1
    return places


@njit(types.void(types.float32[:, ::1], types.int64, types.int64), cache=True, nogil=True)
def mirror(table, first, last):  # type: ignore[no-untyped-def]
    """Copy what stands above the diagonal below it, for the rows from first to last."""
    side = 64  # a square of the table and its mirror image fit into the cache together
    for left in range(0, last, side):
        for i in range(first, last):
            for j in range(left, min(left + side, i)):
                table[i, j] = table[j, i]


@njit(
    types.void(
        types.float32[:, ::1], _STARTS, _STARTS, types.float32[:, ::1], types.float32[:, ::1]
    ),
    cache=True,
    nogil=True,
    fastmath={"nnan", "nsz"},
)
def segment_maxima(products, row_starts, column_starts, by_row, by_column):  # type: ignore[no-untyped-def]
    """Best of each row within each segment of columns, and of each column within each of rows.

    products: (R, C); by_row: (R, column segments); by_column: (row segments, C).
    """
    columns = products.shape[1]
    for a in range(len(row_starts) - 1):
        best = by_column[a]
        best[:] = -np.inf
        for r in range(row_starts[a], row_starts[a + 1]):
            row = products[r]
            for c in range(columns):
                best[c] = row[c] if row[c] > best[c] else best[c]
            for b in range(len(column_starts) - 1):
                most = np.float32(-np.inf)
                for c in range(column_starts[b], column_starts[b + 1]):
                    most = row[c] if row[c] > most else most
                by_row[r, b] = most


@njit(
    types.void(_TABLE, _TABLE, _TABLE, _TABLE, types.float64[:, ::1]),
    cache=True,
    nogil=True,
    fastmath={"contract"},
)
def log_overlaps(means, variances, other_means, other_variances, table):  # type: ignore[no-untyped-def]
    """log ∫ N(v; μ, σ²) N(v; μ', σ'²) dv less its constant: −½ Σ log(σ²+σ'²) + (μ−μ')²/(σ²+σ'²).

    Gaussians of the first two are rows, those of the others columns (d × m), so that the loops over
    m vectorise; variances are multiplied eight at a time, which saves seven logarithms of eight.
    """
    m, d = other_means.shape[1], means.shape[1]
    product = np.empty(m)
    for i in range(len(means)):
        row = table[i]
        row[:] = 0.0
        product[:] = 1.0
        for k in range(d):
            mean, variance = np.float64(means[i, k]), np.float64(variances[i, k])
            for j in range(m):
                both = variance + other_variances[k, j]
                gap = mean - other_means[k, j]
                row[j] += gap * gap / both
                product[j] *= both
            if k % 8 == 7 or k == d - 1:
                for j in range(m):
                    row[j] += np.log(product[j])
                    product[j] = 1.0
        for j in range(m):
            row[j] *= -0.5
