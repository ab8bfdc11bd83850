"""CMTT, the cross-media translation table: a visterm's words are those that come and go with it.

``D = [captions | visterms]`` (tf·idf, one row a training picture) is brought to rank k by its SVD;
``sim(t, v)`` is the cosine of the columns t and v, ``P(v|t) = sim(t, v) / Σ_i sim(t, i)``, and
``P(t|p) ∝ Σ_v tf_v P(v|t)``.

J.-Y. Pan, H.-J. Yang, P. Duygulu and C. Faloutsos, Automatic image captioning, ICME 2004; as
measured by D. Grangier, F. Monay and S. Bengio, IDIAP-RR 06-15 and ECML 2006.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from visterm.matrices import unit_rows
from visterm.models import rules
from visterm.models.annotation import Annotator, damped, frequencies
from visterm.models.rules import AUTO, Rules, Tuned
from visterm.models.selection import Choice, Task
from visterm.models.supervision import Supervision
from visterm.progress import Progress
from visterm.text.weighting import inverse_frequency


@dataclass(eq=False, repr=False, kw_only=True)
class Cmtt(Annotator):
    """Cross-media translation table.

    Parameters
    ----------
    n_components : int, sequence of int or "auto"
        Singular values kept; more than there are keeps them all.
    normalise : bool
        Bring the caption and the visterms of each picture to unit length before the SVD, which is
        the report's tf-idf-norm; otherwise long captions and busy pictures weigh more.
    power : float, sequence of float or "auto"
        Visterms count as their number raised to this, above 0 and up to 1. The papers count them
        plainly; less than 1 keeps large plain areas from speaking for the whole picture.
    retrain : bool
        Learn again from training and validation pictures, with what was chosen.
    max_words : int, optional
        Largest query made from the captions of validation pictures; None makes them all.
    random_state : int
        Seed of the vector the SVD starts from; it moves no more than rounding.

    Attributes
    ----------
    translation_ : array of shape (T, V)
        ``P(v|t)``.
    background_ : array of shape (T,)
        ``P(t)`` over all captions: the guess for a picture whose visterms say nothing.
    idf_ : array of shape (T,)
    n_components_, power_ : what was chosen.
    validation_ : float
        Best AvgP on validation pictures, NaN without them.

    Notes
    -----
    The columns of ``U S Vᵀ`` keep their cosines when the orthonormal U is left out, so the
    similarities come from k numbers a column, and D is never rebuilt. The papers are silent about
    negative cosines, which only the truncation brings in; they count as no similarity, so that
    P(t|p) is a distribution.

    Examples
    --------
    >>> pictures = np.array([[3, 0], [2, 1], [0, 4], [1, 0]])
    >>> captions = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])  # sun, sun, sea, sea
    >>> model = Cmtt(n_components=2).fit(pictures, captions)
    >>> model.word_probabilities([[2, 0]]).argmax(axis=1)
    array([0])
    """

    name = "cmtt"
    arrays = ("translation_", "background_", "idf_")
    decides: ClassVar[Rules] = {"n_components": rules.WHOLE, "power": rules.SHARE}
    checks: ClassVar[Rules] = {"random_state": rules.SEED}

    n_components: Tuned[int] = AUTO
    normalise: bool = True
    power: Tuned[float] = AUTO
    random_state: int = 0

    def _prepare(self, task: Task) -> _Factors:
        # One SVD serves all ranks: the leading k factors are the SVD of rank k.
        return _Factors(self, task.training, int(max(task.grid["n_components"])))

    def _learn(self, prepared: _Factors, choice: Choice, progress: Progress) -> dict[str, Any]:
        factors = prepared.of(choice["power"])[:, : int(choice["n_components"])]
        captions = prepared.training.captions
        table = _translation(factors, captions.shape[1])
        return {"translation_": table, "background_": frequencies(captions)}

    def _probabilities(self, counts: csr_array) -> NDArray[np.float64]:
        return _translated(counts, self.translation_, self.background_)


class _Factors:
    """``V S`` of D's truncated SVD: a row of at most k numbers for each word and visterm."""

    def __init__(self, model: Cmtt, training: Supervision, rank: int) -> None:
        self.model, self.training, self.rank = model, training, rank
        self._known: dict[float, NDArray[np.float64]] = {}

    def of(self, power: float) -> NDArray[np.float64]:
        """With visterm counts raised to this power."""
        if power not in self._known:
            sides = (self.training.captions, damped(csr_array(self.training.vectors), power))
            weighed = [_weighed(side, self.model.normalise) for side in sides]
            self._known[power] = self._svd(csr_array(hstack(weighed, format="csr")))
        return self._known[power]

    def _svd(self, table: csr_array) -> NDArray[np.float64]:
        smaller = min(table.shape)
        if 2 * self.rank >= smaller:
            _, values, directions = np.linalg.svd(table.toarray(), full_matrices=False)
        else:
            from scipy.sparse.linalg import svds

            start = np.random.default_rng(self.model.seed).standard_normal(smaller)
            _, values, directions = svds(table, k=self.rank, v0=start)
        order = np.argsort(-values)[: self.rank]
        return np.asarray(directions[order].T * values[order])


def _weighed(counts: csr_array, normalise: bool) -> csr_array:
    """tf·idf, and unit length for each picture if asked; an empty row stays empty."""
    weighed = csr_array(counts, dtype=np.float64, copy=True)
    weighed.data *= inverse_frequency(counts)[weighed.indices]
    return unit_rows(weighed) if normalise else weighed


def _translation(factors: NDArray[np.float64], words: int) -> NDArray[np.float32]:
    """``P(v|t)`` from the factors of words, then visterms; a word like no visterm has no row."""
    length = np.linalg.norm(factors, axis=1, keepdims=True)
    # A column of zeros (a word or visterm nobody uses) has factors of rounding noise only.
    used = length > 1e-10 * length.max()
    unit = np.where(used, factors / np.where(used, length, 1.0), 0.0)
    similar = np.maximum(unit[:words] @ unit[words:].T, 0.0)
    total = similar.sum(axis=1, keepdims=True)
    return (similar / np.where(total > 0, total, 1.0)).astype(np.float32)


def _translated(
    counts: csr_array, table: NDArray[np.float32], background: NDArray[np.float64]
) -> NDArray[np.float64]:
    """``P(t|p)``; a picture whose visterms are like no word says what captions say at large."""
    weights = np.asarray(counts @ table.T, dtype=np.float64)
    total = weights.sum(axis=1, keepdims=True)
    return np.where(total > 0, weights / np.where(total > 0, total, 1.0), background)
