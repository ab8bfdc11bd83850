"""Weighted k nearest neighbours: a picture says what the pictures most like it say.

``f(p) = Σ_j w_j y_j / Σ_j w_j`` over the k training pictures with the largest cosines c_j, with
weights ``w_j = exp(β (c_j − c_1))``.

After A. Makadia, V. Pavlovic and S. Kumar, ECCV 2008; weighted as by M. Guillaumin, T. Mensink,
J. Verbeek and C. Schmid, ICCV 2009, with one distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.models import rules
from visterm.models.inputs import Vectors, dense, is_sparse
from visterm.models.pairs import PairModel
from visterm.models.rules import AUTO, Rules, Tuned
from visterm.models.selection import Choice, Task
from visterm.progress import Progress
from visterm.text.spaces.space import unit

_BATCH = 1024


@dataclass(eq=False, repr=False, kw_only=True)
class WeightedKnn(PairModel):
    """Texts of the nearest training pictures, weighted by likeness.

    Parameters
    ----------
    n_neighbors : int, sequence of int or "auto"
        k; all training pictures, if there are fewer.
    sharpness : float, sequence of float or "auto"
        β: 0 counts all neighbours alike, more trusts the nearest.
    rarity : float or sequence of float
        Texts are divided by how much of each dimension training has, to this power: 0 leaves
        them, more brings rare words forward. For words only; vectors of other spaces want 0.
    judged_by : {"auto", "pairs", "words"}
        What validation pictures are ranked for: their own texts, or word queries made of captions;
        "auto" takes words where texts count them.
    retrain : bool
        Learn again from training and validation pictures, with what was chosen.
    max_words : int, optional
        Largest query made from the captions of validation pictures, if judged by words.

    Attributes
    ----------
    pictures_ : array of shape (n, d)
        Training pictures, of unit length.
    texts_data_, texts_indices_, texts_starts_ : arrays
        Their texts, as compressed rows.
    n_neighbors_, sharpness_, rarity_ : what was chosen.
    validation_ : float
        Best quality on validation pictures, NaN without them.

    Examples
    --------
    >>> pictures = np.array([[3.0, 0.0], [2.0, 1.0], [0.0, 4.0], [1.0, 3.0]])
    >>> captions = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])  # sun, sun, sea, sea
    >>> WeightedKnn(n_neighbors=3).fit(pictures, captions).transform([[1, 0]]).argmax(axis=1)
    array([0])
    """

    name = "weighted-knn"
    earlier_names = ("knn",)
    arrays = ("pictures_", "texts_data_", "texts_indices_", "texts_starts_")
    decides: ClassVar[Rules] = {
        "n_neighbors": rules.WHOLE,
        "sharpness": rules.NOT_NEGATIVE,
        "rarity": rules.NOT_NEGATIVE,
    }

    n_neighbors: Tuned[int] = AUTO
    sharpness: Tuned[float] = AUTO
    rarity: float | Sequence[float] = 0.0
    judged_by: str = "words"

    def _prepare(self, task: Task) -> tuple[NDArray[np.float32], csr_array]:
        return unit(dense(task.training.vectors)), task.training.captions

    def _learn(
        self,
        prepared: tuple[NDArray[np.float32], csr_array],
        choice: Choice,
        progress: Progress,
    ) -> dict[str, Any]:
        pictures, texts = prepared
        if choice["rarity"] > 0:
            there = np.asarray(abs(texts).sum(axis=0)).reshape(-1) / texts.shape[0]
            scale = np.where(there > 0, there, 1.0) ** -float(choice["rarity"])
            texts = csr_array(texts.multiply(scale[None, :]).tocsr(), dtype=np.float32)
        return {
            "pictures_": pictures,
            "texts_data_": texts.data,
            "texts_indices_": texts.indices.astype(np.int32),
            "texts_starts_": texts.indptr.astype(np.int64),
        }

    def _map(self, vectors: Vectors) -> NDArray[np.float32]:
        rows = unit(dense(vectors))
        shape = (len(self.pictures_), self.n_texts_in_)
        texts = csr_array((self.texts_data_, self.texts_indices_, self.texts_starts_), shape)
        parts = [
            self._lent(rows[start : start + _BATCH], texts) for start in range(0, len(rows), _BATCH)
        ]
        return np.concatenate(parts)

    def _lent(self, rows: NDArray[np.float32], texts: csr_array) -> NDArray[np.float32]:
        """What the nearest pictures lend some pictures of their texts."""
        likeness = rows @ self.pictures_.T
        k = min(int(self.n_neighbors_), likeness.shape[1])
        nearest = np.argpartition(-likeness, k - 1, axis=1)[:, :k]
        cosines = np.take_along_axis(likeness, nearest, axis=1).astype(np.float64)
        weights = np.exp(self.sharpness_ * (cosines - cosines.max(axis=1, keepdims=True)))
        weights /= weights.sum(axis=1, keepdims=True)
        starts = np.arange(0, weights.size + 1, k)
        shares = csr_array((weights.ravel(), nearest.ravel(), starts), likeness.shape)
        lent = shares @ texts
        return np.asarray(lent.toarray() if is_sparse(lent) else lent, dtype=np.float32)

    def _picture_rows(self, vectors: Vectors) -> NDArray[np.float32]:
        return unit(self._map(vectors))

    def _text_rows(self, vectors: Vectors) -> NDArray[np.float32]:
        return unit(dense(vectors))
