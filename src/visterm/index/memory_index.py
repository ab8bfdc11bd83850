"""Rows of a text space in memory, searched exactly, and pictures ranked by a model in one call."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.errors import BadInput
from visterm.index.scan import best

if TYPE_CHECKING:
    from scipy.sparse import sparray

    from visterm.text.spaces import TextSpace
    from visterm.text.vocabulary import Vocabulary

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


class MapsPictures(Protocol):
    """A fitted model, of visterm or one's own: pictures in, rows of the text space out."""

    def transform(self, X: Any) -> NDArray[np.floating]: ...


def rank(
    model: MapsPictures,
    queries: str | Sequence[str] | ArrayLike | sparray,
    X: Any,
    k: int = 10,
    *,
    text_space: Vocabulary | TextSpace | None = None,
) -> tuple[Ids, NDArray[np.float32]]:
    """The ``k`` best pictures of each query and their scores, best first; equal scores by row.

    The same as an `Index` of ``model.transform(X)`` gives, which is what to build where the same
    pictures are searched often.

    Parameters
    ----------
    model
        Anything fitted with ``transform``.
    queries
        Texts, with the ``text_space`` that the model was trained in, or query vectors: a matrix,
        sparse or dense, of one query a row. A single text or vector gives answers without rows.
    X
        Vectors of the pictures, as the model takes them. Their ids are their rows.
    k
        How many pictures a query; fewer come back where there are fewer.
    text_space
        The vocabulary or text space that turns texts into vectors. A text of which it knows no
        word scores every picture 0.

    Returns
    -------
    ids, scores : arrays of shape (queries, k)

    Examples
    --------
    >>> from visterm import Pamir, Vocabulary
    >>> captions, X = ["sun sea", "snow", "sea"], [[1.0, 0.6], [0.0, 0.2], [0.1, 0.9]]
    >>> words = Vocabulary.from_captions(captions)
    >>> model = Pamir(max_iter=200).fit(X, words.counts(captions))
    >>> ids, scores = rank(model, ["sea", "snow"], X, k=2, text_space=words)
    >>> ids.tolist()
    [[0, 2], [1, 2]]
    """
    if isinstance(queries, str):
        ids, scores = rank(model, [queries], X, k, text_space=text_space)
        return ids[0], scores[0]
    return Index(model.transform(X)).search(_vectors(queries, text_space), k)


def _vectors(queries: Any, text_space: Vocabulary | TextSpace | None) -> Any:
    if text_space is not None:
        from visterm.text.spaces.space import texts_of

        embed = getattr(text_space, "query_vectors", None) or getattr(text_space, "queries", None)
        if embed is None:
            raise BadInput(f"a {type(text_space).__name__} is no vocabulary and no text space")
        return embed(texts_of(queries))
    if hasattr(queries, "tocsr"):
        return queries
    if isinstance(next(iter(queries), None), str):
        raise BadInput("give the text_space that turns texts into vectors, or query vectors")
    return np.asarray(queries, dtype=np.float32)
