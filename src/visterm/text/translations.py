"""Everyday words of six languages, and the English ones that they mean.

The table is written for visterm (``translations.txt``): words for what pictures show, in German,
French, Spanish, Italian, Portuguese and Dutch. What English speakers would mean otherwise (a French
*chat*) is not in it. Accents may be left out where that makes no other word.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from pathlib import Path

from visterm.text.spelling import is_english
from visterm.text.tokens import STOP_WORDS, one_form

TABLE = Path(__file__).with_suffix(".txt")
_NONE = "-"
"""Where a language has no word, or one that English speakers would mean otherwise."""
_SHORT = 3
"""Letters up to which a word without its accents is another one: *thé*, *lã*."""
_ACCENTED = frozenset(("bar", "bone", "leon", "nina", "siege"))
"""Longer ones of which that is so, too."""
_ACCENTS = re.compile("[\u0300-\u036f]")
_PLURALS = ("s", "e", "es", "n", "en", "er")
GIVEN_NAMES = frozenset(("león", "lila", "pepe", "rosa", "violeta"))
"""Words of the table that are people's names where they have a capital letter."""
_JOINING = """
al am aan das de del dem den der des di die do du een ein eine el em en et het il im in la las le
les lo los mit na nel no op os ou por sur um un una une und van von y zu
"""
LITTLE_WORDS = frozenset(_JOINING.split())
"""What joins words in these languages, and stands for nothing that is to be seen."""


def translated(text: str) -> tuple[str, ...]:
    """The English words that a word or phrase of another language means; mostly one, often none.

    >>> translated("Hund"), translated("chemin de fer"), translated("oiseau"), translated("dog")
    (('dog',), ('railway',), ('bird',), ())
    >>> translated("arbol"), translated("vaso")
    (('tree',), ('glass', 'vase'))
    >>> translated("thé"), translated("the"), translated("Hunde")
    (('tea',), (), ('dog',))
    """
    asked = one_form(text)
    if asked in STOP_WORDS or asked in LITTLE_WORDS or asked == _NONE:
        return ()
    found = _meant(asked) or _meant(_plain(asked))
    if found or is_english(asked):
        return found
    singles = [asked.removesuffix(end) for end in _PLURALS if asked.endswith(end)]
    meant = (_meant(single) for single in singles if len(single) > _SHORT)
    return next(filter(None, meant), ())


def is_own_word(text: str, word: str, quoted: bool) -> bool:
    """Whether a word of another language stands for itself: in quotes, or as a person's name.

    Capital letters alone do not tell names: all German nouns have one, and phones write them first.

    >>> is_own_word("Rosa", "rosa", False), is_own_word("rosa", "rosa", False)
    (True, False)
    >>> is_own_word("hund", "hund", True), is_own_word("Hund", "hund", False)
    (True, False)
    """
    is_name = word in GIVEN_NAMES and word.capitalize() in text
    return (quoted or is_name) and bool(translated(word))


@lru_cache(4096)  # searches and their suggestions ask for the same few words
def _meant(form: str) -> tuple[str, ...]:
    """The English words that other languages call so, as it is written or without accents."""
    may_be_plain = len(form) > _SHORT and form not in _ACCENTED
    found: dict[str, None] = {}
    for line, plain in _lines():
        texts = (line, plain) if may_be_plain else (line,)
        if any(form in text and form in text.split("\t")[1:] for text in texts):
            found[line.partition("\t")[0]] = None
    return tuple(found)


@cache
def _lines() -> list[tuple[str, str]]:
    """Lines of the table, as written and without accents; a search looks for a few words in them,
    which takes less than taking all of them apart."""
    text = TABLE.read_text(encoding="utf-8").replace("|", "\t")
    lines = zip(text.splitlines(), _plain(text).splitlines(), strict=True)
    return [line for line in lines if not line[0].startswith("#")]


def _plain(text: str) -> str:
    """
    >>> _plain("águila"), _plain("straße")
    ('aguila', 'strasse')
    """
    if text.isascii():
        return text
    apart = unicodedata.normalize("NFD", text.replace("ß", "ss").replace("œ", "oe"))
    return _ACCENTS.sub("", apart)
