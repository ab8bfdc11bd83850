"""One-vs-rest SVMs of the concept SVM: a binary one for each word, learnt on all cores."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix

from visterm.models.inputs import Vectors, dense, is_sparse


@dataclass(frozen=True)
class WordSvm:
    """One word's SVM, with mean and deviation of its scores over the training pictures."""

    weights: NDArray[np.float64]
    intercept: float
    mean: float
    deviation: float

    def scores(self, vectors: Vectors) -> NDArray[np.float64]:
        plain = np.asarray(vectors @ self.weights.astype(np.float32)) + self.intercept
        return standardised(plain, np.float64(self.mean), np.float64(self.deviation))


@dataclass(frozen=True)
class OneVsRest:
    """How they are learnt: "linear" or "precomputed" kernel, errors balanced or not, threads."""

    kernel: str
    balanced: bool
    n_jobs: int | None

    def fit(
        self, vectors: Vectors, captions: csr_array, table: NDArray[np.float64]
    ) -> Iterator[list[WordSvm]]:
        """For each word, in order, one for each C of its column in the table."""
        from joblib import Parallel, delayed

        by_word = captions.tocsc()
        prepared = _for_solvers(vectors, sparse=self.kernel == "linear")

        def learn(word: int) -> list[WordSvm]:
            holds = np.zeros(captions.shape[0], dtype=bool)
            holds[by_word.indices[by_word.indptr[word] : by_word.indptr[word + 1]]] = True
            return [self._word_svm(prepared, holds, float(c)) for c in table[:, word]]

        # Threads copy nothing, but all of a process share the dual solver's random numbers.
        kind = "processes" if self._is_dual(prepared) else "threads"
        jobs = self.n_jobs or os.cpu_count() or 1
        pool = Parallel(n_jobs=jobs, prefer=kind, return_as="generator")
        yield from pool(delayed(learn)(word) for word in range(captions.shape[1]))

    def _is_dual(self, vectors: csr_matrix | NDArray[np.float64]) -> bool:
        """Whether the dual problem, with a variable a picture, is the smaller one."""
        return self.kernel == "linear" and vectors.shape[0] < vectors.shape[1]

    def _word_svm(
        self, vectors: csr_matrix | NDArray[np.float64], holds: NDArray[np.bool_], c: float
    ) -> WordSvm:
        from sklearn.svm import SVC, LinearSVC

        if holds.all() or not holds.any():
            return WordSvm(np.zeros(vectors.shape[1]), 0.0, 0.0, 0.0)
        balance = "balanced" if self.balanced else None
        if self.kernel == "linear":
            svm = LinearSVC(
                C=c,
                dual=self._is_dual(vectors),
                class_weight=balance,
                tol=1e-3,
                max_iter=10_000,
                random_state=0,
            )
            weights = svm.fit(vectors, holds).coef_[0]
        else:
            svm = SVC(C=c, kernel="precomputed", class_weight=balance).fit(vectors, holds)
            weights = np.zeros(vectors.shape[1])
            weights[svm.support_] = svm.dual_coef_[0]
        intercept = float(np.ravel(svm.intercept_)[0])
        scores = vectors @ weights + intercept
        return WordSvm(weights, intercept, float(scores.mean()), float(scores.std()))


def standardised(
    scores: NDArray[np.float64],
    mean: NDArray[np.float64] | np.float64,
    deviation: NDArray[np.float64] | np.float64,
) -> NDArray[np.float64]:
    """Scores in deviations from their mean; 0 where a word scores all training pictures alike.

    >>> standardised(np.array([3.0, 3.0]), np.array([1.0, 3.0]), np.array([2.0, 0.0]))
    array([1., 0.])
    """
    varies = deviation > 1e-9 * (1.0 + np.abs(mean))
    return np.where(varies, (scores - mean) / np.where(varies, deviation, 1.0), 0.0)


def _for_solvers(vectors: Vectors, *, sparse: bool) -> csr_matrix | NDArray[np.float64]:
    """Vectors as the solvers take them, made once for all words: float64, 32-bit indices."""
    if not (sparse and is_sparse(vectors)):
        return np.ascontiguousarray(dense(vectors), dtype=np.float64)
    indices = (index.astype(np.int32) for index in (vectors.indices, vectors.indptr))
    return csr_matrix((vectors.data.astype(np.float64), *indices), shape=vectors.shape)
