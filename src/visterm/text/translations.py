"""Everyday words of six languages, and the English ones that they mean.

The table is written for visterm (``translations.txt``): words for what pictures show, in German,
French, Spanish, Italian, Portuguese and Dutch. What English speakers would mean otherwise (a French
*chat*) is not in it. Accents may be left out where that makes no other word.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from pathlib import Path

from visterm.text.spelling import is_english
from visterm.text.tokens import STOP_WORDS, one_form

TABLE = Path(__file__).with_suffix(".txt")
_SHORT = 3
"""Letters up to which a word without its accents is another one: *thé*, *lã*."""
_ACCENTED = frozenset(("bar", "bone", "leon", "nina", "siege"))
"""Longer ones of which that is so, too."""
_PLURALS = ("s", "e", "es", "n", "en", "er")
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
    if asked in STOP_WORDS or asked in LITTLE_WORDS:
        return ()
    found = _meanings().get(asked) or _meanings().get(_plain(asked)) or ()
    if found or is_english(asked):
        return found
    for ending in _PLURALS:
        single = asked.removesuffix(ending)
        if single != asked and len(single) > _SHORT and single in _meanings():
            return _meanings()[single]
    return ()


@cache
def _meanings() -> dict[str, tuple[str, ...]]:
    """English words by what other languages call them, as it is written and without accents."""
    found: dict[str, dict[str, None]] = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        english, *others = line.split("\t")
        for word in "|".join(others).split("|"):
            plain = _plain(word)
            if len(plain) <= _SHORT or plain in _ACCENTED:
                plain = word
            for form in {word, plain} - {"-"}:
                found.setdefault(form, {})[english] = None
    return {form: tuple(words) for form, words in found.items()}


def _plain(text: str) -> str:
    """
    >>> _plain("águila"), _plain("straße")
    ('aguila', 'strasse')
    """
    if text.isascii():
        return text
    apart = unicodedata.normalize("NFD", text.replace("ß", "ss").replace("œ", "oe"))
    return "".join(one for one in apart if not unicodedata.combining(one))
