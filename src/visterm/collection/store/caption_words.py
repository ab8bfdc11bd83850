"""Which captions, and which names of files and folders, hold a word: an FTS5 table of stems.

The table ``written`` has a row for every picture of which something is written, and the columns
``caption``, ``file``, ``folder`` and ``text`` (in the picture): the stems of their words in order,
so that a name of several words ("statue of liberty") is a phrase. A word that only holds English
together is marked, and is found within such a name alone. Names and text are there where their
owner lets them count. Triggers note
pictures of which something was written or taken back (`schema`), and the transaction that did so
ends with `catch_up`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.collection.store.schema import WRITTEN
from visterm.errors import BadInput
from visterm.quick_dataclass import dataclass
from visterm.text.tokens import STOP_WORDS, stem, tokens

if TYPE_CHECKING:
    from visterm.collection.store.catalogue import Catalogue

PERSON = "person"
"""The source of what somebody typed; while it is there, the other sources are not asked."""
CAPTION, FILE, FOLDER, TEXT = "caption", "file", "folder", "text"
"""The columns."""
NAMES = "names"
"""The setting of whose names count: files, folders or both; not there for neither."""
SOURCES = {"none": (), "files": (FILE,), "folders": (FOLDER,), "both": (FILE, FOLDER)}
"""What counts, by the value of the setting."""
OCR = "ocr"
"""The setting of whether text in pictures is read; not there for no."""
CERTAINTY = {FILE: 0.9, FOLDER: 0.7, TEXT: 0.8}
"""How likely a picture answers a word that the name of its file or of a folder holds, or that is to
be read in it: who names a folder means most of its pictures, not each of them, and the sign of a
bakery shows no bread."""
COMPLETENESS = "completeness"
"""The setting of how complete captions are."""
USUAL_COMPLETENESS = (0.0, 0.25, 0.3, 0.45, 0.7, 0.9, 0.95)
"""By the length of a caption, before the collection's own say more; 0 for a picture without."""
LENGTHS = len(USUAL_COMPLETENESS)
_MARK = "_"
"""Before a stop word, and alone between the names of two files."""
_CHUNK_BITS = 16
"""Lengths of captions are kept by so many bits of the numbers of pictures."""
_BATCH = 4096
"""Pictures whose words are held in memory together."""
_REMEMBERED_LISTS = 256

Ids = NDArray[np.int64]
Lengths = NDArray[np.uint8]


def effective_caption(texts: Mapping[str, str]) -> str:
    """What counts of a picture's captions by source: a person's own words, or else all others."""
    return texts[PERSON] if PERSON in texts else "\n".join(texts.values())


def stems(text: str) -> set[str]:
    """The words of a text as they are looked up.

    >>> sorted(stems("The trees, and a tree-house")) == sorted({stem("tree"), stem("tree-house")})
    True
    """
    return {stem(token) for token in tokens(text) if token not in STOP_WORDS}


def length_of(words: int) -> int:
    """How long a caption of so many words is: 1, 2 to 3, 4 to 7 and so on, and 32 and more.

    >>> [length_of(words) for words in (0, 1, 3, 4, 200)]
    [0, 1, 2, 3, 6]
    """
    return min(words.bit_length(), LENGTHS - 1)


def checked_names(names: str) -> str:
    """A value of the setting `NAMES`, or what can be meant."""
    if names not in SOURCES:
        raise BadInput(f"names of {', '.join(SOURCES)} can count, not {names!r}")
    return names


def counting(db: sqlite3.Connection) -> tuple[str, ...]:
    """What counts beside captions: names of files, of folders, text in pictures; none at first."""
    question = "SELECT name, value FROM settings WHERE name IN (?, ?)"
    settings = dict(db.execute(question, (NAMES, OCR)))
    return SOURCES[settings.get(NAMES, "none")] + (TEXT,) * (OCR in settings)


def completeness(db: sqlite3.Connection) -> NDArray[np.float64]:
    """The fraction of what a picture shows that its caption mentions, by the caption's length."""
    row = db.execute("SELECT value FROM settings WHERE name = ?", (COMPLETENESS,)).fetchone()
    return np.array(json.loads(row[0])["by_length"] if row else USUAL_COMPLETENESS)


