"""Log-probabilities in 16 bits, and what evidence makes of each of them.

A code is a small floating-point number, 5 bits of exponent and 11 of fraction, of ``-log P``: from
1.5e-8 to 64, each within a four-thousandth. It is read from log odds that are rounded to a
thousandth, by a table, so that every machine gets the same code.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.uint16]
Table = NDArray[np.float32]
"""A value for every code."""

CODES = 1 << 16
BLOCK = 1 << 10
"""Scores under one maximum, which a compiled loop adds up in the innermost cache."""
EXPONENT_BASE = (127 - 26) << 11
"""What the bits of a float32, without its last 12, have more than the code."""
ODDS_STEPS = 1024
"""Steps of log odds to one nat."""
_ALMOST_ONE = 1 - 1e-6


@lru_cache(maxsize=1)
def magnitudes() -> Table:
    """``-log P`` of every code.

    >>> magnitudes()[[0, 65535]].tolist()
    [1.4901161193847656e-08, 63.984375]
    """
    bits = (np.arange(CODES, dtype=np.uint32) + EXPONENT_BASE) << 12
    return bits.view(np.float32)


def encoded(magnitude: NDArray[np.floating]) -> Codes:
    """The codes of ``-log P``."""
    bits = np.clip(magnitude, magnitudes()[0], magnitudes()[-1]).astype(np.float32).view(np.uint32)
    return (((bits + 0x800) >> 12) - EXPONENT_BASE).astype(np.uint16)


@lru_cache(maxsize=1)
def codes_of_odds() -> Codes:
    """The codes of log odds from -32 on, `ODDS_STEPS` to a nat."""
    return encoded(np.logaddexp(0.0, -(np.arange(CODES) - CODES / 2) / ODDS_STEPS))


def odds_codes(odds: NDArray[np.float64]) -> Codes:
    """The codes of log odds.

    >>> found = magnitudes()[odds_codes(np.array([-2.0, 0.0, 12.0]))].astype(float)
    >>> np.exp(-found).round(4).tolist()
    [0.1192, 0.5, 1.0]
    """
    steps = np.rint(odds * ODDS_STEPS) + CODES // 2
    return codes_of_odds()[np.clip(steps, 0, CODES - 1).astype(np.uint16)]


def log_evidence(
    magnitude: NDArray[np.floating],
    *,
    is_wanted: bool,
    certainty: float = 0.0,
    omitted: NDArray[np.float64] | float = 0.0,
    doubt: NDArray[np.float64] | float = 1.0,
) -> NDArray[np.float64]:
    """What a word adds to a score of weight 1, by sight and by what is written of the picture.

    Parameters
    ----------
    magnitude
        ``-log P`` by sight.
    is_wanted
        Whether ``log P`` counts, or ``log(1 - P)``.
    certainty
        How likely a caption that holds the word is right; 0 where none holds it.
    omitted
        How likely the caption of the picture would mention the word; 0 where there is none.
    doubt
        How likely all names that hold the word are wrong; 1 where none does.

    >>> log_evidence(np.log([2.0]), is_wanted=True, certainty=0.5).round(4).tolist()
    [-0.2877]
    """
    seen = np.exp(-np.asarray(magnitude, np.float64))
    written = 1 - (1 - certainty) * (1 - seen) if certainty else (1 - omitted) * seen
    # Written so that what is all but impossible stays what it is where no name holds the word.
    known = written + (1 - doubt) * (1 - written)
    return np.log(known) if is_wanted else np.log1p(-np.minimum(known, _ALMOST_ONE))
