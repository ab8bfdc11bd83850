"""Clauses of a caption as the parts that phrases are made of: nouns, verbs, prepositions.

The Hannover Tagger (Wartena, A probabilistic morphology model for German lemmatization, KONVENS
2019) names the part of speech and the lemma of every word; a few rules then find the noun that a
run of articles, adjectives and nouns is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple, Protocol

from visterm.errors import needs_extra
from visterm.text.tokens import one_form, singular

Kind = Literal["noun", "verb", "preposition", "pronoun", "and", "comma", "be", "other"]


class ClausePart(NamedTuple):
    """A part of a clause; ``plural`` of a noun or a form of be, ``plain`` of a bare participle."""

    kind: Kind
    word: str
    plural: bool = False
    plain: bool = False


Tagged = tuple[str, str]
"""A word, and its tag of the British National Corpus' C5 set."""


class Tagger(Protocol):
    """What is asked of the tagger: tags alone at level 0; lemmas word by word, when needed."""

    def tag_sent(self, sent: list[str], taglevel: int) -> list[str]: ...

    def analyze(self, word: str, pos: str) -> tuple[str, str]: ...


_PIECES = re.compile(r"[^\W_]+(?:[-'][^\W_]+)*|[^\w\s]")
_CLAUSE_ENDS = frozenset(";.:!?")
_LONG_PREPOSITIONS = {
    ("in", "front", "of"),
    ("on", "top", "of"),
    ("next", "to"),
    ("close", "to"),
    ("near", "to"),
    ("out", "of"),
    ("inside", "of"),
    ("outside", "of"),
    ("away", "from"),
    ("together", "with"),
    ("along", "with"),
    ("opposite", "to"),
}
_BEFORE_NOUN = frozenset(
    ["AT0", "DT0", "DPS", "CRD", "ORD", "AJ0", "AJC", "AJS", "AV0", "POS", "UNC", "PNI"]
)
_NOUNS = frozenset(["NN0", "NN1", "NN2", "NP0"])
_DESCRIBING = frozenset(["AJ0", "AJC", "AJS", "CRD", "VVN", "AV0"])


@lru_cache(maxsize=1)
def tagger() -> Tagger:
    """The tagger with its English model, loaded once."""
    with needs_extra("phrases", "phrases need a tagger"):
        from HanTa.HanoverTagger import HanoverTagger
    loaded: Tagger = HanoverTagger("morphmodel_en.pgz")
    return loaded


def clauses(caption: str) -> Iterator[list[ClausePart]]:
    """The parts of each clause of a caption.

    >>> import pytest
    >>> _ = pytest.importorskip("HanTa")
    >>> for clause in clauses("two men are walking; a red house"):
    ...     print([part.word for part in clause])
    ['man', 'be', 'walk']
    ['house']
    """
    pieces = _PIECES.findall(one_form(caption))
    start = 0
    for at, piece in enumerate([*pieces, ";"]):
        if piece in _CLAUSE_ENDS:
            if at > start:
                yield _parts(_tagged(pieces[start:at]))
            start = at + 1


def _tagged(words: list[str]) -> list[Tagged]:
    tagged = list(zip(words, tagger().tag_sent(words, 0), strict=True))
    for at in range(1, len(tagged)):
        word, tag = tagged[at]
        # What "dogs are sleeping" do is a verb, also where the tagger took it for an adjective.
        doing = tag == "AJ0" and word.endswith("ing") and tagged[at - 1][1].startswith("VB")
        if doing and not _noun_follows(tagged, at + 1):
            tagged[at] = (word, "VVG")
    return tagged


def _parts(tagged: list[Tagged]) -> list[ClausePart]:
    parts: list[ClausePart] = []
    at = 0
    while at < len(tagged):
        found, used = _part(tagged, at)
        if found is not None:
            parts.append(found)
        at += used
    return parts


def _part(tagged: list[Tagged], at: int) -> tuple[ClausePart | None, int]:
    """The part that begins here, and the tokens it takes."""
    word, tag = tagged[at]
    for length in (3, 2):
        words = tuple(token for token, _ in tagged[at : at + length])
        if words in _LONG_PREPOSITIONS:
            return ClausePart("preposition", " ".join(words)), length
    noun = _noun(tagged, at)
    if noun is not None:
        return noun
    if tag in ("PRP", "PRF") or (word == "to" and tag == "TO0"):
        return ClausePart("preposition", word), 1
    if tag.startswith("VB"):
        return ClausePart("be", "be", plural=word == "are"), 1
    if tag.startswith("VV"):
        return ClausePart("verb", _lemma(word, tag), plain=tag in ("VVG", "VVN")), 1
    if tag in ("PNP", "PNX", "DT0", "PNI"):
        return ClausePart("pronoun", word), 1
    if word in ("and", "or", "&"):
        return ClausePart("and", word), 1
    if word == ",":
        return ClausePart("comma", word), 1
    # Adverbs and whatever else stands between a verb and its preposition do not part them.
    return (None if tag in ("AV0", "AVP", "AT0", "XX0") else ClausePart("other", word)), 1


def _noun(tagged: list[Tagged], at: int) -> tuple[ClausePart, int] | None:
    """The noun phrase that begins here: its last noun, which it is about."""
    head, end, place = None, at, at
    while place < len(tagged):
        word, tag = tagged[place]
        before = tagged[place - 1][1] if place > at else ""
        if tag in _NOUNS:
            head, end = tagged[place], place + 1
        elif tag in _BEFORE_NOUN:
            if head is not None and tag not in ("POS", "UNC"):
                break
        elif tag == "VVG" and before in _BEFORE_NOUN and _noun_follows(tagged, place + 1):
            pass  # "a racing bike", but not "a man wearing sunglasses"
        elif tag in ("VVN", "VVD") and _noun_follows(tagged, place + 1):
            pass  # "snow covered trees"
        elif not (word in ("and", ",", "or") and head is None and _joins(tagged, place, before)):
            break
        place += 1
    if head is None:
        return None
    word, tag = head
    return ClausePart("noun", _one_of(word, tag), plural=tag in ("NN2", "NN0")), end - at


def _noun_follows(tagged: list[Tagged], place: int) -> bool:
    """Whether a noun comes next, perhaps after an adjective, and no new phrase begins."""
    for _, tag in tagged[place : place + 2]:
        if tag in _NOUNS:
            return True
        if tag not in ("AJ0", "VVG"):
            return False
    return False


def _joins(tagged: list[Tagged], place: int, before: str) -> bool:
    """Whether this comma or "and" stands between words that describe the same noun."""
    after = tagged[place + 1][1] if place + 1 < len(tagged) else ""
    if tagged[place][0] == "," and tagged[place + 1 : place + 2] and tagged[place + 1][0] == "and":
        after = tagged[place + 2][1] if place + 2 < len(tagged) else ""
    return before in _DESCRIBING and after in _DESCRIBING | {"NN1"}


@lru_cache(maxsize=65536)
def _lemma(word: str, tag: str) -> str:
    """The tagger's lemma, or the word where it finds none."""
    return tagger().analyze(word, tag)[0].lower() or word


def _one_of(word: str, tag: str) -> str:
    """The singular of a noun; of one in the singular the tagger sometimes takes off too much."""
    if tag != "NN2":
        return word
    irregular = singular(word)
    return irregular if irregular != word else _lemma(word, tag)
