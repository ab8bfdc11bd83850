"""Kinds of queries that the papers look at apart: by words, by answers, by what training held."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.errors import BadInput

if TYPE_CHECKING:
    from visterm.text.relevance import Relevance

EASY = 3  # relevant pictures, after Grangier and Bengio, TPAMI 2008


def slices(relevance: Relevance, seen: ArrayLike | None = None) -> dict[str, NDArray[np.bool_]]:
    """A mask over the queries for each slice, to be given to ``Evaluation.slice``.

    ``single`` and ``multi`` count the words, ``easy`` queries have three relevant pictures or more
    and ``difficult`` ones fewer. With the mask ``seen`` (see :func:`seen_queries`) there are
    ``seen`` and ``unseen`` too.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from visterm.text import Relevance
    >>> words = csr_array(np.float32([[1, 0], [1, 1]]))
    >>> relevance = Relevance(words, csr_array(np.float32([[1, 1, 1], [1, 0, 0]])))
    >>> {name: mask.tolist() for name, mask in slices(relevance).items()}
    {'single': [True, False], 'multi': [False, True],
     'easy': [True, False], 'difficult': [False, True]}
    """
    words = np.diff(relevance.queries.indptr)
    easy = np.diff(relevance.pictures.indptr) >= EASY
    masks = {"single": words == 1, "multi": words > 1, "easy": easy, "difficult": ~easy}
    if seen is not None:
        known = np.asarray(seen)
        if known.dtype != np.bool_ or known.shape != words.shape:
            raise BadInput(
                f"seen needs one true or false for each of the {len(words)} queries; "
                f"got {known.dtype} of shape {known.shape}"
            )
        masks |= {"seen": known, "unseen": ~known}
    return masks


def seen_queries(test: Relevance, *training: Relevance) -> NDArray[np.bool_]:
    """Which test queries are, as sets of words, queries of the training relevance as well.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from visterm.text import Relevance
    >>> picture = csr_array(np.ones((2, 1), dtype=np.float32))
    >>> test = Relevance(csr_array(np.float32([[1, 0], [0.6, 0.8]])), picture)
    >>> training = Relevance(csr_array(np.float32([[0.8, 0.6], [0, 1]])), picture)
    >>> seen_queries(test, training).tolist()
    [False, True]
    """
    known: set[bytes] = set()
    for relevance in training:
        if relevance.queries.shape[1] != test.queries.shape[1]:
            raise BadInput(
                f"training queries are over {relevance.queries.shape[1]} words and test queries "
                f"over {test.queries.shape[1]}; both need the same vocabulary"
            )
        known.update(_word_sets(relevance))
    return np.array([words in known for words in _word_sets(test)], dtype=np.bool_)


def _word_sets(relevance: Relevance) -> list[bytes]:
    # The stored entries are the words, whatever their weight; sorted bytes are a set one can hash.
    indices = relevance.queries.indices.astype(np.int64)
    return [
        np.unique(indices[start:end]).tobytes() for start, end in pairwise(relevance.queries.indptr)
    ]
