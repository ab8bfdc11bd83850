"""Integrity checks of a collection's files."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path

from visterm.collection.store import caption_words
from visterm.collection.store.catalogue import DAMAGED, Catalogue
from visterm.collection.store.feature_rows import Rows
from visterm.collection.store.versions import UNFINISHED, every_current
from visterm.errors import VistermError
from visterm.index.columns import column_folder, is_sound


@dataclass
class Checked:
    """What is wrong, one line each, and what was done about it."""

    problems: list[str] = field(default_factory=list)
    repaired: list[str] = field(default_factory=list)
    files: int = 0
    """Files whose bytes were read and compared with their hash."""
    bad_extractors: list[str] = field(default_factory=list)
    bad_rows: list[str] = field(default_factory=list)
    """Extractors whose rows are damaged."""
    bad_models: list[str] = field(default_factory=list)
    """Text spaces whose model is damaged."""
    bad_columns: list[Path] = field(default_factory=list)
    """Files that can be deleted, and are made again when they are needed."""
    bad_catalogue: bool = False
    """Whether the catalogue itself is damaged; the last of the problems says what to do."""
    bad_words: bool = False
    unfinished: tuple[str, ...] = ()
    """What a repair that was interrupted has still to make again."""

    @property
    def is_well(self) -> bool:
        return not self.problems


def check(catalogue: Catalogue) -> Checked:
    """Verify the catalogue, every file it names and every column; nothing is changed."""
    checked = Checked()
    wrong = catalogue.problems()
    if wrong:
        checked.problems += [*wrong, f"{catalogue.path} itself is damaged; {DAMAGED}"]
        checked.bad_catalogue = True
        return checked
    _check_features(catalogue, checked)
    if not caption_words.are_right(catalogue.db):
        checked.problems.append(f"{catalogue.path}: the words of captions are not those it lists")
        checked.bad_words = True
    if waiting := catalogue.get(UNFINISHED):
        checked.unfinished = tuple(waiting.split())
        checked.problems.append(f"{catalogue.path}: a repair was interrupted, and has to go on")
    for version in every_current(catalogue):
        files = version.files.items()
        bad = [_differs(checked, version.folder / name, sha256) for name, sha256 in files]
        if any(bad):
            checked.bad_models.append(version.space)
    return checked


def _check_features(catalogue: Catalogue, checked: Checked) -> None:
    for key, file, sha256 in catalogue.db.execute("SELECT * FROM extractors").fetchall():
        if _differs(checked, catalogue.store / file, sha256):
            checked.bad_extractors.append(key)
    for (extractor,) in catalogue.db.execute("SELECT extractor FROM feature_files").fetchall():
        _check_rows(Rows(catalogue, extractor), checked)


def _check_rows(rows: Rows, checked: Checked) -> None:
    """Compare rows, segment by segment, and columns with what was written."""
    file = rows.file
    assert file is not None
    question = "SELECT first, rows, files FROM segments WHERE extractor = ? ORDER BY first"
    for first, count, files in rows.catalogue.db.execute(question, (rows.extractor,)):
        expected = json.loads(files)
        checked.files += len(expected)
        try:
            hashes = file.first(first + count).hashes(first)
            bad = [name for name, sha256 in expected.items() if hashes.get(name) != sha256]
            problem = "its bytes have changed since they were written"
        except (OSError, ValueError, VistermError) as error:
            named = Path(getattr(error, "filename", None) or file.folder / "codes").name
            bad, problem = [named], str(getattr(error, "strerror", None) or error)
        if bad:
            where = f"{file.folder / bad[0]} (rows {first} to {first + count - 1})"
            checked.problems.append(f"{where}: {problem}")
            checked.bad_rows.append(rows.extractor)
    folder = column_folder(file)
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        checked.files += 1
        if not is_sound(path):
            checked.problems.append(f"{path}: its bytes have changed since they were written")
            checked.bad_columns.append(path)


def _differs(checked: Checked, path: Path, sha256: str) -> bool:
    checked.files += 1
    try:
        with path.open("rb") as file:
            same = hashlib.file_digest(file, "sha256").hexdigest() == sha256
        problem = "its bytes have changed since they were written"
    except OSError as error:
        same, problem = False, (error.strerror or "it cannot be read").lower()
    if not same:
        checked.problems.append(f"{path}: {problem}")
    return not same
