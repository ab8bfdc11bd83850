"""Concept SVM: one support vector machine a word; a query averages the scores of its words.

``s_t(p) = w_t·p + b_t`` separates the pictures whose captions hold t from the others,
``z_t(p) = (s_t(p) − m_t) / d_t`` with its mean and deviation over the training pictures, and a
query ranks by the mean of ``z_t(p)`` over its words.

The baseline of D. Grangier and S. Bengio, A discriminative kernel-based approach to rank images
from text queries, IEEE TPAMI 30(8), 2008, with the fusion they name in section II-A.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, vstack

from visterm.errors import BadInput
from visterm.evaluation import mean_average_precision
from visterm.models._one_vs_rest import Machine, Workshop, standardised
from visterm.models.annotation import caption_words
from visterm.models.base import Captions, Model, Validation
from visterm.models.inputs import Vectors, picture_vectors, stack, word_matrix
from visterm.models.selection import candidates, held_relevance, quality
from visterm.progress import Progress, silent
from visterm.text import Relevance
from visterm.text.weighting import inverse_frequency


class ConceptSvm(Model):
    """One linear or kernel SVM a word.

    Parameters
    ----------
    C : float or sequence of float
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
        Threads; None uses all cores. The result is the same for any number.

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

    The linear SVM has the squared hinge loss, solved in the primal, which draws no random number:
    a fit can be repeated, on any number of threads. The kernel SVM has the plain hinge loss.

    Examples
    --------
    >>> pictures = np.array([[1.0, 0.0], [0.8, 0.2], [0.0, 1.0], [0.1, 0.9]])
    >>> captions = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])  # sun, sun, sea, sea
    >>> model = ConceptSvm(C=1.0).fit(pictures, captions)
    >>> model.transform([[1.0, 0.0]]).argmax(axis=1)
    array([0])
    """

    name = "concept_svm"
    arrays = ("weights_", "intercept_", "mean_", "deviation_", "idf_", "word_C_")
    facts = ("n_features_in_", "C_", "validation_")
    decides = ("C", "word_C")

    weights_: NDArray[np.float32]
    intercept_: NDArray[np.float64]
    mean_: NDArray[np.float64]
    deviation_: NDArray[np.float64]
    idf_: NDArray[np.float64]
    word_C_: NDArray[np.float64]
    C_: float
    validation_: float

    def __init__(
        self,
        C: float | Sequence[float] = 1.0,
        word_C: Sequence[float] | None = None,
        kernel: str = "linear",
        balanced: bool = False,
        fusion: str = "average",
        retrain: bool = False,
        max_words: int | None = 4,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.word_C = word_C
        self.kernel = kernel
        self.balanced = balanced
        self.fusion = fusion
        self.retrain = retrain
        self.max_words = max_words
        self.n_jobs = n_jobs

    def fit(
        self,
        X: ArrayLike | csr_array,
        Y: Captions,
        *,
        validation: Validation | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from picture vectors, or their Gram matrix, and captions (pictures × words)."""
        offered = self._checked(validation)
        vectors = picture_vectors(X)
        captions = caption_words(Y, vectors.shape[0])
        self._check_kernel(vectors)
        table, idf = self._table(offered, captions.shape[1]), inverse_frequency(captions)
        each, common, best = table[0], float(offered[0]), float("nan")
        report = progress or silent
        if validation is not None:
            held = picture_vectors(validation[0], width=vectors.shape[1])
            relevance = held_relevance(validation[1], held.shape[0], idf, self.max_words)
            if self.retrain and isinstance(validation[1], Relevance):
                raise BadInput("retrain needs captions of the validation pictures, not Relevance")
            tried = self._tried(vectors, captions, held, table, report)
            picks, overall = _best_each(tried, relevance, self._fusion_weights(idf))
            words = np.arange(captions.shape[1])
            each, common = table[picks, words], float(offered[overall])
            best = quality(tried[picks, words].T * self._fusion_weights(idf), relevance)
            if self.retrain:
                told = word_matrix(validation[1], held.shape[0], words=len(words))
                vectors = stack(vectors, held)
                captions = csr_array(vstack([captions, told], format="csr"))
        machines = self._learnt(vectors, captions, each, report)
        self.weights_ = np.array([machine.weights for machine in machines], dtype=np.float32)
        self.intercept_ = np.array([machine.intercept for machine in machines])
        self.mean_ = np.array([machine.mean for machine in machines])
        self.deviation_ = np.array([machine.deviation for machine in machines])
        self.idf_, self.n_features_in_ = inverse_frequency(captions), vectors.shape[1]
        self.word_C_, self.C_, self.validation_ = each, common, best
        return self

    def _map(self, vectors: Vectors) -> NDArray[np.float32]:
        scores = np.asarray(vectors @ self.weights_.T, dtype=np.float64) + self.intercept_
        rows = standardised(scores, self.mean_, self.deviation_)
        return (rows * self._fusion_weights(self.idf_)).astype(np.float32)

    def _fusion_weights(self, idf: NDArray[np.float64]) -> NDArray[np.float64]:
        """What a score is multiplied with; a word of idf 0 is in every caption, and scores 0."""
        if self.fusion == "weighted":
            return np.ones(len(idf))
        return 1.0 / np.where(idf > 0, idf, 1.0)

    def _checked(self, validation: Validation | None) -> list[float]:
        decided = validation if self.word_C is None else self.word_C
        offered = candidates("C", self.C, decided, lambda c: 0 < c < np.inf, "positive")
        if self.kernel not in ("linear", "precomputed"):
            raise BadInput(f"kernel is 'linear' or 'precomputed', not {self.kernel!r}")
        if self.fusion not in ("average", "weighted"):
            raise BadInput(f"fusion is 'average' or 'weighted', not {self.fusion!r}")
        if self.n_jobs is not None and not self.n_jobs >= 1:
            raise BadInput(f"n_jobs must be 1 or more, or None for all cores, not {self.n_jobs}")
        if self.retrain and self.kernel == "precomputed":
            raise BadInput(
                "retrain needs the kernels of validation pictures among themselves, which a "
                "precomputed kernel lacks; fit again on the Gram matrix of all, with word_C"
            )
        return offered

    def _check_kernel(self, vectors: Vectors) -> None:
        if self.kernel == "precomputed" and vectors.shape[0] != vectors.shape[1]:
            raise BadInput(
                "a precomputed kernel is a square matrix of training pictures × training pictures, "
                f"not {vectors.shape[0]} × {vectors.shape[1]}"
            )

    def _table(self, offered: list[float], words: int) -> NDArray[np.float64]:
        """The C to try, one row a candidate, one column a word."""
        if self.word_C is None:
            return np.tile(np.array(offered, dtype=np.float64)[:, None], words)
        given = np.asarray(self.word_C, dtype=np.float64)
        if given.shape != (words,) or not (np.isfinite(given) & (given > 0)).all():
            raise BadInput(f"word_C needs a positive number for each of the {words} words")
        return given[None, :]

    def _tried(
        self,
        vectors: Vectors,
        captions: csr_array,
        held: Vectors,
        table: NDArray[np.float64],
        progress: Progress,
    ) -> NDArray[np.float32]:
        """Standardised scores of the held pictures: candidates × words × pictures."""
        tried = np.empty((*table.shape, held.shape[0]), dtype=np.float32)
        for word, machines in enumerate(self._workshop().machines(vectors, captions, table)):
            for candidate, machine in enumerate(machines):
                tried[candidate, word] = machine.scores(held)
            progress("choosing", word + 1, table.shape[1])
        return tried

    def _learnt(
        self,
        vectors: Vectors,
        captions: csr_array,
        each: NDArray[np.float64],
        progress: Progress,
    ) -> list[Machine]:
        """The machine of every word, with its own C."""
        learnt = []
        for (machine,) in self._workshop().machines(vectors, captions, each[None, :]):
            learnt.append(machine)
            progress("training", len(learnt), captions.shape[1])
        return learnt

    def _workshop(self) -> Workshop:
        return Workshop(self.kernel, self.balanced, self.n_jobs)


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
