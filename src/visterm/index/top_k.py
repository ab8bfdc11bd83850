"""The best of many scores: highest first, equal scores by smaller id."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Scores = NDArray[np.floating]

_BLOCK = 1024
"""Scores under one maximum."""


def best(ids: Ids, scores: Scores, k: int) -> tuple[Ids, Scores]:
    """The ``k`` highest scores and their ids, highest first; equal scores go by smaller id.

    >>> best(np.arange(4), np.float32([1, 3, 3, 2]), 2)
    (array([1, 2]), array([3., 3.], dtype=float32))
    """
    chosen = candidates(scores, k)
    ids, scores = ids[chosen], scores[chosen]
    order = np.lexsort((ids, -scores))[:k]
    return ids[order], scores[order]


def candidates(scores: Scores, k: int) -> Ids:
    """Positions of at least the ``k`` highest scores, all that equal the lowest of them included.

    >>> candidates(np.float32([1, 3, 3, 2]), 1)
    array([1, 2])
    """
    if k <= 0:
        return np.empty(0, np.int64)
    if k >= scores.size:
        return np.arange(scores.size)
    whole = scores.size // _BLOCK * _BLOCK
    if k * _BLOCK > scores.size:
        return np.flatnonzero(scores >= np.partition(scores, scores.size - k)[scores.size - k])
    # k blocks reach the k-th of their maxima, so the k-th best score does, and few scores do.
    maxima = scores[:whole].reshape(-1, _BLOCK).max(axis=1)
    bound = np.partition(maxima, maxima.size - k)[maxima.size - k]
    blocks = np.flatnonzero(maxima >= bound)
    inside = (blocks[:, None] * _BLOCK + np.arange(_BLOCK)).ravel()
    positions = np.concatenate([inside, np.arange(whole, scores.size)])
    reached = positions[scores[positions] >= bound]
    kth = np.partition(scores[reached], reached.size - k)[reached.size - k]
    return reached[scores[reached] >= kth]
