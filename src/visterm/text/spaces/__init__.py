"""Text spaces: how a query, a caption, a phrase or a label becomes a vector."""

from __future__ import annotations

import os

from visterm.errors import BadInput
from visterm.stored import read_stored
from visterm.text.spaces.sentences import EncoderTexts, Sentences
from visterm.text.spaces.space import TextRows, TextSpace
from visterm.text.spaces.topics import CorrelatedTopics, Topics
from visterm.text.spaces.words import Glove, Lsa, Words

SPACES: dict[str, type[TextSpace]] = {
    space.name: space
    for space in (Words, Lsa, Topics, CorrelatedTopics, Glove, Sentences, EncoderTexts)
}


def load_space(path: str | os.PathLike[str]) -> TextSpace:
    """Read any saved text space, whichever it is."""
    about, _ = read_stored(path)
    if about["name"] not in SPACES:
        raise BadInput(f"{path} holds {about['name']}, which is no text space this visterm knows")
    return SPACES[about["name"]].load(path)


__all__ = [
    "SPACES",
    "CorrelatedTopics",
    "EncoderTexts",
    "Glove",
    "Lsa",
    "Sentences",
    "TextRows",
    "TextSpace",
    "Topics",
    "Words",
    "load_space",
]
