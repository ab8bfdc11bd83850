"""When compiled loops are worth it: loading them takes as long as NumPy takes for millions of
values. So NumPy serves until what it has done took as long, which a command never reaches and a
program that goes on searching soon does; nobody waits for more than twice of what was needed."""

from __future__ import annotations

_is_prepared = False
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
    if not _is_prepared:
        _done += values / cold_from
        if _done < 1:
            return False
        prepare()
    return True


def prepare() -> None:
    """Load the compiled loops now, so that no search waits for them."""
    global _is_prepared
    import numpy as np

    from visterm.index import _kernels

    one, scores = np.ones(1, np.float32)[0], np.zeros(1, np.float32)
    codes, table = np.zeros(1, np.uint16), np.zeros(1, np.float32)
    _kernels.by_length(scores, np.zeros(1, np.uint8), scores)
    _kernels.add_log_probabilities(codes, one, scores)
    for places in (codes, codes.astype(np.uint32)):
        _kernels.add_from_table(table, places, one, scores)
    rows = np.zeros((1, 1), np.uint8)
    rows.flags.writeable = False  # as files are mapped
    _kernels.dense_products(rows, np.zeros((1, 1), np.int16), np.zeros((1, 1), np.int32))
    _is_prepared = True
