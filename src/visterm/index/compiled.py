"""When compiled loops are worth it: loading them takes as long as NumPy takes for millions of
values. So NumPy serves until what it has done took as long, which a command never reaches and a
program that goes on searching soon does; nobody waits for more than twice of what was needed."""

from __future__ import annotations

BLOCK = 1 << 10
"""Scores under one maximum, which a compiled loop adds up in the innermost cache."""
_is_loaded = False
_done = 0.0
"""What NumPy has done so far, as a fraction of what loading takes."""


def is_worth(values: int, *, loaded_from: int, cold_from: int) -> bool:
    """Whether so many values are left to compiled loops.

    ``loaded_from`` is from how many on they are sooner done once these are loaded, ``cold_from``
    for how many NumPy takes as long as loading.
    """
    global _done
    if values < loaded_from:
        return False
    if not _is_loaded:
        _done += values / cold_from
        if _done < 1:
            return False
        prepare()
    return True


def is_loaded() -> bool:
    """Whether the compiled loops are there, so that using them costs nothing more."""
    return _is_loaded


def prepare() -> None:
    """Load the compiled loops now, so that no search waits for them."""
    global _is_loaded
    import numpy as np

    from visterm.index import _kernels

    table, maxima, counts = np.zeros(1, np.float32), np.zeros(1, np.float32), np.zeros(0, np.int64)
    none = np.zeros((0, 3), np.int64)
    given = (table, 0, none, table[:0], none, table[:0])
    _kernels.add_up(0, 0, *given, 0, table[:0], table, maxima, counts)
    _kernels.block_maxima(table, maxima)
    _kernels.positions_from(table, maxima, np.float32(0))
    rows, scales = np.zeros((1, 1), np.uint8), np.ones((1, 2), np.float32)
    rows.flags.writeable = scales.flags.writeable = False  # as files are mapped
    weights, ones = np.zeros((1, 1), np.int16), np.ones(1)
    _kernels.dense_products(rows, weights, np.zeros((1, 1), np.int32))
    codes = np.zeros((1, 1), np.uint16)
    _kernels.column_codes(rows, scales, weights, ones, ones, ones, codes[0], 1.0, codes, 0)
    _is_loaded = True
