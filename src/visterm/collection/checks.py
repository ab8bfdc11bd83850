"""Integrity checks of a collection's files and indexes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from visterm.collection.store import caption_words
from visterm.collection.store.catalogue import DAMAGED, Catalogue
from visterm.collection.store.feature_rows import findable
from visterm.collection.store.linear_values import open_index
from visterm.collection.store.versions import MODEL, UNFINISHED, WORDS, Version, every_current
from visterm.errors import VistermError
from visterm.index import DenseIndex, Index


@dataclass
class Checked:
    """What is wrong, one line each, and what was done about it."""

    problems: list[str] = field(default_factory=list)
    repaired: list[str] = field(default_factory=list)
    files: int = 0
    """Files whose bytes were read and compared with their hash."""
    bad_extractors: list[str] = field(default_factory=list)
    bad_segments: list[int] = field(default_factory=list)
    bad_models: list[str] = field(default_factory=list)
    """Text spaces whose model is damaged."""
    bad_indexes: list[str] = field(default_factory=list)
    bad_catalogue: bool = False
    """Whether the catalogue itself is damaged; the last of the problems says what to do."""
    bad_postings: bool = False
    unfinished: tuple[str, ...] = ()
    """What a repair that was interrupted has still to make again."""

    @property
    def is_well(self) -> bool:
        return not self.problems


def check(catalogue: Catalogue) -> Checked:
    """Verify the catalogue, every file it names and every row of the index; nothing is changed."""
    found = Checked()
    wrong = catalogue.problems()
    if wrong:
        found.problems += [*wrong, f"{catalogue.path} itself is damaged; {DAMAGED}"]
        found.bad_catalogue = True
        return found
    _check_features(catalogue, found)
    if not caption_words.are_right(catalogue.db):
        found.problems.append(f"{catalogue.path}: the words of captions are not those it lists")
        found.bad_postings = True
    if waiting := catalogue.get(UNFINISHED):
        found.unfinished = tuple(waiting.split())
        found.problems.append(f"{catalogue.path}: a repair was interrupted, and has to go on")
    for version in every_current(catalogue):
        files = version.files.items()
        bad = [_differs(found, version.folder / name, sha256) for name, sha256 in files]
        if any(bad):
            found.bad_models.append(version.space)
        if _index_problems(catalogue, version, found):
            found.bad_indexes.append(version.space)
    return found


def _check_features(catalogue: Catalogue, found: Checked) -> None:
    for key, file, sha256 in catalogue.db.execute("SELECT * FROM extractors").fetchall():
        if _differs(found, catalogue.store / file, sha256):
            found.bad_extractors.append(key)
    question = "SELECT id, extractor, rows, files FROM segments"
    for number, extractor, rows, files in catalogue.db.execute(question).fetchall():
        folder = catalogue.store / "features" / extractor
        bad = [_differs(found, folder / name, sha) for name, sha in json.loads(files).items()]
        last = catalogue.one("SELECT max(place) FROM rows WHERE segment = ?", number)
        if last is not None and last >= rows:
            found.problems.append(f"segment {number} has {rows} rows, the catalogue wants more")
            bad.append(True)
        if any(bad):
            found.bad_segments.append(number)


def _index_problems(catalogue: Catalogue, version: Version, found: Checked) -> list[str]:
    """Files and rows of the index; rows that still wait for it are no problem."""
    try:
        index = (
            open_index(catalogue, version)
            if version.space == WORDS
            else DenseIndex.open(version.index)
        )
        problems = index.verify()
        found.files += len(problems) or 1
        waiting = np.array([p for (p,) in catalogue.db.execute("SELECT picture FROM pending")])
        wanted = np.setdiff1d(findable(catalogue, version.extractor), waiting)
        held = np.setdiff1d(index.ids(), waiting)
        if not np.array_equal(wanted, held):
            problems.append(
                f"{version.index}: holds {held.size} pictures, the catalogue has {wanted.size}"
            )
        if index.words < version.words:
            problems.append(f"{version.index}: has {index.words} words, not {version.words}")
        sound = not (problems or found.bad_segments or version.space in found.bad_models)
        if sound and isinstance(index, Index):
            problems += _wrong_rows(catalogue, version, index, held)
    except (VistermError, OSError) as error:
        problems = [str(error)]
    found.problems += problems
    return problems


def _wrong_rows(
    catalogue: Catalogue, version: Version, index: Index, held: np.ndarray
) -> list[str]:
    """A few rows of the index compared with the model's own."""
    from visterm.collection.feedback.offsets import FeedbackOffsets, is_up_to_date
    from visterm.collection.store.feature_rows import vectors_of
    from visterm.collection.store.index_rows import index_rows
    from visterm.models import load_model

    if not held.size:
        return []
    some = np.unique(held[np.linspace(0, held.size - 1, 20).astype(int)])
    vectors = vectors_of(catalogue, version.extractor, some.tolist())
    mapped = index_rows(version, load_model(version.folder / MODEL))(vectors)
    if is_up_to_date(catalogue):
        offsets = FeedbackOffsets.read(catalogue, version, version.vocabulary(), index)
        more = offsets.rows(vectors, index.words - version.words, mapped)
    else:
        more = index.rows(some)[:, version.words :]  # the next writer brings them up to date
    mapped = np.concatenate([mapped, more], axis=1)
    lows, highs = index.bounds(np.arange(index.words), some)
    near = 1e-4 + 1e-3 * np.abs(mapped)
    if (lows <= mapped + near).all() and (mapped - near <= highs).all():
        return []
    return [f"{version.index}: its rows are not those of the model"]


def _differs(found: Checked, path: Path, sha256: str) -> bool:
    found.files += 1
    try:
        with path.open("rb") as file:
            same = hashlib.file_digest(file, "sha256").hexdigest() == sha256
        problem = "its bytes have changed since they were written"
    except OSError as error:
        same, problem = False, (error.strerror or "it cannot be read").lower()
    if not same:
        found.problems.append(f"{path}: {problem}")
    return not same
