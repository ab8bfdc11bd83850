"""Postings: for each word the pictures whose captions hold it, in step with the captions.

A word is its stem, as in the vocabulary; ``""`` stands for every picture that has a caption with
words, ``#1`` to ``#6`` for those whose captions are about so long; words of names of files and
folders, where these count, have keys of their own (`name_words`). The lists are divided into chunks
of 65,536 numbers of pictures, two bytes a picture, so that a new caption rewrites some ten short
lists, in the transaction that gives it: triggers note what has changed (`caption_schema`), and
every transaction ends with `catch_up`.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from visterm.collection.store.name_words import (
    FILE,
    counting,
    keys_of,
    name_key,
    stemmed,
)
from visterm.text.tokens import STOP_WORDS, stem, tokens

PERSON = "person"
"""The source of what somebody typed; while it is there, the other sources are not asked."""
EVERY = ""
"""The word of every caption."""
COMPLETENESS = "completeness"
"""The setting of how complete captions are."""
USUAL_COMPLETENESS = (0.0, 0.25, 0.3, 0.45, 0.7, 0.9, 0.95)
"""By the length of a caption, before the collection's own say more; 0 for a picture without."""
LENGTHS = len(USUAL_COMPLETENESS)
_BITS = 16
_AT_ONCE = 4096
"""Pictures whose words are held in memory together."""
_VALUES = 500
_LISTS = 256
"""Lists of pictures that are kept in memory."""

Changes = dict[tuple[str, int], tuple[set[int], set[int]]]
"""By word and chunk, the pictures to put in and to take out."""


def effective_caption(texts: Mapping[str, str]) -> str:
    """What counts of a picture's captions by source: a person's own words, or else all others."""
    return texts[PERSON] if PERSON in texts else "\n".join(texts.values())


def stems(text: str) -> set[str]:
    """The words of a text as postings know them.

    >>> sorted(stems("The trees, and a tree-house")) == sorted({stem("tree"), stem("tree-house")})
    True
    """
    return {stem(token) for token in tokens(text) if token not in STOP_WORDS}


def holders(db: sqlite3.Connection, word: str) -> NDArray[np.int64]:
    """The pictures whose captions hold a word, given by its stem; ascending."""
    found = db.execute(
        "SELECT chunk, pictures FROM caption_words WHERE word = ? ORDER BY chunk", (word,)
    )
    parts = [_numbers(chunk, blob) for chunk, blob in found]
    return np.concatenate([np.empty(0, np.int64), *parts])


def length_of(words: int) -> int:
    """How long a caption of so many words is: 1, 2 to 3, 4 to 7 and so on, and 32 and more.

    >>> [length_of(words) for words in (0, 1, 3, 4, 200)]
    [0, 1, 2, 3, 6]
    """
    return min(words.bit_length(), LENGTHS - 1)


def completeness(db: sqlite3.Connection) -> NDArray[np.float64]:
    """The fraction of what a picture shows that its caption mentions, by the caption's length."""
    found = db.execute("SELECT value FROM settings WHERE name = ?", (COMPLETENESS,)).fetchone()
    return np.array(json.loads(found[0])["by_length"] if found else USUAL_COMPLETENESS)


def name_holders(
    db: sqlite3.Connection, several: Sequence[str], source: str | None = None
) -> NDArray[np.int64]:
    """The pictures whose captions hold a name of several words, given by their stems.

    Or those of which the name of a ``source``, file or folder, holds it.
    """
    found: NDArray[np.int64] | None = None
    for word in several:
        if word not in STOP_WORDS:
            some = holders(db, name_key(source, word) if source else word)
            found = some if found is None else np.intersect1d(found, some, assume_unique=True)
    wanted, pictures = f" {' '.join(several)} ", [] if found is None else found.tolist()
    kept = {one for one, _, text in written_stems(db, pictures, [source]) if wanted in text}
    return np.array(sorted(kept), np.int64)


def _sequences(captions: str, names: str, source: str | None) -> Iterator[Sequence[str]]:
    """The stems, in order, of a picture's caption, or of its names of one source."""
    if source is None:
        yield [stem(token) for token in tokens(effective_caption(dict(json.loads(captions))))]
    else:
        for folder, file in json.loads(names):
            yield stemmed(source, file if source == FILE else folder)


def written_stems(
    db: sqlite3.Connection, pictures: Sequence[int], sources: Sequence[str | None]
) -> Iterator[tuple[int, str | None, str]]:
    """Each of some pictures with a source, None for its caption, and the stems that this writes.

    These are in order and between spaces, so that a word or name is held if it is found there.
    """
    for first in range(0, len(pictures), _VALUES):
        numbers = ",".join(map(str, pictures[first : first + _VALUES]))
        for picture, captions, names in db.execute(
            f"SELECT * FROM said WHERE picture IN ({numbers})"
        ):
            for source in sources:
                for some in _sequences(captions, names, source):
                    yield picture, source, f" {' '.join(some)} "


def read_postings(db: sqlite3.Connection) -> Postings:
    """The postings of now."""
    every = holders(db, EVERY)
    lengths = np.zeros(int(every[-1]) + 1 if every.size else 0, np.uint8)
    for length in range(1, LENGTHS):
        lengths[holders(db, f"#{length}")] = length
    sources = counting(db)
    for source in sources:
        every = np.union1d(every, holders(db, name_key(source)))
    return Postings(db, lengths, every.size, sources)


