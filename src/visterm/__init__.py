"""visterm finds pictures from words, and learns what words look like from who owns the pictures.

>>> from visterm import Vocabulary
>>> Vocabulary.from_captions(["snow on trees", "a tree"], min_captions=2).words
('tree',)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from visterm.collection import Collection
    from visterm.errors import UnreadablePicture, VistermError
    from visterm.evaluation import evaluate
    from visterm.features import CNN, Blocks
    from visterm.models import KernelPamir, Pamir, load_model
    from visterm.pictures import read_picture
    from visterm.text import Relevance, Vocabulary, relevance_from_captions

__version__ = "0.1.0"

# Each public name and the room it comes from. Rooms load when a name is first used, so that
# `import visterm` and commands that need no model stay quick.
_ROOMS = {
    "CNN": "features",
    "Blocks": "features",
    "Collection": "collection",
    "KernelPamir": "models",
    "Pamir": "models",
    "Relevance": "text",
    "UnreadablePicture": "errors",
    "VistermError": "errors",
    "Vocabulary": "text",
    "evaluate": "evaluation",
    "load_model": "models",
    "read_picture": "pictures",
    "relevance_from_captions": "text",
}

__all__ = [
    "CNN",
    "Blocks",
    "Collection",
    "KernelPamir",
    "Pamir",
    "Relevance",
    "UnreadablePicture",
    "VistermError",
    "Vocabulary",
    "evaluate",
    "load_model",
    "read_picture",
    "relevance_from_captions",
]


def __getattr__(name: str) -> object:
    if name not in _ROOMS:
        raise AttributeError(f"module 'visterm' has no attribute {name!r}")
    return getattr(import_module(f"visterm.{_ROOMS[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
