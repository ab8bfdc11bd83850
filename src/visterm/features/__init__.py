"""Pixels to vectors: what pictures look like, as numbers."""

from visterm.features.blobs import Blobs
from visterm.features.blocks import BlockCounts, Blocks, VistermCounts
from visterm.features.cnn import CNN, CNNPyramid, OnnxEmbedder
from visterm.features.combined import EXTRACTORS, Combined
from visterm.features.encoder_vectors import EncoderVectors
from visterm.features.extractor import Extraction, Extractor
from visterm.features.notation import parse_features
from visterm.features.own_features import OwnFeatures, use_function, use_vectors
from visterm.features.sift import DenseSift, Sift

__all__ = [
    "CNN",
    "EXTRACTORS",
    "Blobs",
    "BlockCounts",
    "Blocks",
    "CNNPyramid",
    "Combined",
    "DenseSift",
    "EncoderVectors",
    "Extraction",
    "Extractor",
    "OnnxEmbedder",
    "OwnFeatures",
    "Sift",
    "VistermCounts",
    "parse_features",
    "use_function",
    "use_vectors",
]
