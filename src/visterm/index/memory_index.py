"""Rows of a text space in memory, searched exactly."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.errors import BadInput
from visterm.index.scan import best

Ids = NDArray[np.int64]
_ROWS_AT_ONCE = 1 << 16


class Index:
    """Text-space rows, such as ``model.transform(X)`` gives, to be searched by query vectors.

    A score is the inner product of a query and a row in single precision. Collections keep rows
    on disk and need none of this; it is for arrays of one's own.

    Parameters
    ----------
    rows
        One row a picture, dense.
    ids
        Their ids, ascending; their positions unless given.

    Examples
    --------
    >>> index = Index([[0, 1, 2], [3, 0, 0], [0, 1, 5]])
    >>> index.search([0, 1, 0.5], k=2)
    (array([2, 0]), array([3.5, 2. ], dtype=float32))
    """

    def __init__(self, rows: ArrayLike, ids: ArrayLike | None = None) -> None:
        self.rows = np.ascontiguousarray(rows, np.float32)
        if self.rows.ndim != 2 or not np.isfinite(self.rows).all():
            raise BadInput("an index needs a matrix of finite numbers, one row a picture")
        self.ids: Ids = np.arange(len(self.rows)) if ids is None else np.asarray(ids, np.int64)
        if self.ids.shape != (len(self.rows),) or (np.diff(self.ids) <= 0).any():
            raise BadInput(f"an index needs {len(self.rows)} ids, ascending, one a row")

    def __len__(self) -> int:
        return len(self.rows)

    def search(
        self, query: Any, k: int, *, allow: ArrayLike | None = None
    ) -> tuple[Ids, NDArray[np.float32]]:
        """The ids and scores of the ``k`` best pictures, best first; equal scores by smaller id.

        Parameters
        ----------
        query
            A vector, or a matrix, sparse or dense, of one query a row; so are the answers then.
        k
            How many pictures; fewer come back where there are fewer.
        allow
            The ids of the only pictures that may be found.
        """
        queries = query.toarray() if hasattr(query, "toarray") else np.asarray(query)
        queries = queries.astype(np.float32)
        if not np.isfinite(queries).all() or queries.shape[-1] != self.rows.shape[1]:
            raise BadInput(
                f"a query must hold {self.rows.shape[1]} finite numbers; this one has shape "
                f"{queries.shape}"
            )
        if operator.index(k) < 0:
            raise BadInput(f"k must be 0 or more pictures, not {k}")
        ids, rows = self.ids, self.rows
        if allow is not None:
            kept = np.isin(ids, allow)
            ids, rows = ids[kept], rows[kept]
        if queries.ndim == 1:
            return best(ids, _scores(rows, queries), k)
        ranked = [best(ids, _scores(rows, vector), k) for vector in queries]
        if not ranked:
            return np.empty((0, 0), np.int64), np.empty((0, 0), np.float32)
        return np.stack([i for i, _ in ranked]), np.stack([s for _, s in ranked])


def _scores(rows: NDArray[np.float32], query: NDArray[np.float32]) -> NDArray[np.float32]:
    """Inner products; of a sparse query only the columns that count are read."""
    used = np.flatnonzero(query)
    if used.size * 4 < query.size:
        rows, query = rows[:, used], query[used]
    parts = [
        rows[first : first + _ROWS_AT_ONCE] @ query for first in range(0, len(rows), _ROWS_AT_ONCE)
    ]
    return np.concatenate([np.empty(0, np.float32), *parts])
