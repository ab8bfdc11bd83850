"""How soon is it known which captions hold a word: lists of numbers, or SQLite's FTS5?

    python -m benchmarks.postings --json [--captions 200000]

Drawn captions of eight words each, words as frequent as in any language, in one SQLite file: as
visterm keeps them (two bytes a picture, 65,536 to a row), and in an FTS5 table. Each word's
holders are read as one NumPy array; ``ratio`` is FTS5's time over that of the lists.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import median_ms, say, show
from visterm.collection.store.caption_words import holders

WORDS = 5000
ASKED = ("w0", "w10", "w100", "w1000")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.postings", description=__doc__)
    parser.add_argument("--captions", type=int, default=200_000)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        db = sqlite3.connect(Path(folder, "captions.sqlite"))
        say(f"drawing {arguments.captions:,} captions")
        _fill(db, arguments.captions)
        show({word: _measured(db, word) for word in ASKED}, as_json=arguments.json)


def _fill(db: sqlite3.Connection, count: int) -> None:
    rng = np.random.default_rng(0)
    frequency = 1 / np.arange(1, WORDS + 1)
    drawn = rng.choice(WORDS, (count, 8), p=frequency / frequency.sum())
    db.execute("CREATE VIRTUAL TABLE said USING fts5(caption)")
    db.executemany(
        "INSERT INTO said (rowid, caption) VALUES (?, ?)",
        ((n, " ".join(f"w{word}" for word in words)) for n, words in enumerate(drawn.tolist())),
    )
    db.execute("CREATE TABLE caption_words (word TEXT, chunk INTEGER, pictures BLOB)")
    for word in ASKED:
        numbers = np.flatnonzero((drawn == int(word[1:])).any(axis=1))
        for chunk in np.unique(numbers >> 16).tolist():
            here = (numbers[numbers >> 16 == chunk] & 0xFFFF).astype("<u2")
            db.execute("INSERT INTO caption_words VALUES (?, ?, ?)", (word, chunk, here.tobytes()))
    db.execute("CREATE INDEX by_word ON caption_words (word, chunk)")
    db.commit()


def _measured(db: sqlite3.Connection, word: str) -> dict[str, Any]:
    def by_fts() -> np.ndarray:
        found = db.execute("SELECT rowid FROM said WHERE said MATCH ?", (word,))
        return np.fromiter((number for (number,) in found), np.int64)

    assert np.array_equal(by_fts(), holders(db, word))
    lists, fts = (median_ms([call] * 7) for call in (lambda: holders(db, word), by_fts))
    return {"captions": int(holders(db, word).size), "ratio": round(fts / lists, 1)}


if __name__ == "__main__":
    main()