def holders(db: sqlite3.Connection, key: str, column: str = CAPTION) -> Ids:
    """The pictures whose captions, or names, hold a word or name, given by its stems; ascending."""
    phrases, parts = [key], key.split(" ")
    if len(parts) > 1 and not all(part in STOP_WORDS for part in parts):
        phrases.append(" ".join(_MARK * (part in STOP_WORDS) + part for part in parts))
    quoted = (phrase.replace('"', '""') for phrase in phrases)
    wanted = " OR ".join(f'{column}:"{phrase}"' for phrase in quoted)
    # As one text: rows would each become a Python object, which takes several times as long.
    (ids,) = db.execute(
        "SELECT group_concat(rowid) FROM written WHERE written MATCH ?", (wanted,)
    ).fetchone()
    return np.empty(0, np.int64) if ids is None else np.fromstring(ids, np.int64, sep=",")


def caption_lengths(db: sqlite3.Connection) -> Lengths:
    """By the number of a picture, how long its caption is; 0, and later ones, have none."""
    chunks = dict(db.execute("SELECT chunk, lengths FROM caption_lengths"))
    parts = (chunks.get(chunk, b"") for chunk in range(max(chunks, default=-1) + 1))
    return np.frombuffer(b"".join(map(_whole_chunk, parts)), np.uint8)


def captioned(db: sqlite3.Connection) -> Ids:
    """The pictures that have captions with words, ascending."""
    return np.flatnonzero(caption_lengths(db))


def written_stems(
    catalogue: Catalogue, pictures: Sequence[int], columns: Sequence[str]
) -> Iterator[tuple[int, str, str]]:
    """Each of some pictures with each column and the stems in it.

    These are in order and between spaces, so that a word or name is held if it is found there.
    """
    question = f"SELECT rowid, {', '.join(columns)} FROM written WHERE rowid IN {{numbers}}"
    for picture, *texts in catalogue.among(question, pictures):
        for column, text in zip(columns, texts, strict=True):
            # A stop word is one here, and what lies between the names of two files is no word.
            yield picture, column, f" {text} ".replace(" _ ", " | ").replace(" _", " ")


@dataclass(frozen=True, eq=False)
class WrittenWords:
    """Which captions, and which names of files and folders, hold a word, at one moment."""

    db: sqlite3.Connection
    lengths: Lengths
    worded: int
    """How many pictures have words at all, in captions or names."""
    sources: tuple[str, ...]
    """What counts beside captions."""
    known: dict[tuple[str, str], Ids] = field(default_factory=dict)
    """Lists that were read before."""

    @classmethod
    def of(cls, db: sqlite3.Connection) -> WrittenWords:
        """Those of now."""
        lengths, sources = caption_lengths(db), counting(db)
        if sources:
            (worded,) = db.execute("SELECT count(*) FROM written").fetchone()
        else:
            worded = np.count_nonzero(lengths)
        return cls(db, lengths, int(worded), sources)

    def reading(self, db: sqlite3.Connection) -> WrittenWords:
        """The same, read through another thread's connection."""
        return replace(self, db=db)

    def holders(self, key: str, column: str = CAPTION) -> Ids:
        """As `holders`; what was asked before is remembered."""
        if (key, column) not in self.known:
            if len(self.known) >= _REMEMBERED_LISTS:
                self.known.clear()
            self.known[key, column] = holders(self.db, key, column)
        return self.known[key, column]


def catch_up(db: sqlite3.Connection) -> None:
    """Bring the table in step with what is written of noted pictures, inside a transaction."""
    question = """SELECT picture, captions, names, ocr FROM changed_captions
        LEFT JOIN said USING (picture) ORDER BY picture LIMIT ?"""
    while noted := db.execute(question, (_BATCH,)).fetchall():
        first, last = noted[0][0], noted[-1][0]
        rows, lengths = [], np.zeros(last - first + 1, np.uint8)
        for picture, captions, names, text in noted:
            *texts, length = _texts(captions or "[]", names or "[]", text or "")
            lengths[picture - first] = length
            if any(texts):
                rows.append((picture, *texts))
        db.executemany("DELETE FROM written WHERE rowid = ?", [row[:1] for row in noted])
        db.executemany(
            "INSERT INTO written (rowid, caption, file, folder, text) VALUES (?,?,?,?,?)", rows
        )
        _keep_lengths(db, np.array([row[0] for row in noted]), lengths)
        db.execute("DELETE FROM changed_captions WHERE picture BETWEEN ? AND ?", (first, last))
    db.execute("UPDATE settings SET value = value + 1 WHERE name = 'caption_words'")


