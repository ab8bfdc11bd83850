"""Products of many rows with one vector, as fast as the rows can be read."""

from __future__ import annotations

import numpy as np
from numba import njit

# The order of additions is free: whoever asks bounds the error of any order.
_FREE = {"contract", "reassoc", "nsz"}


@njit(cache=True, nogil=True, fastmath=_FREE)
def products(rows, vector):  # type: ignore[no-untyped-def]
    """``rows @ vector`` in single precision; on rows of a hundred numbers faster than BLAS."""
    n, d = rows.shape
    found = np.empty(n, np.float32)
    for i in range(n):
        total = np.float32(0)
        for j in range(d):
            total += rows[i, j] * vector[j]
        found[i] = total
    return found