@dataclass(frozen=True, eq=False)
class Postings:
    """Which captions, and which names of files and folders, hold a word, at one moment."""

    db: sqlite3.Connection
    lengths: NDArray[np.uint8]
    """By the number of a picture, how long its caption is; 0, and later ones, have none."""
    worded: int
    """How many pictures have words at all, in captions or names."""
    sources: tuple[str, ...]
    """Whose names count."""
    known: dict[tuple[str, str | None], NDArray[np.int64]] = field(default_factory=dict)
    """Lists that were read before."""

    def reading(self, db: sqlite3.Connection) -> Postings:
        """The same, read through another thread's connection."""
        return replace(self, db=db)

    def holders(self, key: str, source: str | None = None) -> NDArray[np.int64]:
        """The pictures whose captions hold a word or name, given by its stem or stems.

        Or those of which the name of a ``source``, file or folder, holds it.
        """
        if (key, source) not in self.known:
            parts = key.split(" ")
            own = name_key(source, key) if source else key
            one = holders(self.db, own) if len(parts) == 1 else name_holders(self.db, parts, source)
            if len(self.known) >= _LISTS:
                self.known.clear()
            self.known[key, source] = one
        return self.known[key, source]


def catch_up(db: sqlite3.Connection) -> None:
    """Bring the postings in step with what was said of pictures, inside a transaction."""
    question = "SELECT * FROM changed_captions ORDER BY picture LIMIT ?"
    changed = False
    while before := db.execute(question, (_AT_ONCE,)).fetchall():
        pictures = f"BETWEEN {before[0][0]} AND {before[-1][0]}"
        now = db.execute(
            f"SELECT * FROM said WHERE picture {pictures} "
            "AND picture IN (SELECT picture FROM changed_captions)"
        )
        _apply(db, _changes(before, now))
        db.execute(f"DELETE FROM changed_captions WHERE picture {pictures}")
        changed = True
    if changed:
        db.execute("UPDATE settings SET value = value + 1 WHERE name = 'caption_words'")


def rebuild(db: sqlite3.Connection) -> None:
    """Make all postings anew, inside a transaction."""
    db.execute("DELETE FROM caption_words")
    db.execute("DELETE FROM changed_captions")
    db.execute("INSERT INTO changed_captions SELECT picture, '[]', '[]' FROM said")
    catch_up(db)


def are_right(db: sqlite3.Connection) -> bool:
    """Whether the postings are what they would be if they were made anew."""
    db.execute("SAVEPOINT anew")
    try:
        before = _fingerprint(db)
        rebuild(db)
        return before == _fingerprint(db)
    finally:
        db.execute("ROLLBACK TO anew")
        db.execute("RELEASE anew")


def _fingerprint(db: sqlite3.Connection) -> bytes:
    found = hashlib.sha256()
    for word, chunk, pictures in db.execute("SELECT * FROM caption_words"):
        found.update(f"{word} {chunk} {len(pictures)} ".encode() + pictures)
    return found.digest()


def _changes(before: list[tuple[int, str, str]], now: Iterator[tuple[int, str, str]]) -> Changes:
    after = {picture: (captions, names) for picture, captions, names in now}
    changes: Changes = {}
    for picture, captions, names in before:
        new_captions, new_names = after.get(picture, ("[]", "[]"))
        old, new = set[str](), set[str]()
        if captions != new_captions:
            old, new = _caption_keys(captions), _caption_keys(new_captions)
        if names != new_names:
            old, new = old | _name_keys(names), new | _name_keys(new_names)
        for side, words in enumerate((new - old, old - new)):
            for word in words:
                both = changes.setdefault((word, picture >> _BITS), (set(), set()))
                both[side].add(picture)
    return changes


def _caption_keys(captions: str) -> set[str]:
    """The words of what the view ``said`` has of a picture's captions."""
    found = stems(effective_caption(dict(json.loads(captions))))
    return found | {EVERY, f"#{length_of(len(found))}"} if found else found


def _name_keys(names: str) -> set[str]:
    """The words of what the view ``said`` has of a picture's names."""
    return set[str]().union(*(keys_of(folder, file) for folder, file in json.loads(names)))


def _apply(db: sqlite3.Connection, changes: Changes) -> None:
    for (word, chunk), (more, fewer) in sorted(changes.items()):
        key = (word, chunk)
        stored = db.execute(
            "SELECT pictures FROM caption_words WHERE word = ? AND chunk = ?", key
        ).fetchone()
        known = _numbers(chunk, stored[0] if stored else b"")
        found = np.union1d(known, np.fromiter(more, np.int64))
        if fewer:
            found = np.setdiff1d(found, np.fromiter(fewer, np.int64), assume_unique=True)
        if found.size:
            low = (found - (chunk << _BITS)).astype("<u2").tobytes()
            db.execute("INSERT OR REPLACE INTO caption_words VALUES (?, ?, ?)", (*key, low))
        elif stored:
            db.execute("DELETE FROM caption_words WHERE word = ? AND chunk = ?", key)


def _numbers(chunk: int, blob: bytes) -> NDArray[np.int64]:
    return np.frombuffer(blob, "<u2").astype(np.int64) + (chunk << _BITS)
