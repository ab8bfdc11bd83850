"""How the values of one word lie on disk: 8-bit codes, bounds of codes and blocks, exact values.

A *column* holds one word's values over the ``n`` pictures of a segment, one part after the other,
each starting at a multiple of 64 bytes:

======= ============================ ==============================================================
facts   4 float64                    low, step, and the smallest and largest code there is
lows    256 float32                  no value with this code is smaller
highs   256 float32                  … or larger
tops    uint8 a block of pictures    the largest code of each block of `BLOCK` pictures
bottoms uint8 a block of pictures    the smallest one
codes   uint8 a picture              ``round((number - low) / step)``
exact   float32 a picture            the value itself; not there where it can be computed anew
======= ============================ ==============================================================

Where values are a function of numbers that are computed anew (`Recomputed`), the codes are those of
the numbers, and the bounds those of the values. A column of nothing but zero bytes is a valid
column of zeros.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from visterm.index.recomputed import Recomputed
from visterm.index.score import Floats

BLOCK = 128
"""Pictures under one bound."""

OLD, EXACT, CODES = 1, 2, 3
"""Layouts of a group of columns: of before (`old_layout`), with exact values, and without."""

FACTS = 4
CODE_VALUES = 256
_KERNELS = "visterm.index._kernels"
"""Where compiled kernels are loaded, columns are encoded by one as well."""
_LINE = 64
_MARGIN = 1 / 8
"""Codes of numbers that come later should fit: the range is wider by so much on both sides."""

Bytes = npt.NDArray[np.uint8]
Doubles = npt.NDArray[np.float64]
Scales = tuple[Doubles, Doubles]
"""The low and the step of each word."""


class Places(NamedTuple):
    """Where the parts of a column of ``pictures`` values begin, in bytes."""

    lows: int
    highs: int
    tops: int
    bottoms: int
    codes: int
    exact: int


class Column(NamedTuple):
    """The parts of a column, or of several, as views of their bytes; the last axis is theirs."""

    facts: Doubles
    lows: Floats
    highs: Floats
    tops: Bytes
    bottoms: Bytes
    codes: Bytes
    exact: Floats
    """Empty in columns without it."""


def places(pictures: int) -> Places:
    """The layout of a column.

    >>> places(2000)
    Places(lows=64, highs=1088, tops=2112, bottoms=2176, codes=2240, exact=4288)
    """
    lows = _LINE
    highs = lows + 4 * CODE_VALUES
    tops = highs + 4 * CODE_VALUES
    bottoms = tops + _whole_lines(blocks(pictures))
    codes = bottoms + _whole_lines(blocks(pictures))
    return Places(lows, highs, tops, bottoms, codes, codes + _whole_lines(pictures))


def column_size(pictures: int, layout: int = EXACT) -> int:
    """How many bytes a column has.

    >>> column_size(2000), column_size(2000, CODES)
    (12288, 4288)
    """
    begin = places(pictures).exact
    return begin if layout == CODES else begin + _whole_lines(4 * pictures)


def blocks(pictures: int) -> int:
    """How many blocks the pictures of a segment make.

    >>> blocks(BLOCK), blocks(BLOCK + 1)
    (1, 2)
    """
    return -(-pictures // BLOCK)


def column(data: Bytes, pictures: int) -> Column:
    """The parts of a column's bytes, or of those of one column a row; nothing is copied."""
    at, many = places(pictures), blocks(pictures)
    exact = 4 * pictures if data.shape[-1] > at.exact else 0
    return Column(
        data[..., : 8 * FACTS].view(np.float64),
        data[..., at.lows : at.highs].view(np.float32),
        data[..., at.highs : at.tops].view(np.float32),
        data[..., at.tops : at.tops + many],
        data[..., at.bottoms : at.bottoms + many],
        data[..., at.codes : at.codes + pictures],
        data[..., at.exact : at.exact + exact].view(np.float32),
    )


