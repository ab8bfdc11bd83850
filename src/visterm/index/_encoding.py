"""Codes by compiled code: the bits of `layout._fill_codes`, in one pass over the numbers."""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs
from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def fill_codes(numbers, low, step, codes):
    """Fill in the codes of words × pictures; returns how far numbers lie below and above them."""
    below, above = np.empty(len(numbers)), np.empty(len(numbers))
    for word in range(len(numbers)):
        below[word], above[word] = _fill(numbers[word], low[word], step[word], codes[word])
    return below, above


@njit(cache=True, nogil=True)
def _fill(numbers, low, step, codes):
    unit = step if step > 0 else 1.0
    below, above = np.inf, -np.inf
    for place in range(numbers.size):
        number = np.float64(numbers[place])
        code = min(max(np.rint((number - low) / unit), 0.0), 255.0)
        codes[place] = np.uint8(code)
        rest = number - (low + step * code)
        below, above = min(below, rest), max(above, rest)
    return below, above
