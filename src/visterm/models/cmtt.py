"""CMTT, the cross-media translation table: a visterm's words are those that come and go with it.

``D = [captions | visterms]`` (tf·idf, one row a training picture) is brought to rank k by its SVD;
``sim(t, v)`` is the cosine of the columns t and v, ``P(v|t) = sim(t, v) / Σ_i sim(t, i)``, and
``P(t|p) ∝ Σ_v tf_v P(v|t)``.

J.-Y. Pan, H.-J. Yang, P. Duygulu and C. Faloutsos, Automatic image captioning, ICME 2004; as
measured by D. Grangier, F. Monay and S. Bengio, IDIAP-RR 06-15 and ECML 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from visterm.matrices import unit_rows
from visterm.models.annotation import Annotated, Annotator, Choice, as_text, frequencies
from visterm.models.base import Validation
from visterm.models.selection import candidates, quality
from visterm.progress import Progress
from visterm.text import Relevance
from visterm.text.weighting import inverse_frequency


class Cmtt(Annotator):
    """Cross-media translation table.

    Parameters
    ----------
    n_components : int or sequence of int
        Singular values kept; more than there are keeps them all.
    normalise : bool
        Bring the caption and the visterms of each picture to unit length before the SVD, which is
        the report's tf-idf-norm; otherwise long captions and busy pictures weigh more.
    power : float or sequence of float
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
    facts = ("n_features_in_", "n_components_", "power_", "validation_")
    decides = ("n_components", "power")

    translation_: NDArray[np.float32]
    background_: NDArray[np.float64]
    n_components_: int

    def __init__(
        self,
        n_components: int | Sequence[int] = 200,
        normalise: bool = True,
        power: float | Sequence[float] = 1.0,
        retrain: bool = False,
        max_words: int | None = 4,
        random_state: int = 0,
    ) -> None:
        self.n_components = n_components
        self.normalise = normalise
        self.power = power
        self.retrain = retrain
        self.max_words = max_words
        self.random_state = random_state

    def _offered(self, validation: Validation | None) -> dict[str, list[Any]]:
        whole = "a whole number, 1 or more"
        return {
            "n_components": candidates(
                "n_components",
                self.n_components,
                validation,
                lambda k: k >= 1 and k == int(k),
                whole,
            )
        }

    def _choose(
        self,
        told: Annotated,
        held: csr_array,
        relevance: Relevance,
        offered: dict[str, list[Any]],
        progress: Progress,
    ) -> tuple[float, Choice, dict[str, Any]]:
        ranks = offered["n_components"]
        progress("choosing", 0, len(ranks) + 1)
        # One SVD serves all ranks: the leading k factors are the SVD of rank k.
        factors = self._factors(told, max(ranks))
        background = frequencies(told.captions)
        best, choice, learnt = -1.0, {"n_components": ranks[0]}, {}
        for done, rank in enumerate(ranks, start=2):
            table = _translation(factors[:, :rank], told.captions.shape[1])
            rows = as_text(_translated(held, table, background), told.idf)
            reached = quality(rows, relevance)
            if reached > best:
                best, choice = reached, {"n_components": rank}
                learnt = {"translation_": table, "background_": background}
            progress("choosing", done, len(ranks) + 1)
        return best, choice, learnt

    def _learn(self, told: Annotated, choice: Choice, progress: Progress) -> dict[str, Any]:
        progress("training", 0, 1)
        factors = self._factors(told, choice["n_components"])
        table = _translation(factors, told.captions.shape[1])
        progress("training", 1, 1)
        return {"translation_": table, "background_": frequencies(told.captions)}

    def _probabilities(self, counts: csr_array) -> NDArray[np.float64]:
        return _translated(counts, self.translation_, self.background_)

    def _factors(self, told: Annotated, rank: int) -> NDArray[np.float64]:
        """``V S`` of D's truncated SVD: a row of at most k numbers for each word and visterm."""
        sides = [_weighed(side, self.normalise) for side in (told.captions, told.counts)]
        table = csr_array(hstack(sides, format="csr"))
        smaller = min(table.shape)
        if 2 * rank >= smaller:
            _, values, directions = np.linalg.svd(table.toarray(), full_matrices=False)
        else:
            from scipy.sparse.linalg import svds

            start = np.random.default_rng(self.random_state).standard_normal(smaller)
            _, values, directions = svds(table, k=int(rank), v0=start)
        order = np.argsort(-values)[: int(rank)]
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
