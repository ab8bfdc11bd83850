"""Words that mean the same to somebody who looks for pictures, and the spellings of one word.

The groups are a short list of everyday English, written for visterm, in ``synonyms.txt``; in each,
what people caption with comes first.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from visterm.text.tokens import one_form

_GROUPS = Path(__file__).with_suffix(".txt")

_SPELLINGS = (("our", "or"), ("tre", "ter"), ("ise", "ize"), ("yse", "yze"), ("ogue", "og"))
"""Endings that British and American English write differently."""


def same_words(word: str) -> Iterator[str]:
    """Other words to try in the place of one, the likeliest first.

    >>> list(same_words("ocean")), next(same_words("colour"))
    (['sea'], 'color')
    """
    word = one_form(word)
    seen = {word}
    for form in (*_spelt(word), *_groups().get(word, ())):
        if form not in seen:
            seen.add(form)
            yield form


def _spelt(word: str) -> Iterator[str]:
    """The same word without its hyphens, and as the other side of the Atlantic writes it."""
    if "-" in word:
        yield word.replace("-", "")
    for pair in _SPELLINGS:
        for one, other in (pair, pair[::-1]):
            for tail in ("", "s"):
                if len(word) > len(one + tail) + 2 and word.endswith(one + tail):
                    yield word[: len(word) - len(one + tail)] + other + tail


@cache
def _groups() -> dict[str, tuple[str, ...]]:
    """Each word with the others of its groups; the first of a group stands for all others."""
    found: dict[str, tuple[str, ...]] = {}
    for line in _GROUPS.read_text(encoding="utf-8").splitlines():
        group = line.split()
        for word in group:
            others = tuple(other for other in group if other != word)
            found[word] = found.get(word, ()) + others
    return found
