"""What of a query a vocabulary does not know, in phrases as they were typed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import groupby

from visterm.text.meaning import confident, is_common, translations
from visterm.text.query import Query
from visterm.text.stop_words import STOP_WORDS
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
    """The query with phrases as the known words that mean them, and which these are.

    Neighbours of one weight are read as a phrase before they are read word by word, if some of
    them is not known and all together mean one known word for certain. Where ``is_apart`` picks a
    word, as captions hold it, they are left as they are.
    """
    words: list[tuple[str, float]] = []
    replaced: dict[str, list[str]] = {}
    for weight, group in groupby(query.words, key=lambda pair: pair[1]):
        some, said = _looked_up([word for word, _ in group], vocabulary, is_apart)
        replaced |= said
        joined = vocabulary.joined(some)
        unknown = [word for word in joined if vocabulary.number(word) is None]
        phrase = " ".join(some)
        can_be_one = 1 < len(some) <= _LONGEST and unknown and not any(map(is_apart, unknown))
        can_be_one = can_be_one and not all(translations(word, vocabulary) for word in unknown)
        found = confident(phrase, vocabulary) if can_be_one else []
        meant = [vocabulary.words[one.number] for one in found]
        # One of the phrase's own words stands for all of it only where the others are no slips.
        if meant and (meant[0] not in joined or all(map(is_common, unknown))):
            some = replaced[phrase] = meant[:1]
        words += [(word, weight) for word in some]
    return (replace(query, words=tuple(words)), replaced) if replaced else (query, {})


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
