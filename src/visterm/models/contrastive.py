"""Contrastive maps: a picture and its text shall be nearer than any other two of a batch.

Pictures, centred and of unit length, go through one map, texts through another; ``F(x, y)`` is the
cosine of the two. With the scores ``s_ij = F(x_i, y_j) / τ`` of a batch the loss is, both ways,
``−Σ_ij m_ij log softmax_j(s_ij)``, m the even shares of those y_j that belong to picture i.

A. van den Oord, Y. Li and O. Vinyals, 2018, have the loss (InfoNCE); A. Radford et al., ICML 2021,
use it both ways with a learnt temperature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.models import rules
from visterm.models.inputs import Vectors, dense
from visterm.models.pairs import JUDGED_BY, PairModel
from visterm.models.rules import Rules
from visterm.models.selection import Choice, Task
from visterm.progress import Progress
from visterm.text.spaces.space import unit

if TYPE_CHECKING:
    from visterm.models._contrastive_descent import TrainingPairs


@dataclass(eq=False, repr=False, kw_only=True)
class Contrastive(PairModel):
    """Two maps into one space, learnt by telling a batch's pairs from all other combinations.

    Rows with the same picture vector are captions of one picture, and all of them are its own.
    Training needs torch (extra ``neural``); mapping does not.

    Parameters
    ----------
    n_components : int
        Dimensions of the common space.
    hidden_units : int
        Units (GELU) between a picture and the common space; 0 for a linear map. Texts are always
        mapped linearly.
    temperature : float or sequence of float
        τ at the beginning; it is learnt with the maps.
    learning_rate : float or sequence of float
        The largest of a one-cycle schedule.
    weight_decay : float
    batch_size : int
    max_iter : int or sequence of int
        Epochs.
    picture_dropout, text_dropout, hidden_dropout : float
        Shares of the inputs and of the hidden units that a step leaves out.
    device : str
        Where it learns: "cpu" or "cuda".
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
    picture_mean_ : array of shape (d,)
    hidden_map_, hidden_bias_ : arrays of shape (d, h) and (h,)
        h = 0 for a linear map.
    picture_map_, picture_bias_ : arrays of shape (d or h, k) and (k,)
    text_map_, text_bias_ : arrays of shape (T, k) and (k,)
    temperature_, learning_rate_, n_iter_ : what was chosen.
    validation_ : float
        Best quality on validation pictures, NaN without them.

    Notes
    -----
    ``transform`` brings a picture's row to the given text space by the linear part of the map of
    texts, as `Cca` does; `picture_rows` and `text_rows` leave out nothing.

    Examples
    --------
    >>> pictures = np.array([[3.0, 0.0], [2.0, 1.0], [0.0, 4.0], [1.0, 3.0]])
    >>> texts = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.2, 1.0]])
    >>> model = Contrastive(n_components=8, learning_rate=0.01, max_iter=50).fit(pictures, texts)
    >>> near = np.argsort(model.text_rows([[1, 0]]) @ model.picture_rows(pictures).T)
    >>> sorted(near[0, -2:].tolist())
    [0, 1]
    """

    name = "contrastive"
    arrays = (
        "picture_map_",
        "picture_bias_",
        "picture_mean_",
        "hidden_map_",
        "hidden_bias_",
        "text_map_",
        "text_bias_",
    )
    iteration = "epochs"
    decides: ClassVar[Rules] = {
        "temperature": rules.POSITIVE,
        "learning_rate": rules.POSITIVE,
        "max_iter": rules.WHOLE,
    }
    checks: ClassVar[Rules] = {
        "n_components": rules.WHOLE,
        "hidden_units": rules.COUNT,
        "weight_decay": rules.NOT_NEGATIVE,
        "batch_size": rules.WHOLE,
        "picture_dropout": rules.DROPPED,
        "text_dropout": rules.DROPPED,
        "hidden_dropout": rules.DROPPED,
        "judged_by": JUDGED_BY,
        "random_state": rules.SEED,
    }

    n_components: int = 1024
    hidden_units: int = 0
    temperature: float | Sequence[float] = 0.07
    learning_rate: float | Sequence[float] = 1e-3
    weight_decay: float = 0.01
    batch_size: int = 256
    max_iter: int | Sequence[int] = 10
    picture_dropout: float = 0.1
    text_dropout: float = 0.3
    hidden_dropout: float = 0.1
    device: str = "cpu"
    random_state: int = 0

    def _prepare(self, task: Task) -> TrainingPairs:
        from visterm.models._contrastive_descent import TrainingPairs

        vectors = unit(dense(task.training.vectors))
        owners = _same_pictures(vectors)
        _, first = np.unique(owners, return_index=True)
        mean = vectors[first].mean(axis=0)
        seen = _centred(vectors[first], mean)
        return TrainingPairs(seen, owners, csr_array(task.training.known_texts), mean, self.device)

    def _learn(self, prepared: TrainingPairs, choice: Choice, progress: Progress) -> dict[str, Any]:
        from visterm.models._contrastive_descent import learn

        return {"picture_mean_": prepared.mean} | learn(
            prepared, self.get_params() | choice | {"random_state": self.seed}, progress
        )

    def _picture_rows(self, vectors: Vectors) -> NDArray[np.float32]:
        rows = _centred(unit(dense(vectors)), self.picture_mean_)
        if self.hidden_map_.shape[1]:
            rows = _gelu(rows @ self.hidden_map_ + self.hidden_bias_)
        return unit(rows @ self.picture_map_ + self.picture_bias_)

    def _text_rows(self, vectors: Vectors) -> NDArray[np.float32]:
        return unit(np.asarray(vectors @ self.text_map_) + self.text_bias_)

    def _map(self, vectors: Vectors) -> NDArray[np.float32]:
        return self._picture_rows(vectors) @ self.text_map_.T


def _centred(rows: NDArray[np.float32], mean: NDArray[np.float32]) -> NDArray[np.float32]:
    return unit(rows - mean)


def _gelu(values: NDArray[np.float32]) -> NDArray[np.float32]:
    from scipy.special import ndtr

    return np.asarray(values * ndtr(values), dtype=np.float32)


def _same_pictures(vectors: NDArray[np.float32]) -> NDArray[np.int64]:
    """The number of each row's picture: equal rows are one picture.

    >>> _same_pictures(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], np.float32)).tolist()
    [0, 1, 0]
    """
    numbers: dict[bytes, int] = {}
    found = [numbers.setdefault(row.tobytes(), len(numbers)) for row in vectors]
    return np.array(found, dtype=np.int64)
