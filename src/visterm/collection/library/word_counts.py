"""Words to complete what somebody types, with how many captions and names hold each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from visterm.collection.store.caption_words import FILE, TEXT, counting
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.snapshot import snapshot
from visterm.errors import VistermError
from visterm.pictures.texts import file_words, folder_words
from visterm.text import Vocabulary
from visterm.text.tokens import STOP_WORDS, one_form, tokens
from visterm.text.unoffered_words import is_unoffered


@dataclass(frozen=True)
class CountedWord:
    """A word, the captions that hold it, whether the model sees it, and the files whose names, or
    whose folders' names, hold it, where these count."""

    word: str
    captions: int
    known: bool
    names: int = 0


def words_starting(catalogue: Catalogue, start: str, k: int) -> list[CountedWord]:
    """Words that begin like this, the most frequent first; then names with such a word."""
    counted = snapshot(catalogue).remembered(
        "counted words", lambda: _counted(catalogue), "caption_words", "names", "begun"
    )
    wanted = one_form(start.strip())
    words = [counted_word for counted_word in counted if counted_word.word.startswith(wanted)]
    words += [counted_word for counted_word in counted if f" {wanted}" in counted_word.word]
    return list(dict.fromkeys(words))[:k]


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
    words_found = [
        CountedWord(word, counts[word], word in known, named[word])
        for word in counts.keys() | named.keys()
        if (word in known or word not in stop)
        and (counts[word] or named[word] or not is_unoffered(word))
    ]
    # What captions hold is found even if it cannot be seen; what only the starter knows comes last.
    return sorted(words_found, key=_rank)


def _written(
    catalogue: Catalogue, captions: Counter[str], names: Counter[str]
) -> Iterator[tuple[Counter[str], str, int]]:
    """Captions, and names that count, each with where its words count and how often."""
    for (text,) in catalogue.db.execute(
        "SELECT text FROM captions JOIN pictures ON pictures.id = picture WHERE present > 0"
    ):
        yield captions, text, 1
    for source in counting(catalogue.db):
        if source == TEXT:
            for (text,) in catalogue.db.execute("SELECT ocr FROM pictures WHERE present > 0"):
                yield names, text or "", 1
            continue
        words, column = (file_words, "name") if source == FILE else (folder_words, "folder")
        question = f"SELECT {column}, count(*) FROM places WHERE NOT vanished GROUP BY {column}"
        for name, times in catalogue.db.execute(question):
            yield names, " ".join(words(name)), times


def _rank(one: CountedWord) -> tuple[object, ...]:
    held = one.captions + one.names
    return not held, not one.known, -held, one.word
