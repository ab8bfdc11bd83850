"""Pictures ranked by a model for queries, in one call and without an index to keep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.errors import BadInput
from visterm.index.memory_index import Ids, Index

if TYPE_CHECKING:
    from scipy.sparse import sparray

    from visterm.text.spaces import TextSpace
    from visterm.text.vocabulary import Vocabulary


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
