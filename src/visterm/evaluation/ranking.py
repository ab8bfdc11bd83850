"""From scores to ranks: where the relevant pictures of each query stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.errors import BadInput

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class RelevantRanks:
    """The ranks of every query's relevant pictures; all the measures need nothing else.

    Iterating gives ``(ranks, gains)`` per query, best rank first.

    Attributes
    ----------
    starts : array of shape (Q + 1,), int64
        Query ``q`` owns the entries from ``starts[q]`` to ``starts[q + 1]``.
    ranks : array of int64
        Ranks counted from 1, ascending within a query.
    gains : array of float32
        The gain of the picture at that rank.
    """

    starts: NDArray[np.int64]
    ranks: NDArray[np.int64]
    gains: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __iter__(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        for start, end in pairwise(self.starts):
            yield self.ranks[start:end], self.gains[start:end]

    @property
    def relevant(self) -> NDArray[np.int64]:
        """The number of relevant pictures of each query."""
        return np.diff(self.starts)


def relevant_ranks(scores: ArrayLike, pictures: csr_array) -> RelevantRanks:
    """Rank the relevant pictures of each query among all pictures, largest score first.

    Equal scores stand in picture order, lower index first. So a model that scores everything alike
    gets what the picture order gives, never the luckiest arrangement of its ties. Where few are
    relevant, each of them is ranked by counting who stands before it; the rest is never sorted.

    Parameters
    ----------
    scores : array of shape (Q, n)
        Infinite scores are ordered like any other; NaN is refused, for it has no place in an order.
    pictures : csr_array of shape (Q, n)
        Gains, positive where a picture is relevant.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> ranked = relevant_ranks([[0.3, 0.9, 0.3]], csr_array([[0.0, 2.0, 1.0]]))
    >>> ranked.ranks.tolist(), ranked.gains.tolist()
    ([1, 3], [2.0, 1.0])
    """
    # numba takes a while to load, and most commands never measure anything.
    from visterm.evaluation import _kernels

    table = as_scores(scores)
    gains = checked_gains(pictures)
    if table.shape != gains.shape:
        raise BadInput(
            f"scores are {_shape(table.shape)} but relevance is {_shape(gains.shape)} "
            "(queries × pictures); score every picture of the relevance for every query"
        )
    starts, relevant = gains.indptr.astype(np.int64), gains.indices.astype(np.int64)
    ranks, order = np.empty_like(relevant), np.empty_like(relevant)
    unordered = _kernels.rank_relevant(table, starts, relevant, ranks, order)
    if unordered >= 0:
        picture = int(np.isnan(table[unordered]).argmax())
        raise BadInput(
            f"the score of query {unordered} for picture {picture} is NaN; "
            "check the model or the features for overflow or missing values"
        )
    for query in np.flatnonzero(np.diff(starts) > _kernels.FEW).tolist():
        part = slice(starts[query], starts[query + 1])
        places = np.empty(table.shape[1], np.int64)
        places[np.argsort(-table[query], kind="stable")] = np.arange(1, table.shape[1] + 1)
        held = places[relevant[part]]
        inside = np.argsort(held)
        ranks[part], order[part] = held[inside], inside + part.start
    return RelevantRanks(starts, ranks, gains.data.astype(np.float32, copy=False)[order])


def top(scores: ArrayLike, k: int) -> NDArray[np.int64]:
    """The ``k`` best pictures of one query, best first, equal scores in picture order.

    Examples
    --------
    >>> top([0.1, 0.7, 0.7, 0.9], 2).tolist()
    [3, 1]
    """
    row = np.asarray(scores)
    if row.ndim != 1:
        raise BadInput(f"top() ranks one query; got scores of shape {_shape(row.shape)}")
    if k < 0:
        raise BadInput(f"cannot take the {k} best pictures; ask for 0 or more")
    if np.isnan(row).any():
        raise BadInput(f"the score of picture {int(np.isnan(row).argmax())} is NaN")
    chosen = np.arange(row.size)
    if 0 < k < row.size:
        last = np.partition(row, row.size - k)[row.size - k]
        above, level = np.flatnonzero(row > last), np.flatnonzero(row == last)
        chosen = np.sort(np.concatenate([above, level[: k - above.size]]))
    # Reversed twice, a stable ascending sort descends with ties in picture order, for any dtype.
    backwards = chosen[::-1]
    return backwards[np.argsort(row[backwards], kind="stable")][::-1][:k]


def as_scores(scores: ArrayLike) -> NDArray[np.floating]:
    """Scores as a dense C-ordered (Q, n) table, float32 or float64 as they came.

    Narrowing float64 would tie scores that differ, so only other types are converted.
    """
    table = np.asarray(scores)
    if table.dtype not in (np.float32, np.float64):
        try:
            table = table.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise BadInput(f"scores must be a dense array of numbers ({error})") from error
    if table.ndim != 2:
        raise BadInput(f"scores must be queries × pictures; got shape {_shape(table.shape)}")
    return np.ascontiguousarray(table)


def checked_gains(pictures: csr_array) -> csr_array:
    """Gains in canonical CSR form: sorted, without repeats, zeros left out, none negative."""
    from scipy.sparse import csr_array, issparse

    gains = pictures
    if not issparse(gains) or gains.format != "csr":
        gains = csr_array(gains)
    if not gains.has_canonical_format:
        gains = gains.copy()
        gains.sum_duplicates()
    if gains.nnz and not gains.data.min() > 0:
        if not gains.data.min() >= 0:
            raise BadInput("gains must not be negative or NaN; leave out irrelevant pictures")
        gains = gains.copy()
        gains.eliminate_zeros()
    return gains


def _shape(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) or "a single number"
