"""The promise, read by somebody who knows the format and none of the code that writes it.

SQLite, JSON and SHA-256 alone: captions, clicks and pictures as the catalogue has them, and whether
every file that anything names lies there whole.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

Told = dict[tuple[str, ...], str]


@dataclass(frozen=True)
class State:
    """What a collection holds, by content: numbers may differ, what they stand for may not."""

    captions: Told = field(default_factory=dict)
    """Text by picture and source."""
    clicks: Told = field(default_factory=dict)
    """Yes or no by query and picture, in the order in which they were said."""
    pictures: Told = field(default_factory=dict)
    """Whether a picture lies anywhere, by its hash."""
    models: Told = field(default_factory=dict)
    """Hashes of a version's files by text space."""
    sidecars: Told = field(default_factory=dict)
    """XMP files beside pictures, by name."""
    steps: Told = field(default_factory=dict)
    """That a step can be taken back, by how things were before it: in a list of which one failed,
    those after it have other numbers."""
    starter: Told = field(default_factory=dict)
    """The hash of the starter that somebody shared."""
    encoders: Told = field(default_factory=dict)
    """Hashes of an encoder's files by its name."""
    problems: tuple[str, ...] = ()

    def same(self, other: State) -> bool:
        return all(getattr(self, name) == getattr(other, name) for name in _TOLD)


_TOLD = tuple(one.name for one in fields(State) if one.name != "problems")


def read_state(root: Path) -> State:
    """What lies in a folder of pictures now."""
    encoders, broken = _encoders(root / "encoders")
    sidecars: Told = {(path.name,): path.read_text() for path in sorted(root.rglob("*.xmp"))}
    beside = State(sidecars=sidecars, encoders=encoders, problems=tuple(broken))
    path = root / ".visterm" / "catalogue.sqlite"
    if not path.exists():
        return beside
    with closing(sqlite3.connect(path, timeout=20)) as db:
        if db.execute("PRAGMA user_version").fetchone()[0] == 0:
            return beside  # made, and nothing said yet
        problems = [row[0] for row in db.execute("PRAGMA integrity_check") if row[0] != "ok"]
        problems += [f"{row} refers to nothing" for row in db.execute("PRAGMA foreign_key_check")]
        problems += _harmed(path.parent, db)
        return replace(
            beside,
            captions=_told(
                db, "SELECT hex(hash), source, text FROM captions JOIN pictures ON picture = id"
            ),
            clicks=_told(
                db,
                f"""SELECT query, hex(hash), answer FROM feedback
                    JOIN pictures ON pictures.id = picture ORDER BY feedback.{_order(db)}""",
            ),
            pictures=_told(db, "SELECT hex(hash), present > 0 FROM pictures"),
            models=_told(db, f"SELECT {_space(db)}, files FROM versions ORDER BY id"),
            steps=_told(db, _STEPS) if _columns(db, "events") else {},
            starter=_starter(path.with_name("starter.safetensors")),
            problems=(*problems, *broken),
        )


_STEPS = """SELECT before, row_number() OVER (PARTITION BY before ORDER BY id), state FROM events
    WHERE state = 'done' AND before IS NOT NULL ORDER BY id"""


def between(before: State, after: State, now: State, *, whole: bool) -> list[str]:
    """What is neither as it was nor as it should become; ``whole``: all of it or nothing."""
    if whole:
        # Steps are taken back in their order, which tables by content do not have.
        fits = any(now.same(one) and [*now.steps] == [*one.steps] for one in (before, after))
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
    return "space" if "space" in _columns(db, "versions") else "'words'"


def _order(db: sqlite3.Connection) -> str:
    return "id" if "id" in _columns(db, "feedback") else "time"  # of a catalogue half made, or old


def _columns(db: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in db.execute(f"PRAGMA table_info({table})")}


def _starter(path: Path) -> Told:
    return {(path.name,): _sha256(path)} if path.exists() else {}


def _encoders(home: Path) -> tuple[Told, list[str]]:
    """The encoders of a person, and what of their files is not as their manifest says."""
    found: Told = {}
    problems = []
    for path in home.glob("[!.]*.json"):
        try:
            manifest = json.loads(path.read_bytes())
            name, folder, files = path.stem, home / manifest["folder"], manifest["files"]
        except (OSError, ValueError, KeyError) as error:
            problems.append(f"{path}: {error}")
            continue
        found[(name,)] = json.dumps(files)
        wanted = {folder / file: sha256 for file, (sha256, _) in files.items()}
        problems += _not_as_written(wanted)
    return found, problems


def _harmed(store: Path, db: sqlite3.Connection) -> list[str]:
    """Files and parts of files that the catalogue names and that are not so."""
    wanted = {store / file: sha256 for _, file, sha256 in db.execute("SELECT * FROM extractors")}
    problems = []
    for segment in db.execute(_SEGMENTS):
        problems += _harmed_rows(store / "features", *segment)
    for number, files in db.execute("SELECT id, files FROM versions").fetchall():
        folder = store / "models" / str(number)
        wanted |= {folder / name: sha256 for name, sha256 in json.loads(files).items()}
    return problems + _not_as_written(wanted)


_SEGMENTS = """SELECT extractor, generation, width, first, rows, files
    FROM segments JOIN feature_files USING (extractor)"""


def _harmed_rows(
    features: Path, extractor: str, generation: int, width: int, first: int, rows: int, files: str
) -> list[str]:
    """Files of rows whose bytes are not those that were appended together."""
    folder, problems = features / extractor / str(generation), []
    sizes = {"ids": 8, "codes": width, "scales": 8, "ends": 8}
    for name, sha256 in json.loads(files).items():
        path = folder / name
        content = path.read_bytes() if path.is_file() else b""
        if name in sizes:
            begin, end = first * sizes[name], (first + rows) * sizes[name]
        else:  # sparse numbers of four bytes: where those of a row end is said beside them
            ends = memoryview((folder / "ends").read_bytes()).cast("q")
            begin, end = (4 * (ends[n - 1] if n else 0) for n in (first, first + rows))
        if hashlib.sha256(content[begin:end]).hexdigest() != sha256:
            problems.append(f"rows from {first} on of {path} are not what was written")
    return problems


def _not_as_written(wanted: dict[Path, str]) -> list[str]:
    return [
        f"{path} is missing or not what was written"
        for path, sha256 in wanted.items()
        if not path.is_file() or _sha256(path) != sha256
    ]


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
