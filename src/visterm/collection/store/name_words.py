"""Words of the names of files and folders, where their owner lets them count as written.

They stand in the postings of captions (`caption_words`) under keys of their own, so that a word of
a name is never mistaken for a word of a caption: ``file/beach``, ``folder/lisbon``.
"""

from __future__ import annotations

import sqlite3
from functools import lru_cache

from visterm.errors import BadInput
from visterm.text.tokens import STOP_WORDS, stem, tokens

NAMES = "names"
"""The setting: files, folders or both; not there for neither."""
FILE, FOLDER = "file", "folder"
SOURCES = {"none": (), "files": (FILE,), "folders": (FOLDER,), "both": (FILE, FOLDER)}
"""What counts, by the value of the setting."""
CERTAINTY = {FILE: 0.9, FOLDER: 0.7}
"""How likely a picture answers a word that the name of its file, or of a folder, holds: who names a
folder means most of its pictures, not each of them."""


def checked(names: str) -> str:
    """A value of the setting, or what can be meant."""
    if names not in SOURCES:
        raise BadInput(f"names of {', '.join(SOURCES)} can count, not {names!r}")
    return names


def counting(db: sqlite3.Connection) -> tuple[str, ...]:
    """Whose names count: ``file``, ``folder``, both or neither."""
    found = db.execute("SELECT value FROM settings WHERE name = ?", (NAMES,)).fetchone()
    return SOURCES[found[0]] if found else ()


def name_key(source: str, word: str = "") -> str:
    """Where the postings list a word of names, given by its stem; "" stands for any word."""
    return f"{source}/{word}"


def keys_of(folder: str, file: str) -> set[str]:
    """The words of a file's name and of its folder's, as postings know them; "" does not count.

    >>> sorted(keys_of("Lisbon 1987", "IMG_0001.jpg"))
    ['folder/', 'folder/1987', 'folder/lisbon']
    """
    found: set[str] = set()
    for source, words in ((FILE, stemmed(FILE, file)), (FOLDER, stemmed(FOLDER, folder))):
        kept = set(words) - STOP_WORDS
        if kept:
            found |= {name_key(source), *(name_key(source, word) for word in kept)}
    return found


@lru_cache(maxsize=65536)
def stemmed(source: str, name: str) -> tuple[str, ...]:
    """The stems of all words of a name, in order."""
    from visterm.pictures.texts import file_words, folder_words

    words = (file_words if source == FILE else folder_words)(name, joined=True)
    return tuple(stem(token) for word in words for token in tokens(word))
