"""What of a query a vocabulary does not know, in phrases as they were typed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import groupby

from visterm.text.meaning import translations
from visterm.text.query import Query
from visterm.text.tokens import STOP_WORDS
from visterm.text.translations import LITTLE_WORDS
from visterm.text.vocabulary import Vocabulary

_LONGEST = 4


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


def read_phrases(
    query: Query, vocabulary: Vocabulary, is_apart: Callable[[str], bool]
) -> tuple[Query, dict[str, list[str]]]:
    """The query with phrases of other languages as the known words that mean them, and which.

    Stop words that the vocabulary does not hold, alone or in a name, are left out. Where
    ``is_apart`` picks a word, as captions hold it, phrases with it are left as they are.

    >>> from visterm.text.query import parse_query
    >>> words = Vocabulary.of_words(["man", "railway"])
    >>> read_phrases(parse_query("a man at the chemin de fer"), words, lambda _: False)[0].words
    (('man', 1.0), ('railway', 1.0))
    """
    words: list[tuple[str, float]] = []
    replaced: dict[str, list[str]] = {}

    def stands_alone(word: str) -> bool:
        return word in query.own_words or is_apart(word)

    for weight, group in groupby(query.words, key=lambda pair: pair[1]):
        some, said = _looked_up([word for word, _ in group], vocabulary, stands_alone)
        replaced |= said
        words += [(word, weight) for word in vocabulary.joined(some)]
    is_foreign = bool(replaced) or any(
        word not in query.own_words and translations(word, vocabulary) for word, _ in words
    )
    filling = STOP_WORDS | LITTLE_WORDS if is_foreign else STOP_WORDS
    kept = [one for one in words if one[0] not in filling or vocabulary.number(one[0]) is not None]
    return replace(query, words=tuple(kept)), replaced


def _looked_up(
    words: list[str], vocabulary: Vocabulary, is_apart: Callable[[str], bool]
) -> tuple[list[str], dict[str, list[str]]]:
    """Words with phrases of another language as the known words that they mean, and which."""
    found: list[str] = []
    replaced: dict[str, list[str]] = {}
    at = 0
    while at < len(words):
        for end in range(min(len(words), at + _LONGEST), at + 1, -1):
            some = words[at:end]
            meant = translations(" ".join(some), vocabulary)
            if meant and not any(map(is_apart, some)):
                replaced[" ".join(some)] = [vocabulary.words[meant[0].number]]
                found += replaced[" ".join(some)]
                at = end
                break
        else:
            found.append(words[at])
            at += 1
    return found, replaced
