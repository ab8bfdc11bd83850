"""Columns of codes written together: bytes are copied, or mapped where their scales differ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from visterm.index.layout import (
    CODE_VALUES,
    CODES,
    Bytes,
    Column,
    Scales,
    column,
    column_size,
    fill_bounds,
)
from visterm.index.score import Integers


def merged(columns: Sequence[Column], places: Integers) -> npt.NDArray[np.uint8]:
    """The bytes of one word's column over pictures of several segments.

    ``places`` says where they lie among all pictures of these, one segment after the other. Bounds
    of codes become those of all that is mapped to them, so they hold without anybody computing a
    value.
    """
    data = np.zeros(column_size(places.size, CODES), np.uint8)
    made = column(data, places.size)
    low, step = _common(columns)
    made.facts[:2] = low, step
    made.lows[:], made.highs[:] = np.inf, -np.inf
    every = []
    for part in columns:
        mapping = _mapping(part, low, step)
        here = slice(int(part.facts[2]), int(part.facts[3]) + 1)
        np.minimum.at(made.lows, mapping[here], part.lows[here])
        np.maximum.at(made.highs, mapping[here], part.highs[here])
        is_same = part.facts[0] == low and part.facts[1] == step
        every.append(part.codes if is_same else mapping[part.codes])
    made.codes[:] = np.concatenate(every)[places]
    fill_bounds(made)
    unused = made.lows > made.highs
    made.lows[unused] = made.highs[unused] = 0
    return data


def _common(columns: Sequence[Column]) -> tuple[float, float]:
    """Low and step of all columns: theirs if they agree, else over all that any of them spans."""
    lows = np.array([part.facts[0] for part in columns])
    steps = np.array([part.facts[1] for part in columns])
    if (lows == lows[0]).all() and (steps == steps[0]).all():
        return float(lows[0]), float(steps[0])
    low, high = lows.min(), (lows + 255 * steps).max()
    return float(low), float((high - low) / 255)


def _mapping(part: Column, low: float, step: float) -> Bytes:
    """The code that each code of a column becomes."""
    middles = part.facts[0] + part.facts[1] * np.arange(CODE_VALUES)
    codes = np.rint((middles - low) / (step if step > 0 else 1.0))
    return np.clip(codes, 0, 255).astype(np.uint8)


def scales_of(columns: Sequence[Column]) -> Scales:
    """The scales by which the numbers of some words were coded."""
    facts = np.array([part.facts[:2] for part in columns]).reshape(-1, 2)
    return facts[:, 0], facts[:, 1]
