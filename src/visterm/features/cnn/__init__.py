"""Networks that look at pictures: EfficientNet-Lite0, and any ONNX embedder plugged in."""

from visterm.features.cnn.efficientnet import CNN, CNNPyramid
from visterm.features.cnn.embedder import OnnxEmbedder
from visterm.features.cnn.recipe import Recipe, read_recipe

__all__ = ["CNN", "CNNPyramid", "OnnxEmbedder", "Recipe", "read_recipe"]
