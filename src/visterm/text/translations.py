"""Everyday words of six languages, and the English ones that they mean.

The table is written for visterm (``translations.txt``): words for what pictures show, in German,
French, Spanish, Italian, Portuguese and Dutch. What English speakers would mean otherwise (a French
*chat*) is not in it. Accents may be left out.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from pathlib import Path

from visterm.text.tokens import one_form

TABLE = Path(__file__).with_suffix(".txt")


def translated(text: str) -> tuple[str, ...]:
    """The English words that a word or phrase of another language means; mostly one, often none.

    >>> translated("Hund"), translated("chemin de fer"), translated("oiseau"), translated("dog")
    (('dog',), ('railway',), ('bird',), ())
    >>> translated("arbol"), translated("vaso")
    (('tree',), ('glass', 'vase'))
    """
    asked = one_form(text)
    return _meanings().get(asked) or _meanings().get(_plain(asked), ())


@cache
def _meanings() -> dict[str, tuple[str, ...]]:
    """English words by what other languages call them, as it is written and without accents."""
    found: dict[str, dict[str, None]] = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        english, *others = line.split("\t")
        for word in "|".join(others).split("|"):
            for form in {word, _plain(word)} - {"-"}:
                found.setdefault(form, {})[english] = None
    return {form: tuple(words) for form, words in found.items()}


def _plain(text: str) -> str:
    """
    >>> _plain("águila"), _plain("straße")
    ('aguila', 'strasse')
    """
    apart = unicodedata.normalize("NFD", text.replace("ß", "ss").replace("œ", "oe"))
    return "".join(one for one in apart if not unicodedata.combining(one))
