"""How soon is it known which captions hold a word?

    python -m benchmarks.postings --json [--captions 200000]

Drawn captions of eight words each, words as frequent as in any language, in the FTS5 table of a
catalogue. By word: how many captions hold it, and the milliseconds to have their pictures as one
NumPy array, as visterm reads them (``ms``), and with a row of SQLite for each (``rows_ms``); and
for all, the bytes of a caption and the milliseconds to give one more (``caption_ms``).
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import median_ms, say, show
from visterm.collection.store.caption_words import holders
from visterm.collection.store.catalogue import Catalogue

WORDS = 5000
ASKED = ("w0", "w10", "w100", "w1000")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.postings", description=__doc__)
    parser.add_argument("--captions", type=int, default=200_000)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        catalogue = Catalogue(Path(folder))
        before = catalogue.path.stat().st_size
        say(f"drawing {arguments.captions:,} captions")
        with catalogue.writing("measuring"):
            _fill(catalogue, arguments.captions)
            catalogue.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            size = (catalogue.path.stat().st_size - before) / arguments.captions
            found: dict[str, Any] = {word: _measured(catalogue, word) for word in ASKED}
            given = median_ms([lambda: _caption(catalogue, "w1 w10 w100")] * 7)
        found |= {"bytes_a_caption": round(size), "caption_ms": round(given, 2)}
        show(found, as_json=arguments.json)


def _fill(catalogue: Catalogue, count: int) -> None:
    rng = np.random.default_rng(0)
    frequency = 1 / np.arange(1, WORDS + 1)
    drawn = rng.choice(WORDS, (count, 8), p=frequency / frequency.sum()).tolist()
    with catalogue.transaction() as db:
        numbers = range(1, count + 1)
        db.executemany("INSERT INTO pictures (id, hash) VALUES (?1, ?1)", ((n,) for n in numbers))
        texts = (" ".join(f"w{word}" for word in words) for words in drawn)
        db.executemany("INSERT INTO captions VALUES (?, 'table', ?)", enumerate(texts, 1))


def _caption(catalogue: Catalogue, text: str) -> None:
    with catalogue.transaction() as db:
        db.execute("INSERT OR REPLACE INTO captions VALUES (1, 'person', ?)", (text,))


def _measured(catalogue: Catalogue, word: str) -> dict[str, Any]:
    db = catalogue.db

    def by_rows() -> np.ndarray:
        rows = db.execute("SELECT rowid FROM written WHERE written MATCH ?", (f"caption:{word}",))
        return np.fromiter((number for (number,) in rows), np.int64)

    assert np.array_equal(by_rows(), holders(db, word))
    text, rows = (median_ms([call] * 7) for call in (lambda: holders(db, word), by_rows))
    return {
        "captions": int(holders(db, word).size),
        "ms": round(text, 3),
        "rows_ms": round(rows, 3),
    }


if __name__ == "__main__":
    main()
