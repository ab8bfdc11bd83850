"""Text-space rows → exact top k: the same ids and scores as sorting the full product."""

from __future__ import annotations

from visterm.index.columns import Index
from visterm.index.dense import DenseIndex

__all__ = ["DenseIndex", "Index"]
