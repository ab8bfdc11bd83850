"""CMRM, the cross-media relevance model: training pictures that look alike lend their words.

``P(t, p) = 1/n Σ_j P(t|j) Π_v P(v|j)^tf_v`` over the training pictures j, with
``P(t|j) = (1 − α)·#(t, j)/|j| + α·#(t)/Σ#`` over words and the same with β over visterms;
``P(t|p) = P(t, p) / Σ_t P(t, p)``.

J. Jeon, V. Lavrenko and R. Manmatha, Automatic image annotation and retrieval using cross-media
relevance models, SIGIR 2003; as measured by D. Grangier and S. Bengio, IEEE TPAMI 30(8), 2008.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.models import rules
from visterm.models.annotation import Annotator, as_text, damped, frequencies, shares
from visterm.models.inputs import csr_arrays, csr_from
from visterm.models.rules import AUTO, Rule, Rules, Tuned
from visterm.models.selection import Choice, Task, Trial
from visterm.progress import Progress

_CHUNK_BYTES = 64 * 1024 * 1024
"""Most memory for the picture × training picture table, which is never held whole."""


@dataclass(eq=False, repr=False, kw_only=True)
class Cmrm(Annotator):
    """Cross-media relevance model.

    Parameters
    ----------
    alpha : float, sequence of float or "auto"
        Smoothing of the words, from 0 (captions as written) to 1 (all captions alike).
    beta : float, sequence of float or "auto"
        Smoothing of the visterms, above 0 and up to 1.
    evidence : float, None, sequence of them or "auto"
        How many visterms a picture speaks for: tf_v is scaled to sum to so many. None takes each
        at its count, as the paper does. See Notes.
    power : float, sequence of float or "auto"
        Visterms count as their number raised to this, above 0 and up to 1. The papers count them
        plainly; less than 1 keeps large plain areas from speaking for the whole picture.
    retrain : bool
        Learn again from training and validation pictures, with what was chosen.
    max_words : int, optional
        Largest query made from the captions of validation pictures; None makes them all.

    Attributes
    ----------
    captions_data_, captions_columns_, captions_starts_ : the words of each training picture
        ``#(t, j)/|j|`` as compressed rows.
    visterms_data_, visterms_columns_, visterms_starts_ : the visterms of each training picture
        ``log P(v|j) − log β P(v)`` as compressed rows: nothing where j does not hold v.
    background_ : array of shape (T,)
        ``P(t)`` over all captions.
    idf_ : array of shape (T,)
    alpha_, beta_, evidence_, power_ : what was chosen.
    validation_ : float
        Best AvgP on validation pictures, NaN without them.

    Notes
    -----
    Every picture shares the factor ``Π_v (β P(v))^tf_v``, which Bayes' rule takes out again. What
    is left is 0 wherever j lacks v, so one sparse product gives all logarithms, and a visterm that
    no training picture holds says nothing. A training picture without a visterm lends nothing.

    The product takes a picture's visterms for independent. Overlapping blocks are not, and with
    hundreds of them one training picture gets all the weight. ``evidence`` tempers this; the
    paper's own choice, three large blocks a picture, points the same way.

    Examples
    --------
    >>> pictures = np.array([[3, 0], [2, 1], [0, 4], [1, 3]])
    >>> captions = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])  # sun, sun, sea, sea
    >>> model = Cmrm().fit(pictures, captions)
    >>> model.word_probabilities([[2, 0]]).round(2)
    array([[0.9, 0.1]])
    """

    name = "cmrm"
    arrays = (
        "captions_data_",
        "captions_columns_",
        "captions_starts_",
        "visterms_data_",
        "visterms_columns_",
        "visterms_starts_",
        "background_",
        "idf_",
    )
    decides: ClassVar[Rules] = {
        "power": rules.SHARE,
        "beta": rules.SHARE,
        "evidence": rules.optional(rules.POSITIVE),
        "alpha": Rule(lambda value: 0 <= value <= 1, "between 0 and 1"),
    }

    alpha: Tuned[float] = AUTO
    beta: Tuned[float] = AUTO
    evidence: Tuned[float | None] = AUTO
    power: Tuned[float] = AUTO

    def _prepare(self, task: Task) -> _Lenders:
        return _Lenders(task)

    def _run(
        self, task: Task, prepared: _Lenders, choice: Choice, progress: Progress
    ) -> Iterator[Trial]:
        def rows() -> NDArray[np.float32]:
            words = _smoothed(prepared.lent(choice), prepared.background, choice["alpha"])
            return as_text(words, task.training.idf)

        yield Trial(choice, rows, lambda: lambda: prepared.fitted(choice))

    def _probabilities(self, counts: csr_array) -> NDArray[np.float64]:
        captions = csr_from(self, "captions", len(self.background_))
        visterms = csr_from(self, "visterms", self.n_features_in_)
        (words,) = _lent_words(counts, visterms, captions, [self.evidence_])
        return _smoothed(words, self.background_, self.alpha_)


class _Lenders:
    """The pictures that lend their words: one without a visterm looks like no other.

    What they lend held-out pictures is kept for as long as power and β stay the same.
    """

    def __init__(self, task: Task) -> None:
        counts, captions = csr_array(task.training.vectors), task.training.captions
        looks = np.flatnonzero(np.diff(counts.indptr))
        self.background = frequencies(captions)
        self._counts, self._captions = counts[looks], shares(captions[looks])
        self._held, self._evidences = task.held, task.grid["evidence"]
        self._known: tuple[Any, list[NDArray[np.float64]]] = (None, [])

    def _visterms(self, choice: Choice) -> csr_array:
        return _log_ratios(damped(self._counts, choice["power"]), choice["beta"])

    def lent(self, choice: Choice) -> NDArray[np.float64]:
        """``Σ_j P(j|p) #(t, j)/|j|`` of the held-out pictures."""
        wanted = (choice["power"], choice["beta"])
        if self._known[0] != wanted:
            assert self._held is not None
            counts = damped(csr_array(self._held.vectors), choice["power"])
            lent = _lent_words(counts, self._visterms(choice), self._captions, self._evidences)
            self._known = (wanted, lent)
        return self._known[1][self._evidences.index(choice["evidence"])]

    def fitted(self, choice: Choice) -> dict[str, Any]:
        visterms = csr_arrays("visterms", self._visterms(choice))
        captions = csr_arrays("captions", self._captions)
        return captions | visterms | {"background_": self.background}


