"""Bbnn, the block-based neural network."""

from visterm.models.bbnn.bbnn import Bbnn

__all__ = ["Bbnn"]
