"""Text to tokens, and the stems under which "Trees" and "tree" are one word.

`STOP_WORDS` of English captions say nothing about what is to be seen.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

# One apostrophe and one hyphen for the several that keyboards type; joiners that nobody sees go.
_ONE_FORM = str.maketrans(
    {"’": "'", "ʼ": "'", "‐": "-"} | dict.fromkeys("\u00ad\u200c\u200d\u2060")
)

# English plurals whose singular no suffix rule reaches.
_IRREGULAR = {
    "buses": "bus",
    "children": "child",
    "firemen": "fireman",
    "fishermen": "fisherman",
    "feet": "foot",
    "geese": "goose",
    "leaves": "leaf",
    "loaves": "loaf",
    "men": "man",
    "mice": "mouse",
    "oxen": "ox",
    "policemen": "policeman",
    "shelves": "shelf",
    "teeth": "tooth",
    "wives": "wife",
    "wolves": "wolf",
    "women": "woman",
    "calves": "calf",
    "knives": "knife",
}


def tokens(text: str) -> list[str]:
    """Lower-case words of a text, in order.

    >>> tokens("A Tree, two TREES; a tee-shirt & café")
    ['a', 'tree', 'two', 'trees', 'a', 'tee-shirt', 'café']
    """
    text = one_form(text)
    return word_pattern(text).findall(text)


def word_pattern(text: str) -> re.Pattern[str]:
    """What is a word in this text."""
    return _word(text.isascii())


def one_form(text: str) -> str:
    """Lower case, with accents, apostrophes and hyphens as everybody else writes them.

    Accents stay, but are brought to one form, so that a name typed on two systems is one word.

    >>> one_form("Cafe\u0301’S")
    "café's"
    """
    return unicodedata.normalize("NFKC", text).translate(_ONE_FORM).lower()


@lru_cache(maxsize=2)
def _word(ascii_only: bool) -> re.Pattern[str]:
    """Letters or digits, joined inside by hyphens or apostrophes: tee-shirt, o'clock, 4x4."""
    # Vowel signs of Hindi, Thai or Hebrew are part of a word but no letters to Python. Only texts
    # that can hold such marks pay the few milliseconds of looking them up.
    marks = "" if ascii_only else "".join(filter(_is_mark, map(chr, range(0x10000))))
    letters = rf"[^\W_]+(?:[{marks}]+[^\W_]*)*" if marks else r"[^\W_]+"
    return re.compile(rf"{letters}(?:[-']{letters})*")


def _is_mark(character: str) -> bool:
    return unicodedata.category(character) in ("Mn", "Mc")


def stem(token: str, language: str = "english") -> str:
    """The form under which singular and plural of a word meet.

    The result is a key, not something to show: `Vocabulary` keeps the form people wrote.

    >>> stem("trees") == stem("tree"), stem("skies") == stem("sky"), stem("women") == stem("woman")
    (True, True, True)
    """
    if language == "english":
        token = singular(token)
    return _stem(token, language)


def singular(token: str) -> str:
    """The singular of an English word whose plural no suffix rule undoes; others as they are.

    >>> singular("firemen"), singular("trees")
    ('fireman', 'trees')
    """
    head, hyphen, last = token.rpartition("-")
    return head + hyphen + _IRREGULAR.get(last, last)


@lru_cache(maxsize=65536)
def _stem(token: str, language: str) -> str:
    return _stemmer(language).stemWord(token)


@lru_cache(maxsize=8)
def _stemmer(language: str):  # type: ignore[no-untyped-def]  # the library has no types
    from snowballstemmer import stemmer

    from visterm.errors import BadInput

    try:
        return stemmer(language)
    except KeyError:
        from snowballstemmer import algorithms

        known = ", ".join(algorithms())
        raise BadInput(f"no stemmer for language {language!r}; choose one of {known}") from None


_WORDS = """
a about above across after against all along also am among an and another any are around as at
away be been before behind being below beneath beside between both but by can could did do does
down during each every few for from had has have he her here hers him his how i if in inside
into is it its itself just many me more most much my near no nor not of off on onto or other
our out outside over own s same she should so some such t than that the their them then there
these they this those through to too toward towards under until up upon us very was we were
what when where which while who whom whose will with within without would you your
"""
STOP_WORDS = frozenset(_WORDS.split())
