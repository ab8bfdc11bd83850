"""BBNN: a small network that looks at a picture block by block, learnt by ranking.

``f_i = tanh(W1 b_i + B1)`` for each block, ``f = mean_i f_i``, ``t = W3 tanh(W2 f + B2) + B3``, and
the score of a query is ``q · t``. The loss is PAMIR's hinge with the caption margin.

D. Grangier and S. Bengio, A neural network to retrieve images from text queries, ICANN 2006
(IDIAP-RR 06-33).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput
from visterm.models import rules
from visterm.models._bbnn_batches import Pairs, as_blocks, some_of, typical_size
from visterm.models.base import Model
from visterm.models.inputs import Vectors
from visterm.models.rules import Rules
from visterm.models.selection import Choice, Task, Trial
from visterm.models.supervision import Captions, Supervision, query_source, ranked
from visterm.progress import Progress
from visterm.threads import on_all_cores, slices

_PART = 96
"""Pictures that a core maps at a time: what the layers say of them stays in its cache."""


@dataclass(eq=False, repr=False, kw_only=True)
class Bbnn(Model):
    """Block-based neural network.

    Parameters
    ----------
    block_width : int, optional
        How many numbers describe one block: a picture vector is its blocks one after another, and
        a block of zeros is none, so that pictures may have fewer blocks than others. None takes
        the whole vector for one block, which makes an ordinary network with two hidden layers; it
        is then learnt at a root mean square of 1, for such vectors come in any size.
    block_units, picture_units : int
        Sizes of the two hidden layers (N1 and N2 of the paper).
    learning_rate, momentum : float
        Of stochastic gradient descent.
    batch_size : int
        Pairs of a query and an answer in one step.
    in_batch_negatives : bool
        Compare every pair of a step with every negative drawn in it, and average over the margin
        violations. False compares it with one only, as the paper does.
    block_share : float
        Share of a picture's blocks that one step looks at, drawn anew each time.
    max_iter, epoch_pairs : int
        At most so many rounds of so many pairs; with validation pictures the best round counts.
    margin : {"caption", "constant"}
        ε = max(``least_margin``, q·c⁺ − q·c⁻) with c the captions, or ε = ``least_margin``.
    least_margin : float, optional
        Default 0.1 for the caption margin and 1 for the constant one.
    max_words, query_exponent, query_lengths : as in `Pamir`
        By default queries are drawn in proportion to the square root of how many pictures answer
        them, which ranked Corel's validation pictures best.
    retrain : bool
        Learn again from training and validation pictures, for as many rounds as were best.
    patience : int
        Give up after so many rounds without a better AvgP on validation pictures.
    averaged : bool
        Take the mean of the weights over about the last tenth of the steps; False takes the last
        weights, as the paper does.
    device : str
        Where it learns, with torch (extra ``neural``): "cpu" or "cuda". Mapping needs no torch.
    random_state : int

    Attributes
    ----------
    W1_, B1_, W2_, B2_, W3_, B3_ : arrays
        Averages over the last tenth of the steps, or the last ones.
    idf_ : array of shape (T,)
    n_iter_ : int
        Rounds learnt, or those that were best on validation pictures.
    validation_ : float
        Best AvgP on validation pictures, NaN without them.

    Examples
    --------
    >>> pictures = np.array([[5, 0, 0, 1], [4, 1, 0, 0], [0, 0, 1, 4], [0, 5, 0, 0]])  # two blocks
    >>> captions = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])  # sun, sun, sea, sea
    >>> small = {"block_units": 8, "picture_units": 8, "batch_size": 8, "epoch_pairs": 400}
    >>> model = Bbnn(block_width=2, max_iter=2, **small)
    >>> model.fit(pictures, captions).transform([[0, 4, 0, 0]]).argmax(axis=1)
    array([1])
    """

    name = "bbnn"
    takes = "blocks"
    arrays = ("W1_", "B1_", "W2_", "B2_", "W3_", "B3_", "idf_")
    iteration = "epochs"
    decides: ClassVar[Rules] = {"max_iter": rules.BOUND}
    checks: ClassVar[Rules] = {
        "margin": rules.one_of("caption", "constant"),
        "least_margin": rules.optional(rules.POSITIVE),
        "query_exponent": rules.EXPONENT,
        "query_lengths": rules.optional(rules.SHARES),
        "block_width": rules.optional(rules.WHOLE),
        "block_units": rules.WHOLE,
        "picture_units": rules.WHOLE,
        "batch_size": rules.WHOLE,
        "epoch_pairs": rules.WHOLE,
        "patience": rules.WHOLE,
        "block_share": rules.SHARE,
        "averaged": rules.FLAG,
        "random_state": rules.SEED,
    }

    block_width: int | None = None
    block_units: int = 500
    picture_units: int = 1000
    learning_rate: float = 0.1
    momentum: float = 0.9
    batch_size: int = 192
    in_batch_negatives: bool = True
    block_share: float = 0.5
    max_iter: int = 40
    epoch_pairs: int = 50_000
    margin: str = "caption"
    least_margin: float | None = None
    query_exponent: float = 0.5
    query_lengths: Sequence[float] | None = None
    patience: int = 5
    averaged: bool = True
    device: str = "cpu"
    random_state: int = 0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not 0 < self.learning_rate < np.inf or not 0 <= self.momentum < 1:
            raise BadInput(
                "learning_rate must be positive and momentum from 0 to below 1, not "
                f"{self.learning_rate} and {self.momentum}"
            )

    def _supervise(self, vectors: Vectors, Y: Captions, initial: Model | None) -> Supervision:
        width = vectors.shape[1]
        if self.block_width is not None and width % self.block_width:
            raise BadInput(
                f"a picture vector of {width} numbers is no row of blocks of {self.block_width}; "
                "set block_width to how many describe one block, or to None for one block a picture"
            )
        return ranked(vectors, Y)

    def _run(
        self, task: Task, prepared: Supervision, choice: Choice, progress: Progress
    ) -> Iterator[Trial]:
        from visterm.models._bbnn_network import Descent

        pairs = self._pairs(prepared)
        size = typical_size(prepared.vectors) if self.block_width is None else 1.0
        pictures = as_blocks(prepared.vectors, self.block_width, size)
        first = self._first_layers(pictures.shape[2] - 1, len(prepared.idf))
        descent = Descent(first, self.learning_rate, self.momentum, self.device)
        learnt = descent.average if self.averaged else descent.layers
        blocks, there = descent.put(pictures), pictures[:, :, -1] > 0
        rng = np.random.default_rng(self.seed)

        def keep() -> Callable[[], dict[str, Any]]:
            layers = [layer.detach().cpu().numpy().copy() for layer in learnt]
            return lambda: _fitted(layers, size)

        def rows() -> NDArray[np.float32]:
            assert task.held is not None
            held = task.held.vectors
            return self._rows([layer.detach().cpu().numpy().copy() for layer in learnt], held, size)

        for epoch in range(1, choice["max_iter"] + 1):
            for done in range(0, self.epoch_pairs, self.batch_size):
                batch = pairs.draw(min(self.batch_size, self.epoch_pairs - done))
                chosen = some_of(there[batch.shown], self.block_share, rng)
                descent.step(descent.loss(blocks, batch, chosen))
            progress("training", epoch, choice["max_iter"])
            yield Trial({"max_iter": epoch}, rows, keep)

    def _map(self, vectors: Vectors) -> NDArray[np.float32]:
        first = np.hstack([self.W1_, self.B1_[:, None]])
        layers = [first, self.W2_, self.B2_, self.W3_, self.B3_]
        return self._rows(layers, vectors)

    def _rows(
        self, layers: list[NDArray[np.float32]], vectors: Vectors, size: float = 1.0
    ) -> NDArray[np.float32]:
        """What the network says of pictures, some at a time, on all cores; NumPy is enough."""
        w1, w2, b2, w3, b3 = layers
        rows = np.empty((vectors.shape[0], len(b3)), dtype=np.float32)

        def work(part: slice) -> None:
            blocks = as_blocks(vectors[part], self.block_width, size)
            local = np.tanh(blocks.reshape(-1, blocks.shape[2]) @ w1.T)
            pooled = local.reshape(*blocks.shape[:2], -1).sum(axis=1)
            pooled /= np.maximum(blocks[:, :, -1].sum(axis=1), 1)[:, None]
            rows[part] = np.tanh(pooled @ w2.T + b2) @ w3.T + b3

        on_all_cores(work, slices(len(rows), _PART))
        return rows

    def _pairs(self, training: Supervision) -> Pairs:
        return Pairs(
            query_source(self, training),
            len(training.idf),
            *training.margins(self.margin, self.least_margin),
            in_batch_negatives=self.in_batch_negatives,
            seed=self.seed,
        )

    def _first_layers(self, numbers: int, words: int) -> list[NDArray[np.float32]]:
        """Weights uniform in ±1/√inputs and biases 0, drawn by NumPy: the same on any device."""
        rng = np.random.default_rng(self.seed)
        sizes = ((self.block_units, numbers), (self.picture_units, self.block_units))
        layers = []
        for outputs, inputs in (*sizes, (words, self.picture_units)):
            weights = rng.uniform(-1, 1, (outputs, inputs)) / np.sqrt(inputs)
            layers += [weights.astype(np.float32), np.zeros(outputs, dtype=np.float32)]
        return [np.hstack([layers[0], layers[1][:, None]]), *layers[2:]]


def _fitted(layers: list[NDArray[np.float32]], size: float) -> dict[str, Any]:
    weights, bias = layers[0][:, :-1] / np.float32(size), layers[0][:, -1].copy()
    names = ("W1_", "B1_", "W2_", "B2_", "W3_", "B3_")
    return dict(zip(names, (weights, bias, *layers[1:]), strict=True))
