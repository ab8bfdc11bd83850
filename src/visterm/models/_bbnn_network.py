"""BBNN's network and its training step in torch, whose autograd derives the gradient.

A block comes with a last number that is 1, and a block that is none is all zeros: the first layer's
bias is then one more column of its weights, and a missing block gives ``tanh(0) = 0`` by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput, needs_extra
from visterm.models._bbnn_batches import Batch

Tensor: TypeAlias = Any


def torch_for(device: str) -> Any:
    """torch, if it is there and can compute on this device."""
    if not isinstance(device, str) or not (device == "cpu" or device.startswith("cuda")):
        raise BadInput(f"device is 'cpu' or 'cuda', not {device!r}")
    with needs_extra("neural", "learning networks needs torch"):
        import torch
    if device != "cpu" and not torch.cuda.is_available():
        raise BadInput(f"there is no {device!r} here that torch can use; learn on the 'cpu'")
    return torch


class Descent:
    """Stochastic gradient descent with momentum, and an average of the weights on its way.

    The average is over about the last tenth of the steps (polynomial decay: O. Shamir and T. Zhang,
    ICML 2013); it ranks better than the weights themselves, which never rest at a constant rate.

    Parameters
    ----------
    layers : W1 (with B1 as its last column), W2, B2, W3, B3
    """

    def __init__(
        self, layers: Sequence[NDArray[Any]], rate: float, momentum: float, device: str = "cpu"
    ) -> None:
        self.torch, self.device = torch_for(device), device
        self.layers = [self.put(layer).requires_grad_() for layer in layers]
        self.average = [layer.detach().clone() for layer in self.layers]
        self._optimiser = self.torch.optim.SGD(self.layers, lr=rate, momentum=momentum)
        self.steps = 0

    def put(self, array: NDArray[Any]) -> Tensor:
        return self.torch.tensor(array, device=self.device)

    def step(self, loss: Tensor) -> None:
        """Go down the gradient of a loss."""
        self._optimiser.zero_grad()
        loss.backward()
        self._optimiser.step()
        for average, layer in zip(self.average, self.layers, strict=True):
            average += 9 / (10 + self.steps) * (layer.detach() - average)
        self.steps += 1

    def loss(
        self, blocks: Tensor, batch: Batch, looked_at: NDArray[np.int64] | None = None
    ) -> Tensor:
        """The mean over pairs of the hinge loss ``max(0, ε − q·t⁺ + q·t⁻)``.

        That of a pair is averaged over those p⁻ that violate their margin; with one p⁻ a pair it is
        the paper's. ``looked_at`` says which blocks of each shown picture count; all without it.
        """
        one_hot = self.torch.nn.functional.one_hot
        shown = self.put(batch.shown)
        chosen = blocks[shown] if looked_at is None else blocks[shown[:, None], self.put(looked_at)]
        rows = self.rows(chosen, self.layers)
        queries, margins = self.put(batch.queries), self.put(batch.margins)
        # Rows are picked by a product: the gradient of an index is added up in any order.
        better, worse = (
            one_hot(self.put(numbers), len(rows)).to(rows.dtype) @ rows
            for numbers in (batch.better, batch.worse)
        )
        gaps = (queries * better).sum(1)[:, None] - queries @ worse.T
        hinge = (margins - gaps).clamp(min=0)
        return (hinge.sum(1) / (hinge > 0).sum(1).clamp(min=1)).mean()

    def rows(self, blocks: Tensor, layers: Sequence[Tensor]) -> Tensor:
        """Text-space rows ``W3 tanh(W2 f + B2) + B3`` with ``f = mean_i tanh(W1 b_i + B1)``."""
        tanh, (w1, w2, b2, w3, b3) = self.torch.tanh, layers
        # A picture without any block is all zeros.
        pooled = tanh(blocks @ w1.T).sum(1) / blocks[:, :, -1].sum(1).clamp(min=1)[:, None]
        return tanh(pooled @ w2.T + b2) @ w3.T + b3
