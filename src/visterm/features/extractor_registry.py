"""Every kind of features by its name."""

from __future__ import annotations

from visterm.encoders import known_networks
from visterm.errors import BadInput
from visterm.features.blobs import Blobs
from visterm.features.blocks import BlockCounts, Blocks, VistermCounts
from visterm.features.cnn import CNN, CNNPyramid, OnnxEmbedder
from visterm.features.encoder_vectors import EncoderVectors
from visterm.features.extractor import Extractor
from visterm.features.sift import DenseSift, Sift

EXTRACTORS: dict[str, type[Extractor]] = {
    kind.name: kind
    for kind in (Blocks, BlockCounts, VistermCounts, CNN, CNNPyramid, Sift, DenseSift, Blobs)
}
"""Kinds that need nothing but their name; an embedder needs its file, an encoder its name."""


def extractor_class(name: str) -> type[Extractor]:
    """The class of a name.

    >>> extractor_class("blocks")
    <class 'visterm.features.blocks.block_visterms.Blocks'>
    """
    if name == OnnxEmbedder.name:
        return OnnxEmbedder
    if name == EncoderVectors.name:
        return EncoderVectors
    if name not in EXTRACTORS:
        known = ", ".join(
            [*EXTRACTORS, f"{EncoderVectors.name}(NAME)", f"{OnnxEmbedder.name}:FILE"]
        )
        networks = " and ".join(known_networks())
        raise BadInput(
            f"no features called {name!r}; there are {known}, joined by +; "
            f"visterm encoder add brings {networks} or another network"
        )
    return EXTRACTORS[name]