def _texts(captions: str, names: str, text: str) -> tuple[str, str, str, str, int]:
    """What a row holds of what the view ``said`` has, and how long the caption is."""
    caption = _marked_stems(effective_caption(dict(json.loads(captions))))
    files, folders = list[str](), list[str]()
    for folder, file in json.loads(names):
        files += [*_name_words(FILE, file), _MARK]
        folders += [*_name_words(FOLDER, folder), _MARK]
    length = length_of(len({word for word in caption if not word.startswith(_MARK)}))
    seen = _marked_stems(text)
    return _joined(caption), _joined(files), _joined(folders), _joined(seen), length


def _marked_stems(text: str) -> list[str]:
    return [_MARK * (token in STOP_WORDS) + stem(token) for token in tokens(text)]


def _joined(words: list[str]) -> str:
    """Words as a text; an empty one where none of them can be looked up."""
    return "" if all(word.startswith(_MARK) for word in words) else " ".join(words)


@lru_cache(maxsize=65536)
def _name_words(source: str, name: str) -> tuple[str, ...]:
    """The stems of a name, in order."""
    from visterm.pictures.texts import file_words, folder_words

    words = (file_words if source == FILE else folder_words)(name, joined=True)
    stems_of_name = [stem(token) for word in words for token in tokens(word)]
    return tuple(_MARK * (one in STOP_WORDS) + one for one in stems_of_name)


def _keep_lengths(db: sqlite3.Connection, pictures: Ids, lengths: Lengths) -> None:
    for chunk in np.unique(pictures >> _CHUNK_BITS).tolist():
        known = db.execute("SELECT lengths FROM caption_lengths WHERE chunk = ?", (chunk,))
        kept = np.frombuffer(_whole_chunk((known.fetchone() or [b""])[0]), np.uint8).copy()
        here = pictures[pictures >> _CHUNK_BITS == chunk]
        kept[here - (chunk << _CHUNK_BITS)] = lengths[here - pictures[0]]
        if blob := kept.tobytes().rstrip(b"\0"):
            db.execute("INSERT OR REPLACE INTO caption_lengths VALUES (?, ?)", (chunk, blob))
        else:
            db.execute("DELETE FROM caption_lengths WHERE chunk = ?", (chunk,))


def _whole_chunk(lengths: bytes) -> bytes:
    """A chunk with the zeros at its end, which are not stored."""
    return lengths.ljust(1 << _CHUNK_BITS, b"\0")


def rebuild(db: sqlite3.Connection) -> None:
    """Make the table anew, inside a transaction."""
    db.execute("DROP TABLE written")
    db.execute(WRITTEN)
    db.execute("DELETE FROM caption_lengths")
    db.execute("INSERT OR IGNORE INTO changed_captions SELECT id FROM pictures")
    catch_up(db)


def are_right(db: sqlite3.Connection) -> bool:
    """Whether the table holds what is written of pictures, and its index what it holds."""
    try:
        db.execute("INSERT INTO written (written) VALUES ('integrity-check')")
        lengths, rows = caption_lengths(db), 0
        for picture, captions, names, text, *texts in db.execute(
            """SELECT said.picture, captions, names, ocr, caption, file, folder, text
                FROM said LEFT JOIN written ON written.rowid = said.picture"""
        ):
            *expected, length = _texts(captions, names, text or "")
            is_there = any(expected)
            rows += is_there
            known = int(lengths[picture]) if picture < lengths.size else 0
            if texts != (expected if is_there else [None] * 4) or known != length:
                return False
        return bool(rows == db.execute("SELECT count(*) FROM written").fetchone()[0])
    except sqlite3.DatabaseError:  # as FTS5 says that its index is damaged
        return False
