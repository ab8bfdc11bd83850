"""BBNN, the block-based neural network."""

from visterm.models.bbnn.bbnn import BBNN

__all__ = ["BBNN"]
