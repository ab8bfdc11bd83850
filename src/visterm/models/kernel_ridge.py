"""Kernel ridge regression: how likely each word is, through how alike pictures are.

``f_t(p) = log max(ŷ_t(p), ε)`` with ``ŷ(p) = Yᵀ (K + λI)⁻¹ k(p)``: K the kernel between training
pictures, Y their words as 0 and 1, k(p) the kernel between p and them. The squared loss makes ŷ an
estimate of the probability of a word, so that a query adds up logarithms, as if words were
independent given the picture; what is below ε, or below nothing, is not known well enough to count.

C. Saunders, A. Gammerman and V. Vovk, Ridge regression learning algorithm in dual variables,
ICML 1998.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.kernels import Kernel, kernel_from_json
from visterm.models import rules
from visterm.models.base import Model
from visterm.models.inputs import Vectors, dense
from visterm.models.pamir.kernel_pamir import fresh_kernel
from visterm.models.rules import AUTO, Rules, Tuned
from visterm.models.selection import Choice, Task
from visterm.progress import Progress

_ROWS = 4096
"""New pictures that are compared with the training pictures at a time."""
_TABLE_BYTES = 4 << 30
"""A table of all pairs of pictures may take so much; solving needs as much again."""


class _Compared(NamedTuple):
    """Training pictures, their kernel with each other, and their words."""

    kernel: Kernel
    vectors: NDArray[np.float32]
    table: NDArray[np.float32]
    words: csr_array


@dataclass(eq=False, repr=False, kw_only=True)
class KernelRidge(Model):
    """Log-probabilities of words by kernel ridge regression.

    Parameters
    ----------
    kernel : str or Kernel
        A kernel of `visterm.kernels` between vectors.
    alpha : float, sequence of float or "auto"
        λ: how much less the training pictures are trusted.
    floor : float
        ε, the least probability that is told apart.
    retrain : bool
        Learn again from training and validation pictures, with what was chosen.
    max_words : int, optional
        Largest query made from the captions of validation pictures; None makes them all.

    Attributes
    ----------
    coefficients_ : array of shape (T, n), float32
        ``((K + λI)⁻¹ Y)ᵀ``
    vectors_ : array of shape (n, d)
        The training pictures.
    kernel_ : dict
        The fitted kernel, as JSON.
    alpha_, validation_ : what was chosen, and its AvgP on validation pictures.

    Examples
    --------
    >>> pictures = np.array([[0.0], [1.0], [5.0], [6.0], [9.0], [10.0]])  # near, far, near
    >>> captions = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [1, 0], [1, 0]])
    >>> model = KernelRidge().fit(pictures, captions)
    >>> model.transform([[0.5], [5.5], [9.5]]).argmax(axis=1)
    array([0, 1, 0])
    """

    name = "kernel-ridge"
    earlier_names = ("kernel_ridge",)
    captions_only = True
    arrays = ("coefficients_", "vectors_", "idf_")
    facts = ("kernel_",)
    decides: ClassVar[Rules] = {"alpha": rules.POSITIVE}
    checks: ClassVar[Rules] = {"floor": rules.POSITIVE}

    kernel: str | Kernel = "rbf"
    alpha: Tuned[float] = AUTO
    floor: float = 0.01
    max_words: int | None = None

    def _prepare(self, task: Task) -> _Compared:
        vectors = dense(task.training.vectors)
        n = len(vectors)
        if 4 * n * n > _TABLE_BYTES:
            raise BadInput(
                f"kernel ridge regression compares {n:,} pictures with each other, which takes "
                f"{4 * n * n / 2**30:.0f} GiB; learn from fewer, or take kernel-pamir with "
                "n_components"
            )
        words = csr_array(task.training.captions > 0)
        kernel = fresh_kernel(self.kernel).fit(vectors)
        task.progress("comparing pictures", 0, 1)
        return _Compared(kernel, vectors, kernel(vectors), words)

    def _learn(self, prepared: _Compared, choice: Choice, progress: Progress) -> dict[str, Any]:
        from scipy.linalg import cho_factor, cho_solve

        kernel, vectors, table, words = prepared
        system = table + np.float32(choice["alpha"]) * np.eye(len(table), dtype=np.float32)
        known = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        found = cho_solve(known, words.toarray().astype(np.float32), check_finite=False)
        return {
            "coefficients_": np.ascontiguousarray(found.T, np.float32),
            "vectors_": vectors,
            "kernel_": kernel.to_json(),
        }

    def _estimates(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        kernel = kernel_from_json(self.kernel_)
        parts = (vectors[i : i + _ROWS] for i in range(0, len(vectors), _ROWS))
        return np.concatenate(
            [kernel(part, self.vectors_) @ self.coefficients_.T for part in parts]
        )

    def _map(self, vectors: Vectors) -> NDArray[np.float32]:
        return np.log(np.maximum(self._estimates(dense(vectors)), np.float32(self.floor)))
