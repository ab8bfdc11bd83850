"""What moved products add to log-probabilities, as fast as they come.

Additions, multiplications and divisions only, so that loops become vector instructions and the bits
are the same on every machine; precise to eight digits, of which the columns of an index keep seven.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs
from __future__ import annotations

import math

import numpy as np
from numba import njit

_TILE = 512
"""Numbers worked on together: all of them, and what is made of them, fit the first cache."""
_SHIFT = 1.5 * 2.0**52
"""Added to a small number it leaves the nearest whole one, in the last bits."""
_LOG2E, _LN2 = 1 / math.log(2), math.log(2)
_LEAST = -700.0
"""Smaller exponents than that make no difference to any sum."""
_EXP = tuple(1 / math.factorial(n) for n in range(8))
_ODD = tuple(2 / (2 * n + 1) for n in range(8))


@njit(cache=True, nogil=True, error_model="numpy")
def linked_offsets(moves, values, shift, intercept, slope, found):
    """``found = log σ(i + k (value + move − shift)) − log σ(i + k value)``, of one word."""
    before, after, powers = np.empty(_TILE), np.empty(_TILE), np.empty(_TILE)
    for first in range(0, moves.size, _TILE):
        count = min(_TILE, moves.size - first)
        for i in range(count):
            before[i] = intercept + slope * np.float64(values[first + i])
            after[i] = before[i] + slope * (np.float64(moves[first + i]) - shift)
        log_logistic(before[:count], powers[:count])
        log_logistic(after[:count], powers[:count])
        for i in range(count):
            found[first + i] = after[i] - before[i]


@njit(cache=True, nogil=True, error_model="numpy")
def log_logistic(odds, powers):
    """Every x becomes ``log σ(x) = min(x, 0) − log(1 + exp(−|x|))``; ``powers`` is room."""
    bits = powers.view(np.int64)
    for i in range(odds.size):
        powers[i] = max(-abs(odds[i]), _LEAST) * _LOG2E + _SHIFT
    for i in range(odds.size):
        bits[i] = (bits[i] + 1023) << 52  # two to the power of that whole number
    for i in range(odds.size):
        exponent = max(-abs(odds[i]), _LEAST)
        rest = exponent - ((exponent * _LOG2E + _SHIFT) - _SHIFT) * _LN2
        small = _EXP[7]
        small = _EXP[6] + rest * small
        small = _EXP[5] + rest * small
        small = _EXP[4] + rest * small
        small = _EXP[3] + rest * small
        small = _EXP[2] + rest * small
        small = _EXP[1] + rest * small
        small = (_EXP[0] + rest * small) * powers[i]
        ratio = small / (2.0 + small)  # log(1 + x) = 2 artanh(x / (2 + x))
        square = ratio * ratio
        log = _ODD[7]
        log = _ODD[6] + square * log
        log = _ODD[5] + square * log
        log = _ODD[4] + square * log
        log = _ODD[3] + square * log
        log = _ODD[2] + square * log
        log = _ODD[1] + square * log
        log = _ODD[0] + square * log
        odds[i] = min(odds[i], 0.0) - ratio * log


@njit(cache=True, nogil=True, error_model="numpy")
def put(values, places, column):
    """``column[places] = values``."""
    for i in range(values.size):
        column[places[i]] = values[i]
