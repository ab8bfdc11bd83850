"""What may be asked of an index: a query's words and weights, and how many pictures."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from visterm.errors import BadInput
from visterm.index.score import Floats, Integers

if TYPE_CHECKING:
    from scipy.sparse import sparray

Query: TypeAlias = "tuple[npt.ArrayLike, npt.ArrayLike] | npt.NDArray[np.floating] | sparray"
"""A pair (words, weights), one weight for every word, or a matrix of them with a query a row."""


def rows_of(query: Query, words: int) -> list[Query] | None:
    """The queries of a matrix, sparse or dense; None where there is just one query, no matrix.

    >>> rows_of(np.eye(2), words=2), rows_of(np.ones(2), words=2)
    ([array([1., 0.]), array([0., 1.])], None)
    """
    if isinstance(query, tuple) or getattr(query, "ndim", 1) != 2:
        return None
    matrix: Any = query
    if matrix.shape[1] != words:
        raise _wrong_width(words, matrix.shape)
    if not hasattr(matrix, "tocsr"):
        return list(matrix)
    matrix = matrix.tocsr()
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    places = (slice(*one) for one in pairwise(matrix.indptr))
    return [(matrix.indices[place], matrix.data[place]) for place in places]


def stacked(answers: Iterable[tuple[Integers, Floats]]) -> tuple[Integers, Floats]:
    """The answers of several queries, one a row."""
    found = list(answers)
    if not found:
        return np.empty((0, 0), np.int64), np.empty((0, 0), np.float32)
    return np.stack([ids for ids, _ in found]), np.stack([scores for _, scores in found])


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


def _dense(query: Any, words: int) -> tuple[Integers, Floats]:
    numbers = _float32(query.toarray() if hasattr(query, "toarray") else query)
    if numbers.shape != (words,):
        raise _wrong_width(words, numbers.shape)
    chosen = np.flatnonzero(numbers).astype(np.int64)
    return chosen, numbers[chosen]


def _wrong_width(words: int, shape: tuple[int, ...]) -> BadInput:
    return BadInput(
        f"a query vector must hold {words} weights, one a word; this one has shape {shape}"
    )


def _float32(numbers: npt.ArrayLike) -> Floats:
    with np.errstate(over="ignore"):
        return np.asarray(numbers).astype(np.float32)
