"""Columns encoded by compiled code: the bits of `layout.encode`, in two passes over the values."""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs
from __future__ import annotations

import numpy as np
from numba import njit

from visterm.index.layout import BLOCK


@njit(cache=True, nogil=True)
def fill(values, facts, highs, lows, codes):
    """Fill the parts of one word's column but for the exact values."""
    for block in range(highs.size):
        high = low = values[block * BLOCK]
        for place in range(block * BLOCK, min(values.size, (block + 1) * BLOCK)):
            high = max(high, values[place])
            low = min(low, values[place])
        highs[block], lows[block] = high, low
    low, high = np.float64(lows.min()), np.float64(highs.max())
    step = (high - low) / 255
    unit = step if step > 0 else 1.0
    below, above = np.inf, -np.inf
    for place in range(values.size):
        value = np.float64(values[place])
        code = min(max(np.rint((value - low) / unit), 0.0), 255.0)
        codes[place] = np.uint8(code)
        rest = value - (low + step * code)
        below, above = min(below, rest), max(above, rest)
    facts[0], facts[1], facts[2], facts[3] = low, step, below, above
    facts[4] = max(abs(low), abs(high))
