"""WSABIE: pictures and words meet in a small space that is good at the top of rankings.

``F(x, i) = W_i · V x`` for words, ``F(x, y) = (Z y) · V x`` for texts. A random pair is compared
with random other outputs until one comes within the margin, after N tries; the step is weighted by
the rank that this suggests, ``L(⌊(Y − 1)/N⌋)``, ``L(k) = Σ_{j ≤ k} 1/j``, and columns of V, W and Z
are kept no longer than λ.

J. Weston, S. Bengio and N. Usunier, IJCAI 2011 (words); Y. Verma and C. V. Jawahar, CVIU 2017
(adapted to captions).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.models import rules
from visterm.models.inputs import Vectors, dense
from visterm.models.pairs import JUDGED_BY, PairModel
from visterm.models.rules import AUTO, Rules, Tuned
from visterm.models.selection import Choice, Task
from visterm.progress import Progress
from visterm.text.spaces.space import unit


class Pairs(NamedTuple):
    """Unit vectors of both sides, and the words of each picture, as far as they are needed."""

    pictures: NDArray[np.float32]
    texts: NDArray[np.float32]
    words: csr_array


@dataclass(eq=False, repr=False, kw_only=True)
class Wsabie(PairModel):
    """Web-scale annotation by image embedding, by WARP steps.

    Parameters
    ----------
    outputs : {"words", "texts"}
        What is ranked for a picture: each word by itself, with a vector of its own (labels,
        phrases), or whole training texts by their vectors (captions).
    n_components : int
        Size of the common space.
    max_norm : float or sequence of float
        λ, the largest length of a column.
    learning_rate : float, sequence of float or "auto"
        Learning rate.
    max_iter : int
        Steps, as multiples of the training pictures.
    judged_by : {"auto", "pairs", "words"}
        What validation pictures are ranked for: their own texts, or word queries made of captions;
        "auto" takes words where texts count them.
    retrain : bool
        Learn again from training and validation pictures, with what was chosen.
    max_words : int, optional
        Largest query made from the captions of validation pictures, if judged by words.
    random_state : int

    Attributes
    ----------
    picture_map_ : array of shape (d, k)
        Vᵀ.
    text_map_ : array of shape (T, k)
        Wᵀ or Zᵀ.
    max_norm_, learning_rate_ : what was chosen.
    violations_ : float
        Share of the last pass's pairs that some output still came too close to.
    validation_ : float
        Best quality on validation pictures, NaN without them.

    Examples
    --------
    >>> pictures = np.array([[3.0, 0.0], [2.0, 1.0], [0.0, 4.0], [1.0, 3.0]])
    >>> captions = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])  # sun, sun, sea, sea
    >>> model = Wsabie(n_components=4, max_iter=500).fit(pictures, captions)
    >>> model.transform(pictures).argmax(axis=1)
    array([0, 0, 1, 1])
    """

    name = "wsabie"
    arrays = ("picture_map_", "text_map_")
    facts = ("n_texts_in_", "violations_")
    iteration = "passes"
    decides: ClassVar[Rules] = {"max_norm": rules.POSITIVE, "learning_rate": rules.POSITIVE}
    checks: ClassVar[Rules] = {
        "outputs": rules.one_of("words", "texts"),
        "n_components": rules.WHOLE,
        "max_iter": rules.WHOLE,
        "judged_by": JUDGED_BY,
        "random_state": rules.SEED,
    }

    outputs: str = "words"
    n_components: int = 100
    max_norm: float | Sequence[float] = 3.0
    learning_rate: Tuned[float] = AUTO
    max_iter: int = 20
    random_state: int = 0

    def _learn(self, prepared: Pairs, choice: Choice, progress: Progress) -> dict[str, Any]:
        from visterm.models._wsabie_kernels import warp_steps

        pictures, texts, words = prepared
        pairs, n, k = self.outputs == "texts", len(pictures), int(self.n_components)
        rng = np.random.default_rng(self.seed)
        V, Z = (
            (rng.standard_normal((rows, k)) / np.sqrt(k)).astype(np.float32)
            for rows in (pictures.shape[1], texts.shape[1])
        )
        outputs = max(n if pairs else texts.shape[1], 2)
        ranks = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, outputs + 1))])
        starts, columns = words.indptr.astype(np.int64), words.indices.astype(np.int64)
        rate, longest = float(choice["learning_rate"]), float(choice["max_norm"])
        state, violated = np.array([self.seed], dtype=np.uint64), 0
        for done in range(int(self.max_iter)):
            violated = warp_steps(
                pictures, texts, starts, columns, pairs, ranks, V, Z, rate, longest, state, n
            )
            progress("training", done + 1, int(self.max_iter))
        return {"picture_map_": V, "text_map_": Z, "violations_": violated / n}

    def _prepare(self, task: Task) -> Pairs:
        x = unit(dense(task.training.vectors))
        if self.outputs == "texts":
            y = unit(dense(task.training.known_texts))
            known = y.any(axis=1)
            return Pairs(x[known], y[known], csr_array((0, 0)))
        words = task.training.captions.copy()
        if (words.data < 0).any():
            raise BadInput("words are counted, so texts must not be negative; use outputs='texts'")
        words.eliminate_zeros()
        return Pairs(x, np.empty((0, words.shape[1]), np.float32), words)

    def _picture_rows(self, vectors: Vectors) -> NDArray[np.float32]:
        return unit(dense(vectors)) @ self.picture_map_

    def _text_rows(self, vectors: Vectors) -> NDArray[np.float32]:
        return unit(dense(vectors)) @ self.text_map_

    def _map(self, vectors: Vectors) -> NDArray[np.float32]:
        return self._picture_rows(vectors) @ self.text_map_.T
