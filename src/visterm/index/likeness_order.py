"""Like pictures laid together, so that blocks of them have close bounds."""

from __future__ import annotations

import numpy as np

from visterm.index.score import Floats, Integers

_SAMPLED = 1024
"""Pictures that say in which direction a group of them varies most."""
_STEPS = 4
"""Of the power iteration that finds it."""


def order_alike(rows: Floats, leaf: int) -> Integers:
    """An order of rows in which every ``leaf`` of them are alike.

    Groups are cut in two, at the median along the direction in which they vary most, until they
    have ``leaf`` rows: a tree of principal directions. Columns count alike, and what lies below
    their means counts as the mean does: how little a picture has of a word bounds nobody's score.

    >>> rows = np.float32([[0, 0], [5, 5], [0, 1], [5, 4]])
    >>> sorted(map(sorted, order_alike(rows, 2).reshape(2, 2).tolist()))
    [[0, 2], [1, 3]]
    """
    largest = np.maximum(np.abs(rows).max(axis=0), np.finfo(np.float32).tiny)
    rows = (rows / largest).astype(np.float32)  # so that nothing overflows
    rows -= rows.mean(axis=0)
    rows /= np.maximum(rows.std(axis=0), 1e-12)
    np.maximum(rows, 0, out=rows)
    order = np.arange(len(rows))
    groups = [(0, len(rows))]
    while groups:
        first, stop = groups.pop()
        leaves = -(-(stop - first) // leaf)
        if leaves < 2:
            continue
        middle = first + leaves // 2 * leaf
        some = rows[order[first:stop]]
        along = some @ _direction(some)
        order[first:stop] = order[first:stop][np.argpartition(along, middle - first)]
        groups += [(first, middle), (middle, stop)]
    return order


def _direction(rows: Floats) -> Floats:
    """The direction in which rows vary most, about."""
    some = rows[:: max(1, len(rows) // _SAMPLED)]
    some = some - some.mean(axis=0)
    found = np.ones(rows.shape[1], np.float32)
    found[::2] = -0.5
    for _ in range(_STEPS):
        found = (some @ found) @ some
        length = float(np.linalg.norm(found))
        if length == 0.0:
            return np.ones(rows.shape[1], np.float32)
        found /= length
    return found
