"""Words, vocabularies, queries, and which pictures are relevant to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from visterm.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from visterm.text.relevance import Relevance, relevance_from_captions

__all__ = ["Relevance", "Vocabulary", "relevance_from_captions"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'visterm.text' has no attribute {name!r}")
    from visterm.text import relevance  # which no search needs

    return getattr(relevance, name)
