"""What a score is, and which pictures are the best: the words the index's promise is made of.

The score of a picture is the inner product of the query's weights and the picture's values. Sums
depend on their order and precision, so the promise "as sorting the full float32 product" needs both
said: the terms are added **in ascending order of word, in double precision, and the sum is rounded
once to float32**. A product of two float32 numbers is exact in double precision, so the score is
the same with and without fused multiply-add, on every machine, for any split of the pictures.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
Scores = TypeVar("Scores", npt.NDArray[np.float32], npt.NDArray[np.float64])


_HIGHS = 1024


def score(weights: Floats, values: Floats) -> np.float32:
    """The score of one picture: this function is the definition, and the kernels compile it.

    >>> score(np.float32([1, 0.5]), np.float32([2, 4]))
    np.float32(4.0)
    """
    total = np.float64(0)
    for place in range(len(weights)):
        total += np.float64(weights[place]) * np.float64(values[place])
    return np.float32(total)


def scores(weights: Floats, columns: Iterable[npt.NDArray[np.float32]], pictures: int) -> Floats:
    """The same scores for many pictures at once, one array of values a word.

    >>> scores(np.float32([1, 0.5]), [np.float32([2, 0]), np.float32([4, -1])], 2)
    array([ 4. , -0.5], dtype=float32)
    """
    total = np.zeros(pictures)
    for weight, column in zip(weights, columns, strict=True):
        total += float(weight) * column.astype(np.float64)
    with np.errstate(over="ignore"):
        return total.astype(np.float32)


def best(ids: Integers, found: Scores, k: int) -> tuple[Integers, Scores]:
    """The ``k`` highest scores and their ids, highest first; equal scores go by smaller id.

    >>> best(np.arange(4), np.float32([1, 3, 3, 2]), 2)
    (array([1, 2]), array([3., 3.], dtype=float32))
    """
    if 0 < k < found.size and found.size > _HIGHS:  # fewer are soon sorted
        edge = kth_largest(found, k)
        above = np.flatnonzero(found > edge)
        level = np.flatnonzero(found == edge)
        level = level[np.argsort(ids[level], kind="stable")[: k - above.size]]
        keep = np.concatenate([above, level])
        ids, found = ids[keep], found[keep]
    order = np.lexsort((ids, -found))[:k]
    return ids[order], found[order]


def kth_largest(found: Scores, k: int) -> np.floating:
    """The ``k``-th largest score, without NumPy's partition, which many equal scores slow down."""
    if k * _HIGHS <= found.size:
        whole = found.size // _HIGHS * _HIGHS
        highs = found[:whole].reshape(-1, _HIGHS).max(axis=1)
        # So many different pictures reach the k-th of these, so the k-th best does.
        found = found[found >= np.sort(highs)[-k]]
    return np.sort(found)[-k]
