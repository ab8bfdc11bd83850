"""Versions: a model as a collection keeps it, with its vocabulary and its index."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from visterm.collection.store import previous
from visterm.collection.store.catalogue import Catalogue
from visterm.errors import VistermError
from visterm.files import PART
from visterm.index.columns import sweep_columns
from visterm.index.feature_file import FeatureFile
from visterm.quick_dataclass import dataclass

if TYPE_CHECKING:
    from visterm.calibration.calibration import Calibration
    from visterm.text import Vocabulary

Thing = TypeVar("Thing")

WORDS = "words"
"""The text space of queries such as ``tree snow:2 -people``."""
ENCODER = "encoder"
"""The text space of a dual encoder, in which the vectors of its pictures lie as they are."""
SENTENCE_SPACES = ("lsa", "sentences", ENCODER)
"""Text spaces that take whole sentences, the second in many languages."""
SPACES = (WORDS, *SENTENCE_SPACES)
MODEL = "model.safetensors"
SPACE = "space.safetensors"
"""The text space of a version for sentences."""
JUDGED = "judged.safetensors"
"""The same model without the held-out pictures: the one that later models are compared with."""
VOCABULARY = "vocabulary.json"
STARTER = "starter"
"""The model of a version that was not trained here: what visterm brings along."""
HELD = "held.json"
"""Held-out pictures and their words, which watch over clicks."""
CALIBRATION = "chances.json"
"""What is usual for each word's values, and how scores become probabilities."""
METRIC = "metric.npy"
"""What clicks are to make less of: directions in which pictures vary most."""
MEAN = "mean.npy"
SQUARE = "square.npy"
"""How long pictures' vectors are in that metric, around their mean: the mean square."""
UNFINISHED = "repair"
"""The setting that says which versions and rows a repair has dropped and not made again yet."""
_BEGUN = "begun"


@dataclass(frozen=True)
class Version:
    """What the catalogue says about a model."""

    id: int
    model: str
    extractor: str
    words: int
    captioned: int
    time: float
    files: dict[str, str]
    store: Path
    avgp: float | None = None
    space: str = WORDS
    """The text space whose queries it answers."""
    caption_changes: int = 0
    """How often captions had changed when it was trained."""
    new_words: tuple[str, ...] = ()
    """Words that a yes began: numbered after those of the model, which knows nothing of them."""

    @property
    def is_trained(self) -> bool:
        """Whether it was trained on captions."""
        return self.model != STARTER

    @property
    def folder(self) -> Path:
        return self.store / "models" / str(self.id)

    def vocabulary(self) -> Vocabulary:
        """The words the model knows, and after them those that were begun."""
        from visterm.text import Vocabulary

        known = self._read(VOCABULARY, Vocabulary.from_json)
        return known.with_more(self.new_words) if self.new_words else known

    def calibration(self) -> Calibration:
        """What its scores are worth, of begun words too."""
        from visterm.calibration.calibration import Calibration

        stored = self._read(CALIBRATION, Calibration.from_json)
        return stored.with_more_words(len(self.new_words))

    def _read(self, file: str, read: Callable[[dict[str, Any]], Thing]) -> Thing:
        path = self.folder / file
        try:
            return read(json.loads(path.read_bytes()))
        except FileNotFoundError:
            raise
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise VistermError(f"{path} is damaged ({error}); visterm check --repair") from error


_FIELDS = "id, model, extractor, words, captioned, avgp, time, files, space, caption_changes"


def is_encoded(extractor: str | None) -> bool:
    """Whether a key is of a dual encoder's vectors, in whose space texts lie, too.

    >>> is_encoded("encoder-1(clip-0123456789ab)"), is_encoded("encoder-1(clip-01…)+cnn-1")
    (True, False)
    """
    return extractor is not None and extractor.startswith("encoder-") and "+" not in extractor


def every_current(catalogue: Catalogue) -> list[Version]:
    """The versions that answer queries, one a text space."""
    with catalogue.snapshot() as db:
        rows = db.execute(f"SELECT {_FIELDS} FROM versions ORDER BY id").fetchall()
        new_words = tuple(json.loads(catalogue.get(_BEGUN) or "[]"))
    return [_version(catalogue.store, new_words, *row) for row in rows]


