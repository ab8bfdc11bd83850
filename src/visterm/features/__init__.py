"""Pixels to vectors: what pictures look like, as numbers."""

from visterm.features.block_visterms import Blocks
from visterm.features.extractor import Extraction, Extractor

EXTRACTORS: dict[str, type[Extractor]] = {extractor.name: extractor for extractor in (Blocks,)}

__all__ = ["EXTRACTORS", "Blocks", "Extraction", "Extractor"]
