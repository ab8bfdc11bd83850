"""Concept SVM: one-vs-rest SVMs, one for each word; a query averages their decision values.

``s_t(p) = w_t·p + b_t`` separates the pictures whose captions hold t from the others,
``z_t(p) = (s_t(p) − m_t) / d_t`` with its mean and deviation over the training pictures, and a
query ranks by the mean of ``z_t(p)`` over its words.

The baseline of D. Grangier and S. Bengio, A discriminative kernel-based approach to rank images
from text queries, IEEE TPAMI 30(8), 2008, with the fusion they name in section II-A.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix

from visterm.errors import BadInput
from visterm.evaluation import mean_average_precision
from visterm.models import rules
from visterm.models.base import Model
from visterm.models.inputs import Vectors, dense, is_sparse
from visterm.models.rules import AUTO, Rule, Rules, Tuned
from visterm.models.selection import Choice, Task, Trial, always, quality
from visterm.models.supervision import Supervision
from visterm.progress import Progress, silent
from visterm.text import Relevance


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


@dataclass(eq=False, repr=False, kw_only=True)
class ConceptSvm(Model):
    """A linear or kernel SVM for each word.

    Parameters
    ----------
    C : float, sequence of float or "auto"
        Weight of the training errors; of several, each word takes the one with the best AvgP of
        that word on validation pictures. A word that no validation picture answers takes the one
        with the best AvgP over all queries.
    word_C : sequence of float, optional
        C of each word, as an earlier fit chose; C is then not looked at.
    kernel : {"linear", "precomputed"}
        Precomputed: X is the square Gram matrix of the training pictures in `fit`, and the kernels
        of other pictures (rows) with the training pictures (columns) elsewhere.
    balanced : bool
        Weigh the errors of a word's pictures and of the others so that both count alike in all.
    fusion : {"average", "weighted"}
        Average the scores of a query's words, as the paper does; or weigh them as the query vector
        weighs its words. See Notes.
    retrain : bool
        Learn again from training and validation pictures, with C as chosen. Linear only: a
        precomputed kernel says nothing of validation pictures among themselves.
    max_words : int, optional
        Largest query made from the captions of validation pictures; None makes them all.
    n_jobs : int, optional
        Threads or processes; None uses all cores. The result is the same for any number.

    Attributes
    ----------
    weights_ : array of shape (T, d)
        w_t; for a precomputed kernel the signed dual coefficients of the training pictures.
    intercept_, mean_, deviation_ : arrays of shape (T,)
        b_t, m_t and d_t.
    idf_ : array of shape (T,)
    word_C_ : array of shape (T,)
        The C of each word.
    C_ : float
        The C of words that validation pictures are silent about.
    validation_ : float
        AvgP on validation pictures, NaN without them.

    Notes
    -----
    A query vector carries ``q_t ∝ idf_t``, but the paper averages plain scores. So
    ``f_t(p) = z_t(p) / idf_t`` with ``fusion="average"``: the weights cancel in ``q·f(p)`` up to a
    factor of the query's, which moves no picture. On Corel validation pictures neither of the two
    was better throughout.

    Mean and deviation are those over the training pictures, kept from `fit`: a picture's score
    never depends on who is mapped with it. Held-out pictures would give almost the same.

    A word that every caption holds, or none, has nothing to separate: its score is always 0.

    The linear SVM has the squared hinge loss, solved in the dual where there are fewer pictures
    than numbers (several times as fast there), else in the primal; a fit can be repeated, on any
    number of cores. The kernel SVM has the plain hinge loss.

    Examples
    --------
    >>> pictures = np.array([[1.0, 0.0], [0.8, 0.2], [0.0, 1.0], [0.1, 0.9]])
    >>> captions = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])  # sun, sun, sea, sea
    >>> model = ConceptSvm(C=1.0).fit(pictures, captions)
    >>> model.transform([[1.0, 0.0]]).argmax(axis=1)
    array([0])
    """

    name = "concept-svm"
    earlier_names = ("concept_svm",)
    captions_only = True
    arrays = ("weights_", "intercept_", "mean_", "deviation_", "idf_", "word_C_")
    decides: ClassVar[Rules] = {
        "C": rules.POSITIVE,
        "word_C": Rule(lambda value: True, "a number for each word", False),
    }
    checks: ClassVar[Rules] = {
        "kernel": rules.one_of("linear", "precomputed"),
        "fusion": rules.one_of("average", "weighted"),
        "n_jobs": rules.THREADS,
    }

    C: Tuned[float] = AUTO
    word_C: Sequence[float] | None = None
    kernel: str = "linear"
    balanced: bool = False
    fusion: str = "average"
    n_jobs: int | None = None

    def _choices(self, grid: dict[str, list[Any]]) -> list[Choice]:
        return [{"C": grid["C"], "word_C": grid["word_C"][0]}]  # each word chooses for itself

    def _run(
        self, task: Task, prepared: Supervision, choice: Choice, progress: Progress
    ) -> Iterator[Trial]:
        captions = prepared.captions
        words, weights = np.arange(captions.shape[1]), self._fusion_weights(prepared.idf)
        table = self._table(choice, len(words))
        each, common, rows = table[0], float(choice["C"][0]), np.empty((0, 0))
        last = progress if task.held is None else silent
        if task.held is not None and task.held.relevance is not None:
            tried = self._tried(prepared, task.held.vectors, table, progress)
            picks, overall = _best_each(tried, task.held.relevance, weights)
            each, common = table[picks, words], float(choice["C"][overall])
            rows = tried[picks, words].T * weights
        chosen = {"C": common, "word_C": each}
        yield Trial(chosen, always(rows), always(lambda: self._learnt(prepared, each, last)))

    def _map(self, vectors: Vectors) -> NDArray[np.float32]:
        scores = np.asarray(vectors @ self.weights_.T, dtype=np.float64) + self.intercept_
        rows = standardised(scores, self.mean_, self.deviation_)
        return (rows * self._fusion_weights(self.idf_)).astype(np.float32)

    def _fusion_weights(self, idf: NDArray[np.float64]) -> NDArray[np.float64]:
        """What a score is multiplied with; a word of idf 0 is in every caption, and scores 0."""
        if self.fusion == "weighted":
            return np.ones(len(idf))
        return 1.0 / np.where(idf > 0, idf, 1.0)

    def _table(self, choice: Choice, words: int) -> NDArray[np.float64]:
        """The C to try, one row a candidate, one column a word."""
        if choice["word_C"] is None:
            return np.tile(np.array(choice["C"], dtype=np.float64)[:, None], words)
        given = np.asarray(choice["word_C"], dtype=np.float64)
        if given.shape != (words,) or not (np.isfinite(given) & (given > 0)).all():
            raise BadInput(f"word_C needs a positive number for each of the {words} words")
        return given[None, :]

    def _tried(
        self, training: Supervision, held: Vectors, table: NDArray[np.float64], progress: Progress
    ) -> NDArray[np.float32]:
        """Standardised scores of the held pictures: candidates × words × pictures."""
        tried = np.empty((*table.shape, held.shape[0]), dtype=np.float32)
        for word, svms in enumerate(self._svms(training, table)):
            for candidate, svm in enumerate(svms):
                tried[candidate, word] = svm.scores(held)
            progress("choosing", word + 1, table.shape[1])
        return tried

    def _learnt(
        self, training: Supervision, each: NDArray[np.float64], progress: Progress
    ) -> dict[str, Any]:
        """The SVM of every word, with its own C."""
        learnt = []
        for (svm,) in self._svms(training, each[None, :]):
            learnt.append(svm)
            progress("training", len(learnt), len(each))
        return {
            "weights_": np.array([svm.weights for svm in learnt], dtype=np.float32),
            "intercept_": np.array([svm.intercept for svm in learnt]),
            "mean_": np.array([svm.mean for svm in learnt]),
            "deviation_": np.array([svm.deviation for svm in learnt]),
        }

    def _svms(self, training: Supervision, table: NDArray[np.float64]) -> Iterator[list[WordSvm]]:
        solver = OneVsRest(self.kernel, self.balanced, self.n_jobs)
        return solver.fit(training.vectors, training.captions, table)


def _best_each(
    tried: NDArray[np.float32], relevance: Relevance, weights: NDArray[np.float64]
) -> tuple[NDArray[np.intp], int]:
    """The best candidate of each word by its own AvgP, and the best one over all queries."""
    overall = int(np.argmax([quality(scores.T * weights, relevance) for scores in tried]))
    picks = np.full(tried.shape[1], overall)
    alone = relevance.take((relevance.words_per_query == 1) & (relevance.relevant_per_query > 0))
    for query, word in enumerate(alone.queries.indices):
        answers = alone.pictures[[query]]
        reached = [mean_average_precision(scores[[word]], answers) for scores in tried]
        # Between equals, what is best over all queries.
        picks[word] = overall if reached[overall] == max(reached) else int(np.argmax(reached))
    return picks, overall