def _version(store: Path, new_words: tuple[str, ...], *row: Any) -> Version:
    about = dict(zip(_FIELDS.split(", "), row, strict=True))
    about |= {"files": json.loads(about["files"]), "store": store}
    return Version(**about, new_words=new_words if about["space"] == WORDS else ())


def current(catalogue: Catalogue, space: str = WORDS) -> Version | None:
    """The version that answers queries in a text space; None before anything was trained."""
    versions = [one for one in every_current(catalogue) if one.space == space]
    return versions[-1] if versions else None


def caption_changes(catalogue: Catalogue) -> int:
    """How often captions have been given, changed or taken back."""
    return int(catalogue.get("caption_changes") or 0)


def hashes(folder: Path) -> dict[str, str]:
    """The SHA-256 of every file in a folder, by name."""
    files = sorted(folder.iterdir())
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def name(catalogue: Catalogue, version: Version) -> None:
    """Make a version the one that answers in its space, inside a transaction."""
    catalogue.db.execute("DELETE FROM versions WHERE space = ?", (version.space,))
    columns = _FIELDS.split(", ")
    about = {**vars(version), "files": json.dumps(version.files)}
    catalogue.db.execute(
        f"INSERT INTO versions ({_FIELDS}) VALUES ({', '.join('?' * len(columns))})",
        [about[column] for column in columns],
    )
    if version.space == WORDS:
        _set_begun(catalogue, version.new_words)


def set_new_words(catalogue: Catalogue, words: Sequence[str]) -> None:
    """Let the version know other begun words, inside a transaction.

    Its time changes as well: by that, whoever has opened it sees that its words are others.
    """
    _set_begun(catalogue, words)
    catalogue.db.execute("UPDATE versions SET time = ? WHERE space = 'words'", (time.time(),))


def _set_begun(catalogue: Catalogue, words: Sequence[str]) -> None:
    catalogue.set(_BEGUN, json.dumps(list(words), ensure_ascii=False) if words else None)


def sweep(catalogue: Catalogue) -> None:
    """Delete what the catalogue does not name; the caller holds the lock.

    Files that a reader still has open stay readable to it (on Windows they stay until later).
    """
    import shutil

    for path in _rubbish(catalogue):
        with contextlib.suppress(OSError):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()
    files = catalogue.db.execute("SELECT * FROM feature_files").fetchall()
    for extractor, generation, layout, width, count in files:
        folder = catalogue.store / "features" / extractor / str(generation)
        with contextlib.suppress(OSError):  # columns may take as much as the rows they are made of
            sweep_columns(FeatureFile(folder, layout, width, count), count * width)


def _own_folders(above: Path, *names: str) -> Iterator[Path]:
    """Folders that lie here; those that a link leads to are somebody else's."""
    folders = (above / name for name in names)
    return (one for one in folders if one.is_dir() and not one.is_symlink())


def _rubbish(catalogue: Catalogue) -> Iterator[Path]:
    db, store = catalogue.db, catalogue.store
    named = {row[0] for row in db.execute("SELECT file FROM extractors")}
    for extractor, generation in db.execute("SELECT extractor, generation FROM feature_files"):
        named.add(f"features/{extractor}/{generation}")
    for number, files in db.execute("SELECT id, files FROM versions").fetchall():
        named |= {f"models/{number}/{file}" for file in json.loads(files)} | {f"models/{number}"}
    named |= previous.named_files(catalogue)
    for room in _own_folders(store, "models"):
        yield from (p for p in room.iterdir() if f"models/{p.name}" not in named)
    for room in _own_folders(store, "features", "models"):
        for folder in _own_folders(room, *os.listdir(room)):
            for path in folder.iterdir():
                inside = path.relative_to(store).as_posix()
                is_rows = room.name == "features" and path.name.isdecimal()
                if inside not in named and (is_rows or path.is_file() or path.is_symlink()):
                    yield path
    current_ids = {row[0] for row in db.execute("SELECT id FROM versions")}
    for values in store.glob("features/*/*/values-*"):
        if values.name not in {f"values-{number}" for number in current_ids}:
            yield values
    yield from (p for p in store.iterdir() if p.name.endswith(PART))