def _log_ratios(counts: csr_array, beta: float) -> csr_array:
    """``log P(v|j) / (β P(v))`` of the training pictures: 0, thus not stored, where j lacks v."""
    ratios = shares(counts)
    background = frequencies(counts)
    ratios.data = np.log1p((1 - beta) * ratios.data / (beta * background[ratios.indices]))
    return ratios


def _lent_words(
    counts: csr_array, visterms: csr_array, captions: csr_array, evidences: list[float | None]
) -> list[NDArray[np.float64]]:
    """``Σ_j P(j|p) #(t, j)/|j|`` for each evidence, a chunk of pictures at a time."""
    by_visterm = csr_array(visterms.T.tocsr())
    total = np.asarray(counts.sum(axis=1), dtype=np.float64).reshape(-1, 1)
    lent = [np.empty((counts.shape[0], captions.shape[1])) for _ in evidences]
    step = max(1, _CHUNK_BYTES // (8 * captions.shape[0]))
    for first in range(0, counts.shape[0], step):
        part = slice(first, first + step)
        logarithms = (counts[part].astype(np.float64) @ by_visterm).toarray()
        for evidence, words in zip(evidences, lent, strict=True):
            scale = 1.0 if evidence is None else evidence / np.maximum(total[part], 1e-300)
            words[part] = _posterior(logarithms * scale) @ captions
    return lent


def _posterior(logarithms: NDArray[np.float64]) -> NDArray[np.float64]:
    """``P(j|p)`` by log-sum-exp: the largest logarithm is 0 before anything is raised."""
    weights = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _smoothed(
    words: NDArray[np.float64], background: NDArray[np.float64], alpha: float
) -> NDArray[np.float64]:
    """``P(t|p)``; what α takes away, and what pictures without a caption would lend, is P(t)."""
    kept = (1 - alpha) * words
    return np.asarray(kept + (1 - kept.sum(axis=1, keepdims=True)) * background)
