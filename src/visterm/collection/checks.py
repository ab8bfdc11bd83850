"""Integrity checks of a collection's files and index, and repair of what can be rebuilt."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from visterm.collection.store import caption_words
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.feature_rows import findable
from visterm.collection.store.versions import MODEL, Version, current, sweep
from visterm.collection.training.index_sync import build
from visterm.collection.training.pretrained import begin
from visterm.errors import VistermError
from visterm.index import Index
from visterm.progress import Progress, silent

if TYPE_CHECKING:
    from visterm.collection.ingest.plan import OnSkip


@dataclass
class Checked:
    """What is wrong, one line each, and what was done about it."""

    problems: list[str] = field(default_factory=list)
    repaired: list[str] = field(default_factory=list)
    files: int = 0
    """Files whose bytes were read and compared with their hash."""
    bad_extractors: list[str] = field(default_factory=list)
    bad_segments: list[int] = field(default_factory=list)
    bad_model: bool = False
    bad_index: bool = False
    bad_catalogue: bool = False
    bad_postings: bool = False

    @property
    def is_well(self) -> bool:
        return not self.problems


def check(catalogue: Catalogue) -> Checked:
    """Verify the catalogue, every file it names and every row of the index; nothing is changed."""
    found = Checked()
    wrong = catalogue.problems()
    if wrong:
        found.problems += wrong
        found.bad_catalogue = True
        return found
    _check_features(catalogue, found)
    if not caption_words.are_right(catalogue.db):
        found.problems.append(f"{catalogue.path}: the words of captions are not those it lists")
        found.bad_postings = True
    version = current(catalogue)
    if version is not None:
        for name, sha256 in version.files.items():
            found.bad_model |= _differs(found, version.folder / name, sha256)
        found.bad_index = bool(_index_problems(catalogue, version, found))
    return found


class Repairable(Protocol):
    """What a repair needs of a collection."""

    catalogue: Catalogue

    def add(self, *, progress: Progress, on_skip: OnSkip) -> Any: ...

    def train(self, *, progress: Progress) -> Any: ...


def mend(
    collection: Repairable, found: Checked, *, progress: Progress = silent, on_skip: OnSkip
) -> Checked:
    """Rebuild what can be rebuilt from what is sound, and check again."""
    catalogue = collection.catalogue
    if found.bad_catalogue:
        raise VistermError(
            f"{catalogue.path} itself is damaged ({found.problems[0]}); put a copy of it back, or "
            "delete it and begin anew with visterm add"
        )
    if found.bad_extractors or found.bad_segments:
        _check_describable(catalogue, found)
    sweep(catalogue)
    repaired = []
    lost = _drop_features(catalogue, found)
    if lost:
        repaired.append(f"{lost} pictures described again")
    if found.bad_postings:
        with catalogue.transaction() as db:
            caption_words.rebuild(db)
        repaired.append("the words of captions listed again")
    version = current(catalogue)
    replaced = version is not None and bool(found.bad_model or found.bad_extractors)
    if replaced:
        # A model is learnt, not stored twice; captions are what it is learnt from.
        with catalogue.transaction() as db:
            db.execute("DELETE FROM versions")
    if lost:
        collection.add(progress=progress, on_skip=on_skip)
    if version is not None and replaced and not version.is_trained:
        begin(catalogue, progress=progress)
        repaired.append("the starter brought again")
    elif replaced:
        repaired.append(_learnt_again(collection, progress))
    elif version is not None and found.bad_index:
        _rebuild_index(catalogue, version, progress)
        repaired.append("the index built again")
    sweep(catalogue)
    after = check(catalogue)
    return Checked(after.problems, repaired, after.files)


def _learnt_again(collection: Repairable, progress: Progress) -> str:
    """A new model in place of a damaged one, or the starter where captions have become too few."""
    from visterm.collection.training.training_set import TooFewCaptions

    try:
        collection.train(progress=progress)
    except TooFewCaptions:
        if not begin(collection.catalogue, progress=progress):
            raise
        return "the starter brought again"
    return "the model learnt again"


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
        index = Index.open(version.index)
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
        if not problems and not found.bad_model and not found.bad_segments:
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
    if np.allclose(index.rows(some), mapped, rtol=1e-3, atol=1e-4):
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


def _check_describable(catalogue: Catalogue, found: Checked) -> None:
    """Damaged vectors are not dropped where nobody could make them again."""
    from visterm.features import parse_features

    features = parse_features(catalogue.get("features") or "")
    if not features.ready:
        raise VistermError(
            f"{found.problems[0]}; these vectors come from features of your own, which are not "
            f"here. In Python, visterm.features.use_function makes the function of "
            f"{features.key} known (use_vectors does it for vectors); then repair again"
        )


def _drop_features(catalogue: Catalogue, found: Checked) -> int:
    """Let go of damaged vectors, and of all that a damaged extractor made; returns how many."""
    lost = 0
    with catalogue.transaction() as db:
        for key in found.bad_extractors:
            lost += db.execute("DELETE FROM rows WHERE extractor = ?", (key,)).rowcount
            db.execute("DELETE FROM segments WHERE extractor = ?", (key,))
            db.execute("DELETE FROM extractors WHERE key = ?", (key,))
        for number in found.bad_segments:
            lost += db.execute("DELETE FROM rows WHERE segment = ?", (number,)).rowcount
            db.execute("DELETE FROM segments WHERE id = ?", (number,))
    return lost


def _rebuild_index(catalogue: Catalogue, version: Version, progress: Progress) -> None:
    """A new version that differs from the old in its index only."""
    import shutil
    from dataclasses import replace

    from visterm.collection.feedback.service import learn_again
    from visterm.collection.store import versions
    from visterm.models import load_model

    new = replace(version, id=catalogue.last_number("versions") + 1)
    shutil.copytree(version.folder, new.folder, dirs_exist_ok=True)
    build(catalogue, new, load_model(new.folder / MODEL), progress=progress)
    with catalogue.transaction() as db:
        versions.name(catalogue, new)
        db.execute("DELETE FROM pending")
        if catalogue.one("SELECT 1 FROM taught LIMIT 1"):
            catalogue.set("clicks", "untold")
    learn_again(catalogue)
