"""BBNN's step as torch's users write it: layers, a loss, and autograd. Needs the extra neural."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.models.bbnn._batches import Batch


class TorchEager:
    """The same network, loss and step, by torch's own operations on the CPU."""

    def __init__(self, layers: list[NDArray[np.float32]], rate: float, momentum: float) -> None:
        import torch

        self.torch = torch
        self.layers = [torch.tensor(layer, requires_grad=True) for layer in layers]
        self.descent = torch.optim.SGD(self.layers, lr=rate, momentum=momentum)

    def gradients(self, blocks: NDArray[np.float32], batch: Batch) -> list[NDArray[np.float32]]:
        """Of the batch's loss, by each layer."""
        self.descent.zero_grad()
        self._loss(blocks, batch).backward()
        return [np.asarray(layer.grad) for layer in self.layers]

    def step(self, blocks: NDArray[np.float32], batch: Batch) -> None:
        self.descent.zero_grad()
        self._loss(blocks, batch).backward()
        self.descent.step()

    def _loss(self, blocks: NDArray[np.float32], batch: Batch) -> Any:
        torch = self.torch
        w1, w2, b2, w3, b3 = self.layers
        given = torch.from_numpy(blocks[batch.shown])
        pooled = torch.tanh(given @ w1.T).sum(1) / given[:, :, -1].sum(1)[:, None]
        rows = torch.tanh(pooled @ w2.T + b2) @ w3.T + b3
        queries, margins = torch.from_numpy(batch.queries), torch.from_numpy(batch.margins)
        own = (queries * rows[torch.from_numpy(batch.better)]).sum(1)
        others = queries @ rows[torch.from_numpy(batch.worse)].T
        hinge = (margins - own[:, None] + others).clamp(min=0)
        return (hinge.sum(1) / (hinge > 0).sum(1).clamp(min=1)).mean()
