"""Text spaces: how a query, a caption, a phrase or a label becomes a vector."""

from __future__ import annotations

import os

from visterm.errors import BadInput
from visterm.stored import read_stored
from visterm.text.spaces.sentences import EncoderTexts as EncoderTexts
from visterm.text.spaces.sentences import Sentences as Sentences
from visterm.text.spaces.space import TextRows as TextRows
from visterm.text.spaces.space import TextSpace as TextSpace
from visterm.text.spaces.topics import Topics as Topics
from visterm.text.spaces.words import Glove as Glove
from visterm.text.spaces.words import Lsa as Lsa
from visterm.text.spaces.words import Words as Words

SPACES: dict[str, type[TextSpace]] = {
    space.name: space for space in (Words, Lsa, Topics, Glove, Sentences, EncoderTexts)
}


def load_space(path: str | os.PathLike[str]) -> TextSpace:
    """Read any saved text space, whichever it is."""
    about, _ = read_stored(path)
    if about["name"] not in SPACES:
        raise BadInput(f"{path} holds {about['name']}, which is no text space this visterm knows")
    return SPACES[about["name"]].load(path)
