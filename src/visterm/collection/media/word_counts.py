"""Words to complete what somebody types, with how many captions and names hold each."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.name_words import FILE, counting
from visterm.collection.store.snapshot import snapshot
from visterm.errors import VistermError
from visterm.pictures.path_words import file_words, folder_words
from visterm.text import Vocabulary
from visterm.text.tokens import STOP_WORDS, one_form, tokens
from visterm.text.unoffered_words import is_unoffered

_REST = 20.0
"""Counting again waits so many times as long as counting took: a page asks at every key."""


@dataclass(frozen=True)
class CountedWord:
    """A word, the captions that hold it, whether the model sees it, and the files whose names, or
    whose folders' names, hold it, where these count."""

    word: str
    captions: int
    known: bool
    names: int = 0


class WordCounts:
    """Words of the captions, counted when they may have changed."""

    def __init__(self) -> None:
        self._words: list[CountedWord] = []
        self._counted_for: object = None
        self._again = 0.0
        self._counting = threading.Lock()

    def starting(self, catalogue: Catalogue, start: str, k: int) -> list[CountedWord]:
        """Words that begin like this, the most frequent first; then names with such a word."""
        self._count(catalogue)
        wanted = one_form(start.strip())
        found = [one for one in self._words if one.word.startswith(wanted)]
        found += [one for one in self._words if f" {wanted}" in one.word]
        return list(dict.fromkeys(found))[:k]

    def forget(self) -> None:
        """Count anew at the next question."""
        self._again, self._counted_for = 0.0, None

    def _count(self, catalogue: Catalogue) -> None:
        if time.monotonic() < self._again and self._words:
            return
        with self._counting:
            began = time.monotonic()
            state = _state(catalogue)
            if state != self._counted_for:
                self._words, self._counted_for = _counted(catalogue), state
            self._again = time.monotonic() + _REST * (time.monotonic() - began)


def _state(catalogue: Catalogue) -> tuple[object, ...]:
    with catalogue.snapshot() as db:
        words = db.execute("SELECT value FROM settings WHERE name = 'caption_words'").fetchone()
        version = db.execute("SELECT max(id), max(time) FROM versions").fetchone()
    return (*words, *version)


def _learnt_form(token: str, vocabulary: Vocabulary) -> str:
    """A word as the model writes it, where it knows it."""
    number = vocabulary.number(token)
    return token if number is None else vocabulary.words[number]


def _counted(catalogue: Catalogue) -> list[CountedWord]:
    try:
        vocabulary = snapshot(catalogue).words.vocabulary
    except VistermError:  # nothing learnt, or damaged: captions have words all the same
        vocabulary = None
    counts: Counter[str] = (
        Counter() if vocabulary is None else Counter(dict.fromkeys(vocabulary.words, 0))
    )
    known = frozenset(counts)
    form: dict[str, str] = {}
    named: Counter[str] = Counter()
    for counter, text, times in _written(catalogue, counts, named):
        words = tokens(text)
        for token in {*words, *(() if vocabulary is None else vocabulary.joined(words))}:
            if token not in form:
                form[token] = token if vocabulary is None else _learnt_form(token, vocabulary)
            counter[form[token]] += times
    stop = frozenset(STOP_WORDS)
    found = [
        CountedWord(word, counts[word], word in known, named[word])
        for word in counts.keys() | named.keys()
        if (word in known or word not in stop)
        and (counts[word] or named[word] or not is_unoffered(word))
    ]
    # What captions hold is found even if it cannot be seen; what only the starter knows comes last.
    return sorted(found, key=_rank)


def _written(
    catalogue: Catalogue, captions: Counter[str], names: Counter[str]
) -> Iterator[tuple[Counter[str], str, int]]:
    """Captions, and names that count, each with where its words count and how often."""
    for (text,) in catalogue.db.execute(
        "SELECT text FROM captions JOIN pictures ON pictures.id = picture WHERE present > 0"
    ):
        yield captions, text, 1
    for source in counting(catalogue.db):
        words, column = (file_words, "name") if source == FILE else (folder_words, "folder")
        question = f"SELECT {column}, count(*) FROM places WHERE NOT vanished GROUP BY {column}"
        for name, times in catalogue.db.execute(question):
            yield names, " ".join(words(name)), times


def _rank(one: CountedWord) -> tuple[object, ...]:
    held = one.captions + one.names
    return not held, not one.known, -held, one.word
