"""Networks that people bring: vectors of pictures and, of dual encoders, of texts beside them."""

from visterm.encoders.encoder import Encoder, open_encoder
from visterm.encoders.installation import PROMPTS, Manifest, add, installed, is_encoder, remove
from visterm.encoders.sources import KnownNetwork, known_networks

__all__ = [
    "PROMPTS",
    "Encoder",
    "KnownNetwork",
    "Manifest",
    "add",
    "installed",
    "is_encoder",
    "known_networks",
    "open_encoder",
    "remove",
]
