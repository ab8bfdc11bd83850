"""Dual encoders that people bring: pictures and texts as vectors of one space."""

from visterm.encoders.encoder import Encoder, open_encoder
from visterm.encoders.installation import add, folder, installed, remove
from visterm.encoders.manifest import PROMPTS, Manifest

__all__ = [
    "PROMPTS",
    "Encoder",
    "Manifest",
    "add",
    "folder",
    "installed",
    "open_encoder",
    "remove",
]
