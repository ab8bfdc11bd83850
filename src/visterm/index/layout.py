"""How the values of one word lie on disk: 8-bit codes, bounds of blocks, and the exact values.

A *column* holds one word's values over the ``n`` pictures of a segment, one part after the other,
each starting at a multiple of 64 bytes:

======= ============================ ==============================================================
facts   5 float64                    low, step, below, above, largest (see :func:`encode`)
highs   float32 a block of pictures  the largest value of each block of 1,024 pictures
lows    float32 a block of pictures  the smallest one
codes   uint8 a picture              ``round((value - low) / step)``
exact   float32 a picture            the value itself
======= ============================ ==============================================================

A column of nothing but zero bytes is a valid column of zeros.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from visterm.index.score import Floats

BLOCK = 1024
"""Pictures under one bound: 1 KB of codes a word, so a block of any query fits the first cache."""

FACTS = 5
_KERNELS = "visterm.index._kernels"
"""Where compiled kernels are loaded, columns are encoded by one as well."""
_LINE = 64

Bytes = npt.NDArray[np.uint8]


class Places(NamedTuple):
    """Where the parts of a column of ``pictures`` values begin, in bytes, and where it ends."""

    highs: int
    lows: int
    codes: int
    exact: int
    end: int


class Column(NamedTuple):
    """The parts of a column, or of several, as views of their bytes; the last axis is theirs."""

    facts: npt.NDArray[np.float64]
    highs: Floats
    lows: Floats
    codes: Bytes
    exact: Floats


def places(pictures: int) -> Places:
    """The layout of a column.

    >>> places(2000)
    Places(highs=64, lows=128, codes=192, exact=2240, end=10240)
    """
    highs = _LINE
    lows = highs + _whole_lines(4 * blocks(pictures))
    codes = lows + _whole_lines(4 * blocks(pictures))
    exact = codes + _whole_lines(pictures)
    return Places(highs, lows, codes, exact, exact + _whole_lines(4 * pictures))


def blocks(pictures: int) -> int:
    """How many blocks the pictures of a segment make.

    >>> blocks(1024), blocks(1025)
    (1, 2)
    """
    return -(-pictures // BLOCK)


def column(data: Bytes, pictures: int) -> Column:
    """The parts of a column's bytes, or of those of one column a row; nothing is copied."""
    at, many = places(pictures), 4 * blocks(pictures)
    return Column(
        data[..., : 8 * FACTS].view(np.float64),
        data[..., at.highs : at.highs + many].view(np.float32),
        data[..., at.lows : at.lows + many].view(np.float32),
        data[..., at.codes : at.codes + pictures],
        data[..., at.exact : at.exact + 4 * pictures].view(np.float32),
    )


def encode(values: Floats) -> Bytes:
    """The bytes of the columns that hold these finite values, words × pictures.

    Every value is ``low + step * code + rest`` with ``below <= rest <= above``, and ``largest`` is
    the greatest absolute value. The facts are measured on the values rather than derived, so that
    the bounds hold whatever the rounding did.

    >>> column(encode(np.float32([[-1, 0, 0.3, 4.1]])), 4).codes
    array([[  0,  50,  65, 255]], dtype=uint8)
    """
    words, pictures = values.shape
    data = np.zeros((words, places(pictures).end), np.uint8)
    parts = column(data, pictures)
    parts.exact[:] = values
    if _KERNELS in sys.modules:
        from visterm.index._encoding import fill

        for word, row in enumerate(values):
            fill(row, *(part[word] for part in parts[:-1]))
        return data
    exact = values.astype(np.float64)
    low, high = exact.min(axis=1, keepdims=True), exact.max(axis=1, keepdims=True)
    step = (high - low) / 255
    scaled = np.rint((exact - low) / np.where(step > 0, step, 1))
    parts.codes[:] = np.clip(scaled, 0, 255, out=scaled)
    rest = exact - (low + step * parts.codes)
    below, above = rest.min(axis=1, keepdims=True), rest.max(axis=1, keepdims=True)
    largest = np.maximum(np.abs(low), np.abs(high))
    parts.facts[:] = np.concatenate([low, step, below, above, largest], axis=1)
    starts = np.arange(0, pictures, BLOCK)
    parts.highs[:] = np.maximum.reduceat(values, starts, axis=1)
    parts.lows[:] = np.minimum.reduceat(values, starts, axis=1)
    return data


def _whole_lines(size: int) -> int:
    return -(-size // _LINE) * _LINE
