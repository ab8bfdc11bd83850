"""A collection of pictures of which only vectors are there: what benchmarks of rankings need."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from visterm.collection import Collection
from visterm.collection.ingest.extractors import prepare, take
from visterm.collection.media.captions import TABLE, give
from visterm.collection.store.feature_rows import Rows
from visterm.collection.training.completeness import learn_completeness
from visterm.features import CNN


def put(
    collection: Collection,
    vectors: NDArray[np.float32],
    captions: dict[int, str],
    folders: Sequence[str] | None = None,
) -> None:
    """Pictures, numbered from 1, as ``visterm add`` would have left them, without their files."""
    catalogue, key = collection.catalogue, f"{CNN.name}-{CNN.version}"
    with catalogue.writing("making a trial"):
        prepare(catalogue, CNN.name, [])
        rows = Rows(catalogue, key)
        written = rows.write(vectors)
        numbers = range(1, len(vectors) + 1)
        inside = folders or [""] * len(vectors)
        with catalogue.transaction() as db:
            take(catalogue, CNN.name, key)
            db.executemany(
                "INSERT INTO pictures (id, hash) VALUES (?, ?)",
                ((n, hashlib.sha256(str(n).encode()).digest()) for n in numbers),
            )
            db.executemany(
                """INSERT INTO places (folder, name, picture, size, mtime_ns, sidecars)
                    VALUES (?, ?, ?, 1, 1, '')""",
                ((inside[n - 1], f"{n:05d}.jpg", n) for n in numbers),
            )
            rows.name(written, list(numbers))
            take(catalogue, CNN.name, key)
            db.executemany("INSERT INTO captions VALUES (?, 'table', ?)", captions.items())


def caption(collection: Collection, texts: dict[int, str]) -> None:
    """Give pictures captions, and learn how complete captions are."""
    catalogue = collection.catalogue
    with catalogue.writing("captioning"):
        with catalogue.transaction():
            for number, text in texts.items():
                give(catalogue, number, TABLE, text)
        learn_completeness(catalogue)
