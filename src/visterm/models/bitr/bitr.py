"""BITR: a structural SVM that wants every pair above all other outputs, by how far off they are.

``F(x, y) = xᵀ W y``; ``min ½‖W‖² + C/N Σ ξ_i`` where ``F(x_i, y_i) ≥ F(x_i, y) + Δ(y_i, y) − ξ_i``
for every output y. One direction ranks texts for a picture (y the text), the other pictures for a
text (y the picture); each learns a W of its own.

Y. Verma and C. V. Jawahar, A support vector approach for cross-modal search of images and texts,
CVIU 2017.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput
from visterm.models import rules
from visterm.models.inputs import Vectors, dense
from visterm.models.pairs import JUDGED_BY, PairModel
from visterm.models.rules import AUTO, Rule, Rules, Tuned
from visterm.models.selection import Choice, Task
from visterm.progress import Progress
from visterm.text.spaces.space import unit

if TYPE_CHECKING:
    from visterm.models.bitr.losses import Pairs

LOSSES = {"correlation": "BITR-C", "euclidean": "BITR-E", "manhattan": "BITR-M"}
"""The losses, and what the paper calls the model that has them."""


@dataclass(eq=False, repr=False, kw_only=True)
class Bitr(PairModel):
    """Bilateral image-text retrieval.

    Parameters
    ----------
    loss : {"correlation", "euclidean", "manhattan"}
        Δ: one minus the cosine, the squared distance, or the sum of absolute differences.
    ranks : {"texts", "pictures"}
        What is to be ranked: texts for a picture (the paper's Im2Text), or pictures for a text
        (Text2Im). Either model can be asked both ways; it learns for one.
    C : float, sequence of float or "auto"
        How much violations count; validation pictures choose among several.
    tol : float
        Training ends when the duality gap is at most this fraction of the objective.
    max_iter : int
        … or after so many planes, whatever the gap; `gap_` says how far it came.
    judged_by : {"auto", "pairs", "words"}
        What validation pictures are ranked for: their own texts, or word queries made of captions;
        "auto" takes words where texts count them.
    retrain : bool
        Learn again from training and validation pictures, with what was chosen.
    max_words : int, optional
        Largest query made from the captions of validation pictures, if judged by words.

    Attributes
    ----------
    weights_ : array of shape (d, T)
        W between pictures and texts, whichever of them is ranked.
    gap_ : float
        The duality gap reached, as a fraction of the objective; an upper bound on what is missing.
    objective_ : float
    n_iter_ : int
    C_ : what was chosen.
    validation_ : float
        Best quality on validation pictures, NaN without them.

    Notes
    -----
    Vectors are brought to unit length first; for the manhattan loss, sides without a negative
    number to sum 1 instead, so that outputs lie on the simplex. Nothing is learnt from pairs with
    an empty side. On the unit sphere ``‖y − ŷ‖² = 2(1 − y·ŷ)``: the euclidean model with C is the
    correlation model with C/2, W twice as long, and ranks alike.
    On the sphere the manhattan loss has no closed form, and the output found may be short of the
    most violated one; the gap is then that of the outputs found.

    Examples
    --------
    >>> pictures = np.array([[3.0, 0.0], [2.0, 1.0], [0.0, 4.0], [1.0, 3.0]])
    >>> texts = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.2, 1.0]])
    >>> model = Bitr(C=100.0).fit(pictures, texts)
    >>> (model.picture_rows(pictures) @ model.text_rows(texts).T).argmax(axis=1)
    array([0, 1, 2, 3])
    >>> model.gap_ <= 1e-3
    True
    """

    name = "bitr"
    arrays = ("weights_",)
    facts = ("n_texts_in_", "sums_", "gap_", "objective_", "n_iter_")
    iteration = "planes"
    decides: ClassVar[Rules] = {"C": rules.POSITIVE}
    checks: ClassVar[Rules] = {
        "loss": rules.one_of(*LOSSES),
        "ranks": rules.one_of("texts", "pictures"),
        "tol": Rule(lambda value: 0 < value < 1, "between 0 and 1"),
        "max_iter": rules.WHOLE,
        "judged_by": JUDGED_BY,
    }

    """Whether pictures, and texts, are brought to sum 1 instead of unit length."""

    loss: str = "correlation"
    ranks: str = "texts"
    C: Tuned[float] = AUTO
    tol: float = 1e-3
    max_iter: int = 2000

    def _prepare(self, task: Task) -> tuple[Pairs, tuple[bool, bool]]:
        """The pairs to learn from, normalised, and which of their sides sum to 1."""
        from visterm.models.bitr.losses import Pairs

        x, y = dense(task.training.vectors), dense(task.training.known_texts)
        sums = (self._sums(x), self._sums(y))
        x, y = _normalised(x, sums[0]), _normalised(y, sums[1])
        both = x.any(axis=1) & y.any(axis=1)
        if not both.any():
            raise BadInput("no picture with a text has a vector that is not zero")
        sides = (x[both], y[both]) if self.ranks == "texts" else (y[both], x[both])
        simplex = sums[1] if self.ranks == "texts" else sums[0]
        return Pairs(*sides, self.loss, simplex=simplex), sums

    def _learn(
        self, prepared: tuple[Pairs, tuple[bool, bool]], choice: Choice, progress: Progress
    ) -> dict[str, Any]:
        from visterm.models.bitr.cutting_planes import cut_planes

        pairs, sums = prepared
        found = cut_planes(
            pairs,
            float(choice["C"]),
            tol=self.tol,
            max_iter=self.max_iter,
            progress=progress,
        )
        weights = found.W if self.ranks == "texts" else found.W.T
        return {
            "weights_": np.ascontiguousarray(weights, dtype=np.float32),
            "sums_": sums,
            "gap_": found.gap,
            "objective_": found.objective,
            "n_iter_": found.n_iter,
        }

    def _sums(self, vectors: NDArray[np.float32]) -> bool:
        return self.loss == "manhattan" and bool((vectors >= 0).all())

    def _picture_rows(self, vectors: Vectors) -> NDArray[np.float32]:
        return _normalised(dense(vectors), self.sums_[0]) @ self.weights_

    def _text_rows(self, vectors: Vectors) -> NDArray[np.float32]:
        return _normalised(dense(vectors), self.sums_[1])

    def _map(self, vectors: Vectors) -> NDArray[np.float32]:
        return self._picture_rows(vectors)


def _normalised(vectors: NDArray[np.float32], to_sum: bool) -> NDArray[np.float32]:
    """Rows of unit length, or of sum one; rows of zeros stay."""
    if not to_sum:
        return unit(vectors)
    total = np.abs(vectors).sum(axis=1, keepdims=True)
    return (vectors / np.where(total > 0, total, 1.0)).astype(np.float32)
