"""Spellings: the known words that somebody who typed another one may have meant by its letters.

A letter left out, put in, changed, or swapped with the next is an edit (F. Damerau, CACM 7(3),
1964). Words of three letters or more may hold one, longer ones two; and what is an English word by
itself (``english.txt``: those of at least five letters among the 35,000 most frequent of GloVe's,
J. Pennington, R. Socher and C. Manning, EMNLP 2014) is no slip.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path

_LIST = Path(__file__).with_name("english.txt")
_SHORTEST, _TWO_EDITS, _BEGINNING = 3, 6, 4
"""Letters of words that a spelling is offered for, two edits away, and of beginnings that say what
a longer word is about."""
_TAKEN, _TAKEN_TWO = 5, 7
"""The same of words that are replaced by a spelling one edit away, and two: of shorter ones, mostly
words of other languages, the nearest known word is another (`benchmarks.other_words`)."""
_CHANGED = 1.1
"""The cost of a changed letter: one left out, put in or swapped is the likelier slip."""


def is_english(word: str) -> bool:
    """Whether a word of at least five letters is a frequent English one.

    >>> is_english("beech"), is_english("brige")
    (True, False)
    """
    return f"\n{word}\n" in _english()


@cache
def _english() -> str:
    """The list as it is: finding a word in it takes less than taking it apart."""
    return "\n" + _LIST.read_text(encoding="ascii")


@lru_cache(maxsize=16)
def respelt(word: str, known: tuple[str, ...]) -> list[tuple[float, str]]:
    """Known words at one or two edits, each with its cost, the nearest first.

    >>> respelt("brdige", ("bride", "bridge", "ridge"))
    [(1.0, 'bridge'), (2.0, 'bride'), (2.0, 'ridge')]
    """
    if len(word) < _SHORTEST:
        return []
    edits = 1 + (len(word) >= _TWO_EDITS)
    letters, beginnings = set(word), _by_beginning(known)
    swapped = (other for other in beginnings.get(word[1], ()) if other[0] == word[1])
    here = {*beginnings.get(word[0], ()), *swapped}
    near = [
        other
        for other in here
        if abs(len(other) - len(word)) <= edits
        and len(letters.symmetric_difference(other)) <= 2 * edits
    ]
    costs = [(edit_cost(word, other), other) for other in near if other != word]
    return sorted((cost, other) for cost, other in costs if cost <= edits * _CHANGED)


@lru_cache(maxsize=4)
def _by_beginning(known: tuple[str, ...]) -> dict[str, list[str]]:
    """The words by each of their first two letters: slips there are swaps, or a letter too many."""
    found: dict[str, list[str]] = {}
    for word in known:
        for letter in {*word[:2]}:
            found.setdefault(letter, []).append(word)
    return found


def spelling(word: str, known: tuple[str, ...]) -> tuple[float, list[str]]:
    """The cost of the nearest spelling of a word that is none, and the known words at that cost.

    >>> spelling("brige", ("bride", "bridge")), spelling("beech", ("beach",))
    ((1.0, ['bridge']), (0.0, []))
    """
    if len(word) < _TAKEN or not word.isalpha() or is_english(word):
        return 0.0, []
    near = [one for one in respelt(word, known) if one[0] < 2 or len(word) >= _TAKEN_TWO]
    return (
        (near[0][0], [other for cost, other in near if cost == near[0][0]]) if near else (0.0, [])
    )


def closest_words(word: str, known: Iterable[str], count: int = 3) -> list[str]:
    """Known words that somebody who typed this one may have meant, the likeliest first.

    Words that begin alike come first, then other spellings, then those close in meaning.

    >>> closest_words("smoke", ["monkey", "smokestack"])
    ['smokestack']
    >>> closest_words("beech", ["beach", "bench"])
    ['beach', 'bench']
    """
    from visterm.text.meaning import near_in_meaning

    word = word.lower()
    forms, text = _forms(tuple(known))
    longer = []
    if f" {word}" in text:
        longer = [form for form in forms if f" {word}" in f" {form}"]
    shorter = [word[:size] for size in range(len(word), _BEGINNING - 1, -1) if word[:size] in forms]
    found = dict.fromkeys([*sorted(longer, key=lambda one: (len(one), one)), *shorter])
    if len(found) < count:
        found |= dict.fromkeys(other for _, other in respelt(word, tuple(forms)))
    if len(found) < count:
        found |= dict.fromkeys(near_in_meaning(word, list(forms), count))
    return [forms[form] for form in found][:count]


@lru_cache(maxsize=4)
def _forms(known: tuple[str, ...]) -> tuple[dict[str, str], str]:
    """Words by their form in lower case, as names of folders have capitals, and these as a text."""
    forms = {one.lower(): one for one in known}
    return forms, " " + " ".join(forms)


def edit_cost(one: str, other: str) -> float:
    """How many letters were left out, put in, swapped with the next, or (a little more) changed.

    >>> edit_cost("mountian", "mountain"), edit_cost("bride", "brige")
    (1.0, 1.1)
    """
    before: list[float] = []
    row: list[float] = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        last, before, row = before, row, [i]
        for j, wanted in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + _CHANGED * (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]
