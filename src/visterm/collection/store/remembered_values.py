"""Values of words for pictures that were computed before."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_BITS = 40
"""A key is a word and, in so many bits, a picture."""

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]


class RememberedValues:
    """The latest values by word and picture, never more than so many, for all threads at once.

    Of two threads that keep some at the same moment, one may be in vain.

    >>> values = RememberedValues(most=2)
    >>> values.keep(np.array([7]), np.array([4, 1]), np.float32([[0.5], [0.25]]))
    >>> values.of(np.array([7]), np.array([1, 2]))
    array([[0.25],
           [ nan]], dtype=float32)
    """

    def __init__(self, most: int = 1 << 17) -> None:
        self._most = most
        self._known = np.empty(0, np.int64), np.empty(0, np.float32)

    def of(self, words: Ids, ids: Ids) -> Floats:
        """One row a picture; NaN where a value is not known."""
        known, values = self._known
        asked = _keys(words, ids)
        found = np.full(asked.shape, np.nan, np.float32)
        places, is_known = _places(known, asked)
        found[is_known] = values[places[is_known]]
        return found

    def keep(self, words: Ids, ids: Ids, values: Floats) -> None:
        """Remember values but NaN, and forget all others where there would be too many."""
        keys, first = np.unique(_keys(words, ids), return_index=True)
        given = values.ravel()[first]
        known, before = self._known
        places, is_known = _places(known, keys)
        is_new = ~is_known & ~np.isnan(given)
        keys, given, places = keys[is_new], given[is_new], places[is_new]
        if keys.size > self._most:
            return
        if known.size + keys.size > self._most:
            known, before, places = known[:0], before[:0], np.zeros_like(places)
        self._known = np.insert(known, places, keys), np.insert(before, places, given)


def _keys(words: Ids, ids: Ids) -> Ids:
    return (words << _BITS)[None, :] | ids[:, None]


def _places(known: Ids, keys: Ids) -> tuple[Ids, NDArray[np.bool_]]:
    """Where keys are among ascending ones, or would be put; and whether they are there."""
    places = np.searchsorted(known, keys)
    is_known = places < known.size
    is_known[is_known] = known[places[is_known]] == keys[is_known]
    return places, is_known