def encode(
    numbers: Floats,
    recomputed: Recomputed | None = None,
    first: int = 0,
    scales: Scales | None = None,
) -> Bytes:
    """The bytes of the columns that hold these finite values, words × pictures.

    With ``recomputed`` the numbers are what it says, those of the words from ``first`` on, and
    exact values are left out. ``scales`` are used for words whose numbers they fit.

    Every number is ``low + step * code + rest`` with ``below <= rest <= above``. These are measured
    on the numbers rather than derived, so that the bounds hold whatever the rounding did.

    >>> column(encode(np.float32([[-1, 0, 0.3, 4.1]])), 4).codes
    array([[  0,  50,  65, 255]], dtype=uint8)
    """
    words, pictures = numbers.shape
    layout = EXACT if recomputed is None else CODES
    data = np.zeros((words, column_size(pictures, layout)), np.uint8)
    parts = column(data, pictures)
    lowest, highest = (part.astype(np.float64) for part in (numbers.min(1), numbers.max(1)))
    low, step = _scales(lowest, highest, recomputed is not None, scales)
    below, above = _fill_codes(numbers, low, step, parts.codes)
    fill_bounds(parts)
    parts.facts[:, 0], parts.facts[:, 1] = low, step
    middle = low[:, None] + step[:, None] * np.arange(CODE_VALUES)
    # Double precision loses some 2^-53 of each of these; 2^-50 is generous.
    lost = 2.0**-50 * np.maximum(np.abs(lowest), np.abs(highest))[:, None]
    under, over = middle + below[:, None] - lost, middle + above[:, None] + lost
    if recomputed is None:
        parts.exact[:] = numbers
        # Rounding to 32 bits must not leave the range, where the next number may be infinite.
        under = np.clip(under, lowest[:, None], highest[:, None])
        over = np.clip(over, lowest[:, None], highest[:, None])
        parts.lows[:], parts.highs[:] = _downwards(under), _upwards(over)
        return data
    chosen = slice(first, first + words)
    error = recomputed.errors[chosen, None]
    parts.lows[:] = _downwards(recomputed.link(chosen, under - error))
    parts.highs[:] = _upwards(recomputed.link(chosen, over + error))
    return data


def fill_bounds(parts: Column) -> None:
    """Fill in what the codes say of blocks, and of all pictures."""
    starts = np.arange(0, parts.codes.shape[-1], BLOCK)
    parts.tops[:] = np.maximum.reduceat(parts.codes, starts, axis=-1)
    parts.bottoms[:] = np.minimum.reduceat(parts.codes, starts, axis=-1)
    parts.facts[..., 2] = parts.bottoms.min(axis=-1)
    parts.facts[..., 3] = parts.tops.max(axis=-1)


def _scales(lowest: Doubles, highest: Doubles, is_wide: bool, scales: Scales | None) -> Scales:
    margin = _MARGIN * (highest - lowest) if is_wide else np.zeros_like(lowest)
    low, step = lowest - margin, (highest - lowest + 2 * margin) / 255
    if scales is None:
        return low, step
    fits = (lowest >= scales[0]) & (highest <= scales[0] + 255 * scales[1])
    return np.where(fits, scales[0], low), np.where(fits, scales[1], step)


def _fill_codes(
    numbers: Floats, low: Doubles, step: Doubles, codes: Bytes
) -> tuple[Doubles, Doubles]:
    """Fill in the codes; returns how far numbers lie below and above them, at most, by word."""
    if _KERNELS in sys.modules:
        from visterm.index._encoding import fill_codes

        return fill_codes(numbers, low, step, codes)
    exact = numbers.astype(np.float64)
    unit = np.where(step > 0, step, 1)
    scaled = np.rint((exact - low[:, None]) / unit[:, None])
    codes[:] = np.clip(scaled, 0, 255, out=scaled)
    rest = exact - (low[:, None] + step[:, None] * codes)
    return rest.min(axis=1), rest.max(axis=1)


def _downwards(values: Doubles) -> Floats:
    """Values in 32 bits, none of them larger than it was."""
    narrow = values.astype(np.float32)
    with np.errstate(over="ignore"):  # of a number that is not asked for
        return np.where(narrow > values, np.nextafter(narrow, np.float32(-np.inf)), narrow)


def _upwards(values: Doubles) -> Floats:
    return -_downwards(-values)


def _whole_lines(size: int) -> int:
    return -(-size // _LINE) * _LINE
