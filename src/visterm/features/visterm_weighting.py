"""Visterm counts to picture vectors: tf·idf with unit length, channel by channel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from visterm.matrices import count_rows, unit_rows, with_values


def count_visterms(numbers: NDArray[np.int64], size: int) -> csr_array:
    """Pictures × visterms counts from the visterm numbers of each picture (one row a picture).

    >>> count_visterms(np.array([[0, 2, 2]]), 3).toarray()
    array([[1., 0., 2.]], dtype=float32)
    """
    return count_rows(numbers.ravel(), np.full(len(numbers), numbers.shape[1]), size)


def visterm_weights(counts: csr_array) -> NDArray[np.float32]:
    """idf, ``−log r_v``, r_v the fraction of pictures that show visterm v.

    >>> visterm_weights(csr_array(np.array([[2.0, 1.0], [1.0, 0.0]])))
    array([0.       , 0.6931472], dtype=float32)
    """
    showing = np.bincount(counts.indices, minlength=counts.shape[1])
    return (0.0 - np.log(np.maximum(showing, 0.5) / counts.shape[0])).astype(np.float32)


def weigh_visterms(counts: csr_array, idf: NDArray[np.float32], *, root: bool) -> csr_array:
    """``tf · idf`` with unit length; ``root`` takes √tf, which keeps large areas from shouting.

    >>> weigh_visterms(count_visterms(np.array([[0, 1, 1, 1, 1]]), 2), np.ones(2), root=True).data
    array([0.4472136, 0.8944272], dtype=float32)
    """
    return unit_rows(tfidf(counts, idf, root=root))


def tfidf(counts: csr_array, idf: NDArray[np.float32], *, root: bool) -> csr_array:
    """``tf · idf`` as it is, for those who normalise later.

    >>> tfidf(csr_array(np.array([[4.0, 1.0]])), np.array([1.0, 3.0]), root=False).data
    array([4., 3.], dtype=float32)
    """
    frequency = np.sqrt(counts.data) if root else counts.data
    return with_values(counts, (frequency * idf[counts.indices]).astype(np.float32))


def join_channels(channels: Sequence[csr_array]) -> csr_array:
    """Channels side by side, normalised after joining.

    >>> one = csr_array(np.array([[1.0]]))
    >>> join_channels([one, one]).toarray().round(3).tolist()
    [[0.707, 0.707]]
    """
    return unit_rows(csr_array(hstack(channels, format="csr")))
