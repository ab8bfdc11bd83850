"""How much each word of a query or caption counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput
from visterm.matrices import row_lengths, unit_rows, with_values

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def inverse_frequency(captions: csr_array) -> NDArray[np.float64]:
    """``idf_t = −log r_t``, r_t the fraction of captions that hold word t.

    A word that no caption holds weighs as one that half a caption holds: rarer than every seen
    word, and finite.

    >>> from scipy.sparse import csr_array
    >>> inverse_frequency(csr_array(np.array([[1, 1, 0], [1, 0, 0]]))).round(3).tolist()
    [0.0, 0.693, 1.386]
    """
    n = captions.shape[0]
    if n == 0:
        raise BadInput("no captions: word weights need at least one")
    holding = np.bincount(captions.indices[captions.data != 0], minlength=captions.shape[1])
    # 0.0 − log, not −log: a word in every caption gets 0, not −0.
    return 0.0 - np.log(np.maximum(holding, 0.5) / n)


def weigh_queries(words: csr_array, idf: NDArray[np.floating], *, binary: bool = True) -> csr_array:
    """Query vectors ``q_t ∝ b_t · idf_t`` with unit length.

    Parameters
    ----------
    words : csr_array of shape (Q, T)
        How often each query holds each word; negative entries (unwanted words) are allowed.
    idf : array of shape (T,)
    binary : bool
        Presence (the TPAMI set-up) instead of term frequency (the ECML one).

    Notes
    -----
    Where every word of a query has idf 0 the formula has nothing to divide by; such a query
    weighs its words alike, so that it still ranks pictures by them. Words keep their stored entry
    even at weight 0: a query remembers its words.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> words = csr_array(np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 1.0]]))
    >>> weigh_queries(words, np.array([1.0, 1.0, 0.0]), binary=False).toarray().round(1)
    array([[0.4, 0.9, 0. ],
           [0. , 0. , 1. ]], dtype=float32)
    """
    if words.shape[1] != len(idf):
        raise BadInput(f"queries over {words.shape[1]} words but {len(idf)} word weights")
    counts = np.sign(words.data) if binary else words.data.astype(np.float64)
    values = counts * np.asarray(idf, dtype=np.float64)[words.indices]
    weighed = with_values(words, values)
    weightless = np.repeat(row_lengths(weighed) == 0, np.diff(words.indptr))
    if weightless.any():
        weighed = with_values(words, np.where(weightless, counts, values))
    return unit_rows(weighed).astype(np.float32)
