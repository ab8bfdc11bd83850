"""CCA: pictures and texts meet in the directions in which they agree most.

With directions a_j, b_j and their correlations ρ_j (`visterm.text.correlation`), a picture becomes
``ρ_j^s · a_j·(x − x̄)`` and a text ``ρ_j^s · b_j·(y − ȳ)``; ``F(x, y)`` is the cosine of the two.

D. Hardoon, S. Szedmak and J. Shawe-Taylor, Neural Computation 2004; the scaling by correlations is
from Y. Gong, Q. Ke, M. Isard and S. Lazebnik, IJCV 2014.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from visterm.models import rules
from visterm.models.inputs import Vectors, dense
from visterm.models.pairs import PairModel
from visterm.models.rules import AUTO, Rules, Tuned
from visterm.models.selection import Choice, Task
from visterm.progress import Progress
from visterm.text.correlation import Moments, canonical, moments
from visterm.text.spaces.space import unit


@dataclass(eq=False, repr=False, kw_only=True)
class Cca(PairModel):
    """Canonical correlation analysis of pictures and texts, regularised.

    Parameters
    ----------
    ridge : float, sequence of float or "auto"
        Added to the variances of picture vectors, as a fraction of their mean; validation pictures
        choose among several.
    text_ridge : float, sequence of float or "auto"
        The same for text vectors.
    n_components : int or sequence of int
        Pairs of directions kept; as many as there are, if there are fewer.
    scaling : float, sequence of float or "auto"
        Exponent s of the correlations: 0 trusts all directions alike, 4 mostly the strongest.
    judged_by : {"auto", "pairs", "words"}
        What validation pictures are ranked for: their own texts, or word queries made of captions;
        "auto" takes words where texts count them.
    retrain : bool
        Learn again from training and validation pictures, with what was chosen.
    max_words : int, optional
        Largest query made from the captions of validation pictures, if judged by words.

    Attributes
    ----------
    picture_map_ : array of shape (d, k)
    text_map_ : array of shape (T, k)
    picture_mean_, text_mean_ : arrays of shape (d,) and (T,)
    correlations_ : array of shape (k,)
    ridge_, text_ridge_, n_components_, scaling_ : what was chosen.
    validation_ : float
        Best quality on validation pictures, NaN without them.

    Notes
    -----
    ``transform`` brings a picture's row to the given text space by the linear part of the map:
    ``f(x) = text_map · row(x)``. Its products with text vectors leave out what the mean text would
    score, and the length of the text's own row; `picture_rows` and `text_rows` leave out nothing.

    Examples
    --------
    >>> pictures = np.array([[3.0, 0.0], [2.0, 1.0], [0.0, 4.0], [1.0, 3.0]])
    >>> texts = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.2, 1.0]])
    >>> model = Cca(ridge=0.01).fit(pictures, texts)
    >>> (model.text_rows([[1, 0]]) @ model.picture_rows(pictures).T).round(1) + 0
    array([[ 1.,  1., -1., -1.]], dtype=float32)
    """

    name = "cca"
    arrays = ("picture_map_", "text_map_", "picture_mean_", "text_mean_", "correlations_")
    decides: ClassVar[Rules] = {
        "ridge": rules.NOT_NEGATIVE,
        "text_ridge": rules.NOT_NEGATIVE,
        "n_components": rules.WHOLE,
        "scaling": rules.NOT_NEGATIVE,
    }

    ridge: Tuned[float] = AUTO
    text_ridge: Tuned[float] = AUTO
    n_components: int | Sequence[int] = 256
    scaling: Tuned[float] = AUTO

    @classmethod
    def identity(cls, width: int) -> Self:
        """For pictures and texts that lie in one space already: both stay where they are.

        >>> Cca.identity(2).text_rows([[3.0, 4.0]]).round(1).tolist()
        [[0.6000000238418579, 0.800000011920929]]
        """
        model = cls(ridge=0.0, text_ridge=0.0, n_components=width, scaling=0.0)
        eye, zero = np.eye(width, dtype=np.float32), np.zeros(width, np.float32)
        fitted = {name: eye if name.endswith("map_") else zero for name in cls.arrays}
        fitted |= {f"{name}_": getattr(model, name) for name in cls.decides}
        sizes = {"n_features_in_": width, "n_texts_in_": width, "validation_": float("nan")}
        for name, value in {**fitted, **sizes, "correlations_": np.ones(width)}.items():
            setattr(model, name, value)
        return model

    def _prepare(self, task: Task) -> Moments:
        return moments(dense(task.training.vectors), dense(task.training.known_texts))

    def _learn(self, prepared: Moments, choice: Choice, progress: Progress) -> dict[str, Any]:
        found = canonical(
            prepared,
            x_ridge=choice["ridge"],
            y_ridge=choice["text_ridge"],
            dimensions=int(choice["n_components"]),
        )
        scale = found.correlations ** choice["scaling"]
        return {
            "picture_map_": (found.x_map * scale).astype(np.float32),
            "text_map_": (found.y_map * scale).astype(np.float32),
            "picture_mean_": prepared.x_mean.astype(np.float32),
            "text_mean_": prepared.y_mean.astype(np.float32),
            "correlations_": found.correlations,
        }

    def _picture_rows(self, vectors: Vectors) -> NDArray[np.float32]:
        return unit((dense(vectors) - self.picture_mean_) @ self.picture_map_)

    def _text_rows(self, vectors: Vectors) -> NDArray[np.float32]:
        return unit((dense(vectors) - self.text_mean_) @ self.text_map_)

    def _map(self, vectors: Vectors) -> NDArray[np.float32]:
        return self._picture_rows(vectors) @ self.text_map_.T
