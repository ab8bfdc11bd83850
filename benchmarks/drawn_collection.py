"""A collection of many pictures, made without drawing or describing them.

Vectors are drawn at random, a few thousand pictures are captioned by what their vectors hold, and a
model is learnt from them: catalogue, rows and model are what ``visterm add`` and
``train`` would have left, made by the same code. The folders are there, the picture files are not.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from unittest.mock import patch

import numpy as np

from benchmarks.common import say
from visterm.collection import Collection
from visterm.collection.ingest.extractors import prepare, take
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.feature_rows import Rows
from visterm.collection.training import trainer
from visterm.features.cnn import CNN

AT_ONCE = 1 << 15
"""Rows that are written together."""
CAPTIONED = 2000
IN_A_FOLDER = 500
WIDTH = 1280
"""Numbers in a vector of the CNN."""


def make(folder: Path, pictures: int, *, words: int, width: int = WIDTH) -> float:
    """Make the collection; its words are ``word000``, ``word001`` …

    Returns how many seconds it took to train.
    """
    with Collection.open(folder) as collection:
        catalogue = collection.catalogue
        key = f"{CNN.name}-{CNN.version}"
        random = np.random.default_rng(0)
        with catalogue.writing("making a large collection"):
            prepare(catalogue, CNN.name, [])
            with catalogue.transaction():
                take(catalogue, CNN.name, key)
            with _without_triggers(catalogue):
                for first in range(0, pictures, AT_ONCE):
                    count = min(AT_ONCE, pictures - first)
                    vectors = drawn_vectors(random, count, width)
                    put(catalogue, Rows(catalogue, key), vectors, first)
                    if not first:
                        captioned = vectors[:CAPTIONED]
                    say(f"{first + count:,} of {pictures:,} pictures made")
            _caption(catalogue, captioned, words)
            _make_folders(catalogue, folder)
        # The starter knows vectors of the CNN's own length only; shorter ones learn without it.
        short = patch.object(trainer, "starter_of", return_value=None)
        with short if width != WIDTH else nullcontext():
            begin = time.perf_counter()
            trained = collection.train(force=True)
            seconds = time.perf_counter() - begin
        say(f"learnt {trained.words} words")
    return seconds


@contextmanager
def _without_triggers(catalogue: Catalogue) -> Iterator[None]:
    """Insert files without their triggers, which take longest, and leave what they would have."""
    triggers = catalogue.db.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'places'"
    ).fetchall()
    with catalogue.transaction() as db:
        for name, _ in triggers:
            db.execute(f"DROP TRIGGER {name}")
    yield
    with catalogue.transaction() as db:
        db.execute("UPDATE pictures SET present = 1")
        db.execute("UPDATE settings SET value = value + 1 WHERE name = 'place_changes'")
        for _, sql in triggers:
            db.execute(sql)


def drawn_vectors(random: np.random.Generator, count: int, width: int) -> np.ndarray:
    """Vectors of length one without negative numbers, as the CNN's are."""
    vectors = np.abs(random.standard_normal((count, width), dtype=np.float32))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def put(catalogue: Catalogue, rows: Rows, vectors: np.ndarray, first: int) -> None:
    """Pictures with these vectors, numbered after the ``first`` ones."""
    written = rows.write(vectors)
    numbers = range(first + 1, first + 1 + len(vectors))
    with catalogue.transaction() as db:
        db.executemany(
            "INSERT INTO pictures (id, hash) VALUES (?, ?)",
            ((number, hashlib.sha256(str(number).encode()).digest()) for number in numbers),
        )
        db.executemany(
            """INSERT INTO places (folder, name, picture, size, mtime_ns, sidecars)
                VALUES (?, ?, ?, 100000, 1, '')""",
            ((_folder(number), f"picture-{number:07d}.jpg", number) for number in numbers),
        )
        rows.name(written, list(numbers))


def _caption(catalogue: Catalogue, vectors: np.ndarray, words: int) -> None:
    """Five words a picture: those of its largest numbers, so that there is something to learn."""
    directions = np.random.default_rng(1).standard_normal((vectors.shape[1], words))
    best = np.argsort(-((vectors - vectors.mean(axis=0)) @ directions), axis=1)[:, :5]
    with catalogue.transaction() as db:
        db.executemany(
            "INSERT INTO captions VALUES (?, 'table', ?)",
            (
                (number, " ".join(f"word{word:03d}" for word in held))
                for number, held in enumerate(best.tolist(), 1)
            ),
        )


def _folder(number: int) -> str:
    return f"folder-{number // IN_A_FOLDER:05d}"


def _make_folders(catalogue: Catalogue, root: Path) -> None:
    """The folders, listed as if long ago."""
    names = [folder for (folder,) in catalogue.db.execute("SELECT DISTINCT folder FROM places")]
    for name in names:
        (root / name).mkdir()
    with catalogue.transaction() as db:
        db.executemany(
            "INSERT INTO folders VALUES (?, ?)",
            ((name, (root / name).stat().st_mtime_ns) for name in ["", *names]),
        )
