"""Picture files as people keep them: safe decoding to upright RGB, and what is written about them.

Names load what they need when they are first used: a search needs none of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from visterm.pictures.caption_table import read_caption_table as read_caption_table
    from visterm.pictures.formats import SUPPORTED_EXTENSIONS as SUPPORTED_EXTENSIONS
    from visterm.pictures.metadata import Caption as Caption
    from visterm.pictures.sandbox import captions_of as captions_of
    from visterm.pictures.sandbox import picture_size as picture_size
    from visterm.pictures.sandbox import read_picture as read_picture

_MODULE_OF = {
    "SUPPORTED_EXTENSIONS": "formats",
    "Caption": "metadata",
    "captions_of": "sandbox",
    "picture_size": "sandbox",
    "read_caption_table": "caption_table",
    "read_picture": "sandbox",
}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'visterm.pictures' has no attribute {name!r}")
    return getattr(import_module(f"visterm.pictures.{_MODULE_OF[name]}"), name)
