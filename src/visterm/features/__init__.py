"""Pixels to vectors: what pictures look like, as numbers."""

from visterm.features.blobs import Blobs as Blobs
from visterm.features.blocks import BlockCounts as BlockCounts
from visterm.features.blocks import Blocks as Blocks
from visterm.features.blocks import VistermCounts as VistermCounts
from visterm.features.cnn import CNN as CNN
from visterm.features.cnn import CNNPyramid as CNNPyramid
from visterm.features.cnn import OnnxEmbedder as OnnxEmbedder
from visterm.features.combined import EXTRACTORS as EXTRACTORS
from visterm.features.combined import Combined as Combined
from visterm.features.encoder_vectors import EncoderVectors as EncoderVectors
from visterm.features.extractor import Extraction as Extraction
from visterm.features.extractor import Extractor as Extractor
from visterm.features.notation import parse_features as parse_features
from visterm.features.own_features import OwnFeatures as OwnFeatures
from visterm.features.own_features import use_function as use_function
from visterm.features.own_features import use_vectors as use_vectors
from visterm.features.sift import DenseSift as DenseSift
from visterm.features.sift import Sift as Sift
