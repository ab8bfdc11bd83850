"""How much of what a person would accept for a picture its caption mentions.

A sentence leaves most things out: of the words that a model learnt from Flickr8k knows, one caption
of a picture holds 5.7 and its five together 15.8 in the mean, and on held-out pictures the odds
that one mentions a word were about that part, 0.36, of the odds that one of five does. Sentences of
other lengths are taken to mention in proportion. Of what lists of keywords leave out nothing is
known, and they are taken for complete.
"""

from __future__ import annotations

from collections.abc import Sequence

from visterm.text.tokens import STOP_WORDS, tokens

_WORDS_OF_A_PICTURE = 16.4
"""Words of a caption, without such as "the", that would leave nothing out: Flickr8k's first ones
hold 5.9, and mention 0.36."""
_SENTENCE = 0.2
"""The part of a sentence that are words such as "the", "of" or "with", at least."""
_SAMPLE = 2000


def mention_rate(captions: Sequence[str]) -> float:
    """The odds that a caption mentions a word, as a part of the odds that a person would accept it.

    >>> round(mention_rate(["a dog runs on the beach", "the boy is with a dog in the snow"]), 2)
    0.18
    >>> mention_rate(["dog beach", "boy dog snow"])
    1.0
    """
    texts = [tokens(text) for text in captions[:: max(1, len(captions) // _SAMPLE)]]
    every = [word for text in texts for word in text]
    if sum(word in STOP_WORDS for word in every) < _SENTENCE * max(len(every), 1):
        return 1.0
    held = sum(len(set(text) - STOP_WORDS) for text in texts) / len(texts)
    return min(1.0, max(held, 1.0) / _WORDS_OF_A_PICTURE)
