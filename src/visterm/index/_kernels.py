"""Compiled loops over rows and columns; the NumPy expressions beside their calls say the same.

Products of 8-bit rows are sums of whole numbers, so that no order of adding changes them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.extending import intrinsic

from visterm.index.codes import EXPONENT_BASE

_BASE = np.uint32(EXPONENT_BASE)
_ROWS_IN_CACHE = 128
"""Rows that are multiplied by all words before the next are read."""


@intrinsic
def _bits_as_float(typing_context: Any, bits: Any = None) -> Any:
    """The float32 that 32 bits are."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.uint32), generate


@njit(nogil=True, cache=True)
def by_length(constants: Any, lengths: Any, scores: Any) -> None:
    """``scores[:] = constants[lengths]``."""
    for i in range(scores.size):
        scores[i] = constants[lengths[i]]


@njit(nogil=True, cache=True)
def add_log_probabilities(codes: Any, weight: Any, scores: Any) -> None:
    """``scores -= weight * magnitudes()[codes]``, by shifting bits."""
    for i in range(scores.size):
        scores[i] -= weight * _bits_as_float((np.uint32(codes[i]) + _BASE) << np.uint32(12))


@njit(nogil=True, cache=True)
def add_from_table(table: Any, codes: Any, weight: Any, scores: Any) -> None:
    """``scores += weight * table[codes]``."""
    for i in range(scores.size):
        scores[i] += weight * table[codes[i]]


@njit(nogil=True, cache=True)
def dense_products(rows: Any, weights: Any, totals: Any) -> None:
    """``totals[:] = weights @ rows.T``, whole numbers that fit into 32 bits."""
    for first in range(0, rows.shape[0], _ROWS_IN_CACHE):
        stop = min(first + _ROWS_IN_CACHE, rows.shape[0])
        for word in range(weights.shape[0]):
            vector = weights[word]
            for i in range(first, stop):
                row = rows[i]
                total = np.int32(0)
                for j in range(row.size):
                    total += np.int32(row[j]) * np.int32(vector[j])
                totals[word, i] = total
