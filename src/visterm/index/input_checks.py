"""What a caller may give an index: rows of finite numbers, and ids that are whole numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from visterm.errors import BadInput
from visterm.index.score import Integers

_CHUNK = 1 << 14


def checked_rows(rows: npt.ArrayLike, words: int) -> npt.NDArray[np.generic]:
    """Rows that can be stored, in their own type, nothing copied.

    >>> checked_rows([[1, 2.5]], words=2)
    array([[1. , 2.5]])
    >>> checked_rows([[1, float("nan")]], words=2)
    Traceback (most recent call last):
    visterm.errors.BadInput: row 0 holds nan for word 1; values must be finite float32 numbers
    """
    given = np.asarray(rows)
    if given.ndim != 2 or given.shape[1] != words or given.dtype.kind not in "fiub":
        raise BadInput(
            f"rows must be numbers, {words} a picture; these have shape {given.shape} and type"
            f" {given.dtype}"
        )
    for first in range(0, len(given), _CHUNK):
        with np.errstate(over="ignore"):
            chunk = given[first : first + _CHUNK].astype(np.float32, copy=False)
        bad = np.argwhere(~np.isfinite(chunk))
        if bad.size:
            row, word = first + bad[0, 0], bad[0, 1]
            raise BadInput(
                f"row {row} holds {given[row, word]} for word {word}; values must be finite"
                " float32 numbers"
            )
    return given


def whole_numbers(ids: npt.ArrayLike) -> Integers:
    """Ids as int64.

    >>> whole_numbers([3, 1])
    array([3, 1])
    """
    numbers = np.asarray(ids)
    if numbers.size == 0:
        return np.empty(0, np.int64)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or numbers.min() < 0:
        raise BadInput("ids must be a list of whole numbers from 0")
    if numbers.max() > np.iinfo(np.int64).max // 2:
        raise BadInput(f"id {numbers.max()} is too large")
    return numbers.astype(np.int64)


def new_ids(ids: npt.ArrayLike | None, count: int, next_id: int) -> Integers:
    """The ids of new pictures: the given ones, or those that follow the largest ever used.

    >>> new_ids(None, 2, next_id=5)
    array([5, 6])
    """
    if ids is None:
        return np.arange(next_id, next_id + count)
    numbers = whole_numbers(ids)
    if numbers.size != count:
        raise BadInput(f"{count} rows need {count} ids, not {numbers.size}")
    if np.unique(numbers).size != count:
        raise BadInput("an id stands twice among the new pictures")
    return numbers


def after(ids: Integers, next_id: int) -> int:
    """The next id nobody has used.

    >>> after(np.array([9, 2]), 5), after(np.array([1]), 5)
    (10, 5)
    """
    return max(next_id, int(ids.max()) + 1) if ids.size else next_id
