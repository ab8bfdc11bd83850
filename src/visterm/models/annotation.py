"""What the generative models share: they guess a picture's words, and search the guess as text.

``f_t(p) = P(t|p)·idf_t / ‖P(·|p)·idf‖``: the caption a model expects, weighed as a written one.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.matrices import unit_rows, with_values
from visterm.models.base import Model
from visterm.models.inputs import Vectors, is_sparse, picture_vectors
from visterm.models.supervision import Captions, Supervision


class Annotator(Model):
    """A model of P(t|p) that learns from visterm counts and captions."""

    takes: ClassVar[str] = "counts"
    captions_only: ClassVar[bool] = True

    power_: float

    def _probabilities(self, counts: csr_array) -> NDArray[np.float64]:
        raise NotImplementedError

    def word_probabilities(self, X: ArrayLike | csr_array) -> NDArray[np.float64]:
        """P(t|p) of shape (n, T): what each picture's caption would say; rows sum to one."""
        self._check_fitted()
        counts = visterm_counts(X, width=self.n_features_in_)
        return self._probabilities(damped(counts, self.power_))

    def _map(self, vectors: Vectors) -> NDArray[np.float32]:
        counts = damped(visterm_counts(vectors), self.power_)
        return as_text(self._probabilities(counts), self.idf_)

    def _vectors(self, X: ArrayLike | csr_array, width: int | None = None) -> csr_array:
        return visterm_counts(X, width=width)

    def _supervise(self, vectors: Vectors, Y: Captions, initial: Model | None) -> Supervision:
        training = Supervision(vectors, self._texts(Y, vectors.shape[0]))
        if csr_array(vectors).nnz == 0:
            raise BadInput("no picture holds a visterm: there is nothing to learn from")
        return training


def as_text(probabilities: NDArray[np.float64], idf: NDArray[np.float64]) -> NDArray[np.float32]:
    """``P(t|p)·idf_t`` with unit length; a row without weight stays zero.

    >>> as_text(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([0.0, 2.0])).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    return unit_rows(probabilities * idf).astype(np.float32)


def visterm_counts(X: ArrayLike | csr_array, *, width: int | None = None) -> csr_array:
    """Check visterm counts: any picture vectors without a negative number, as compressed rows.

    >>> visterm_counts([[0, 2], [1, 0]]).nnz
    2
    """
    vectors = picture_vectors(X, width=width)
    counts = vectors if is_sparse(vectors) else csr_array(vectors)
    if (counts.data < 0).any():
        raise BadInput(
            "visterm counts hold negative numbers; this model counts visterms, so give it the "
            "counts of a codebook, not vectors"
        )
    if (counts.data == 0).any():
        counts = counts.copy()
        counts.eliminate_zeros()
    return counts


def damped(counts: csr_array, power: float) -> csr_array:
    """Counts raised to a power of at most 1, so that large plain areas do not speak for all.

    >>> damped(csr_array(np.array([[0.0, 4.0]])), 0.5).toarray().tolist()
    [[0.0, 2.0]]
    """
    if power == 1:
        return counts
    return with_values(counts, counts.data**power)


def shares(matrix: csr_array) -> csr_array:
    """Rows divided by their sums, so that each is a distribution; an empty row stays empty.

    >>> shares(csr_array(np.array([[1.0, 3.0], [0.0, 0.0]]))).toarray().tolist()
    [[0.25, 0.75], [0.0, 0.0]]
    """
    divided = csr_array(matrix, dtype=np.float64, copy=True)
    total = np.asarray(divided.sum(axis=1)).ravel()
    divided.data /= np.repeat(total, np.diff(divided.indptr))
    return divided


def frequencies(matrix: csr_array) -> NDArray[np.float64]:
    """Each column's part of the whole.

    >>> frequencies(csr_array(np.array([[1, 3], [0, 4]]))).tolist()
    [0.125, 0.875]
    """
    total = np.asarray(matrix.sum(axis=0), dtype=np.float64).ravel()
    return total / total.sum()
