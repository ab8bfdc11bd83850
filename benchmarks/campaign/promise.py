"""The promise, read by somebody who knows the format and none of the code that writes it.

SQLite, JSON and SHA-256 alone: captions, clicks and pictures as the catalogue has them, and whether
every file that anything names lies there whole.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Told = dict[tuple[str, ...], str]


@dataclass(frozen=True)
class State:
    """What a collection holds, by content: numbers may differ, what they stand for may not."""

    captions: Told = field(default_factory=dict)
    """Text by picture and source."""
    clicks: Told = field(default_factory=dict)
    """Yes or no by query and picture."""
    pictures: Told = field(default_factory=dict)
    """Whether a picture lies anywhere, by its hash."""
    models: Told = field(default_factory=dict)
    """Hashes of a version's files by text space."""
    sidecars: Told = field(default_factory=dict)
    """XMP files beside pictures, by name."""
    problems: tuple[str, ...] = ()

    def same(self, other: State) -> bool:
        return all(getattr(self, name) == getattr(other, name) for name in _TOLD)


_TOLD = ("captions", "clicks", "pictures", "models", "sidecars")


def read_state(root: Path) -> State:
    """What lies in a folder of pictures now."""
    sidecars: Told = {(path.name,): path.read_text() for path in sorted(root.rglob("*.xmp"))}
    path = root / ".visterm" / "catalogue.sqlite"
    if not path.exists():
        return State(sidecars=sidecars)
    with closing(sqlite3.connect(path, timeout=20)) as db:
        if db.execute("PRAGMA user_version").fetchone()[0] == 0:
            return State(sidecars=sidecars)  # made, and nothing said yet
        problems = [row[0] for row in db.execute("PRAGMA integrity_check") if row[0] != "ok"]
        problems += [f"{row} refers to nothing" for row in db.execute("PRAGMA foreign_key_check")]
        problems += _harmed(path.parent, db)
        return State(
            _told(db, "SELECT hex(hash), source, text FROM captions JOIN pictures ON picture = id"),
            _told(
                db,
                """SELECT query, hex(hash), answer FROM feedback
                    JOIN pictures ON pictures.id = picture""",
            ),
            _told(db, "SELECT hex(hash), present > 0 FROM pictures"),
            _told(db, f"SELECT {_space(db)}, files FROM versions ORDER BY id"),
            sidecars,
            tuple(problems),
        )


def between(before: State, after: State, now: State, *, whole: bool) -> list[str]:
    """What is neither as it was nor as it should become; ``whole``: all of it or nothing."""
    if whole:
        fits = now.same(before) or now.same(after)
        return [] if fits else [f"half of it: {_difference(before, now)}"]
    return [
        f"{name} {key}: {found.get(key)!r} is neither old nor new"
        for name in _TOLD
        for old, new, found in [tuple(getattr(one, name) for one in (before, after, now))]
        for key in old.keys() | new.keys() | found.keys()
        if found.get(key) not in (old.get(key), new.get(key))
    ]


def _difference(one: State, other: State) -> str:
    for name in _TOLD:
        a, b = getattr(one, name), getattr(other, name)
        for key in a.keys() | b.keys():
            if a.get(key) != b.get(key):
                return f"{name} {key}: {str(a.get(key))[:60]!r} became {str(b.get(key))[:60]!r}"
    return "nothing"


def _told(db: sqlite3.Connection, question: str) -> Told:
    return {tuple(map(str, key)): str(value) for *key, value in db.execute(question)}


def _space(db: sqlite3.Connection) -> str:
    columns = {row[1] for row in db.execute("PRAGMA table_info(versions)")}
    return "space" if "space" in columns else "'words'"


def _harmed(store: Path, db: sqlite3.Connection) -> list[str]:
    """Files that the catalogue, or the manifest of an index, names and that are not so."""
    wanted = {store / file: sha256 for _, file, sha256 in db.execute("SELECT * FROM extractors")}
    for extractor, files in db.execute("SELECT extractor, files FROM segments"):
        folder = store / "features" / extractor
        wanted |= {folder / name: sha256 for name, sha256 in json.loads(files).items()}
    problems = []
    for number, files in db.execute("SELECT id, files FROM versions").fetchall():
        folder = store / "models" / str(number)
        wanted |= {folder / name: sha256 for name, sha256 in json.loads(files).items()}
        manifest = store / "index" / str(number) / "manifest.json"
        try:
            content = json.loads(manifest.read_bytes())
        except (OSError, ValueError) as error:
            problems.append(f"{manifest}: {error}")
            continue
        wanted |= _of_index(manifest.parent, content)
    return problems + [
        f"{path} is missing or not what was written"
        for path, sha256 in wanted.items()
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != sha256
    ]


def _of_index(folder: Path, content: dict[str, Any]) -> dict[Path, str]:
    return {folder / name: record["sha256"] for name, record in content["files"].items()}
