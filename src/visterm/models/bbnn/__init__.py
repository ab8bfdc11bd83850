"""BBNN, the block-based neural network: the model, its `network` and gradient, blocks, batches."""

from visterm.models.bbnn.bbnn import Bbnn

__all__ = ["Bbnn"]
