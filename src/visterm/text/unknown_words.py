"""What of a query a vocabulary does not know, in phrases as they were typed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby

from visterm.text.query import Query
from visterm.text.stop_words import STOP_WORDS
from visterm.text.vocabulary import Vocabulary


def unknown_phrases(
    query: Query, vocabulary: Vocabulary, is_apart: Callable[[str], bool]
) -> Iterator[tuple[str, float]]:
    """Words that a vocabulary does not know, with weights; neighbours of one weight are a phrase.

    Words that ``is_apart`` picks stand alone; those that only hold English together are nothing
    alone.

    >>> from visterm.text.query import parse_query
    >>> asked = parse_query("steel mill by the sea -smoke")
    >>> list(unknown_phrases(asked, Vocabulary.of_words(["sea"]), lambda word: False))
    [('steel mill', 1.0), ('smoke', -1.0)]
    """
    for weight, some in groupby(query.words, key=lambda pair: pair[1]):
        phrases: list[list[str]] = [[]]
        for word in vocabulary.joined([word for word, _ in some]):
            if vocabulary.number(word) is not None:
                phrases.append([])
            elif word not in STOP_WORDS and is_apart(word):
                phrases += [[word], []]
            else:
                phrases[-1].append(word)
        for phrase in phrases:
            while phrase and phrase[-1] in STOP_WORDS:
                phrase.pop()
            while phrase and phrase[0] in STOP_WORDS:
                phrase.pop(0)
            if phrase:
                yield " ".join(phrase), weight
