"""Columns as they were until format 2, read for their exact values until a merge writes them anew.

facts (5 float64) · highs, lows (float32 a block of 1,024 pictures) · codes (uint8 a picture) ·
exact (float32 a picture), each part starting at a multiple of 64 bytes.
"""

from __future__ import annotations

import numpy as np

from visterm.index.layout import Bytes
from visterm.index.score import Floats

_LINE, _BLOCK = 64, 1024


def exact_values(data: Bytes, pictures: int) -> Floats:
    """The exact values of the columns of a group, words × pictures; nothing is copied."""
    end = column_size(pictures)
    begin = end - _whole_lines(4 * pictures)
    return data.reshape(-1, end)[:, begin : begin + 4 * pictures].view(np.float32)


def column_size(pictures: int) -> int:
    """How many bytes a column had.

    >>> column_size(2000)
    10240
    """
    bounds = _whole_lines(4 * -(-pictures // _BLOCK))
    return _LINE + 2 * bounds + _whole_lines(pictures) + _whole_lines(4 * pictures)


def _whole_lines(size: int) -> int:
    return -(-size // _LINE) * _LINE
