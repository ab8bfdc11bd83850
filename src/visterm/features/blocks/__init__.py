"""Squares of a picture: texture and colour histograms, as bags of visterms or block by block."""

from visterm.features.blocks.block_visterms import BlockCounts, Blocks, VistermCounts

__all__ = ["BlockCounts", "Blocks", "VistermCounts"]
