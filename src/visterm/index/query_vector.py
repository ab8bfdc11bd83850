"""What may be asked of an index: a query's words and weights, and how many pictures."""

from __future__ import annotations

import operator

import numpy as np
import numpy.typing as npt

from visterm.errors import BadInput
from visterm.index.score import Floats, Integers

Query = tuple[npt.ArrayLike, npt.ArrayLike] | npt.NDArray[np.floating]
"""A pair (words, weights), or one weight for every word."""


def read_query(query: Query, words: int) -> tuple[Integers, Floats]:
    """A query as ascending words and their non-zero float32 weights.

    >>> read_query(([3, 1, 2], [0.5, -1, 0]), words=4)
    (array([1, 3]), array([-1. ,  0.5], dtype=float32))
    >>> read_query(np.array([0, 2.0]), words=2)
    (array([1]), array([2.], dtype=float32))
    """
    chosen, weights = _sparse(*query) if isinstance(query, tuple) else _dense(query, words)
    if not np.isfinite(weights).all():
        raise BadInput("a query's weights must be finite float32 numbers")
    if chosen.size and (chosen.min() < 0 or chosen.max() >= words):
        wrong = chosen.min() if chosen.min() < 0 else chosen.max()
        raise BadInput(f"the query asks for word {wrong}, but words go from 0 to {words - 1}")
    order = np.argsort(chosen, kind="stable")
    chosen, weights = chosen[order], weights[order]
    twice = chosen[1:][chosen[1:] == chosen[:-1]]
    if twice.size:
        raise BadInput(f"word {twice[0]} stands twice in the query; add its weights up first")
    asked = weights != 0
    return chosen[asked], weights[asked]


def read_count(k: int) -> int:
    """How many pictures are asked for.

    >>> read_count(20)
    20
    """
    count = operator.index(k)
    if count < 0:
        raise BadInput(f"k must be 0 or more pictures, not {count}")
    return count


def _sparse(words: npt.ArrayLike, weights: npt.ArrayLike) -> tuple[Integers, Floats]:
    chosen = np.asarray(words)
    if chosen.size == 0:
        chosen = chosen.astype(np.int64)
    if chosen.ndim != 1 or not np.issubdtype(chosen.dtype, np.integer):
        raise BadInput("a query's words must be a list of whole numbers")
    numbers = _float32(weights)
    if numbers.shape != chosen.shape:
        raise BadInput(
            f"a query needs one weight a word, not {numbers.size} for {chosen.size} words"
        )
    return chosen.astype(np.int64), numbers


def _dense(query: npt.NDArray[np.floating], words: int) -> tuple[Integers, Floats]:
    numbers = _float32(query)
    if numbers.shape != (words,):
        raise BadInput(
            f"a query vector must hold {words} weights, one a word; this one has shape"
            f" {numbers.shape}"
        )
    chosen = np.flatnonzero(numbers).astype(np.int64)
    return chosen, numbers[chosen]


def _float32(numbers: npt.ArrayLike) -> Floats:
    with np.errstate(over="ignore"):
        return np.asarray(numbers).astype(np.float32)
