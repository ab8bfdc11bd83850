"""Pixels to vectors: what pictures look like, as numbers."""

from visterm.features.blobs import Blobs
from visterm.features.blocks import BlockCounts, Blocks, VistermCounts
from visterm.features.cnn import CNN, CNNPyramid
from visterm.features.combined import Combined
from visterm.features.extractor import Extraction, Extractor
from visterm.features.notation import parse_features
from visterm.features.sift import DenseSift, Sift

EXTRACTORS: dict[str, type[Extractor]] = {
    extractor.name: extractor
    for extractor in (Blocks, BlockCounts, VistermCounts, CNN, CNNPyramid, Sift, DenseSift, Blobs)
}

__all__ = [
    "CNN",
    "EXTRACTORS",
    "Blobs",
    "BlockCounts",
    "Blocks",
    "CNNPyramid",
    "Combined",
    "DenseSift",
    "Extraction",
    "Extractor",
    "Sift",
    "VistermCounts",
    "parse_features",
]
