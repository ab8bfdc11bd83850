"""The table of contents of an index: the only file whose replacement changes anything.

Every other file is written once, under a new name, and never touched again; a manifest names the
ones that count. It is written whole and takes the old one's place in one step, so a reader sees the
state before a change or after it, and a kill at any moment leaves the last committed one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from visterm.errors import VistermError
from visterm.files import write_whole

FORMAT = 2
"""Until 1, columns had another layout (`old_layout`)."""
NAME = "manifest.json"
MOST_WORDS = 1 << 24
"""More than any language has; addresses of so many columns still fit the memory."""


@dataclass(frozen=True)
class Record:
    """What a file must be: its size and the SHA-256 of its bytes."""

    size: int
    sha256: str


@dataclass(frozen=True)
class Group:
    """A file of the values of some words, given as ranges (first, stop)."""

    file: str
    ranges: tuple[tuple[int, int], ...]
    layout: int = 1
    """How columns lie in it; groups written before there was a choice do not say."""

    @cached_property
    def words(self) -> list[int]:
        """The words, in the order in which their values lie in the file."""
        return [word for first, stop in self.ranges for word in range(first, stop)]


@dataclass(frozen=True)
class Segment:
    """Up to a million pictures; a word's last group speaks for it."""

    pictures: int
    removed: int
    first_id: int
    ids: str | None
    """The file of the ids; none where they follow each other from ``first_id``."""
    alive: str | None
    """The file of one byte a picture, 0 where it was removed; none where all are alive."""
    groups: tuple[Group, ...]
    order: str | None = None
    """The file of the positions in ascending order of id; none where pictures lie in that order."""

    def files(self) -> Iterator[str]:
        yield from (name for name in (self.ids, self.alive, self.order) if name is not None)
        yield from (group.file for group in self.groups)

    @property
    def laid(self) -> tuple[object, ...]:
        """What says which pictures lie where; others may have other values of the same pictures."""
        return self.pictures, self.first_id, self.ids, self.alive, self.order


@dataclass(frozen=True)
class Manifest:
    """One committed state of an index."""

    kind: str
    words: int
    version: int = 0
    next_id: int = 0
    segments: tuple[Segment, ...] = ()
    files: dict[str, Record] = field(default_factory=dict)

    @property
    def pictures(self) -> int:
        """How many pictures are alive."""
        return sum(segment.pictures - segment.removed for segment in self.segments)

    @property
    def laid(self) -> tuple[object, ...]:
        """The same for all states, of any index, whose pictures lie in the same places."""
        hashes = {None: None} | {name: record.sha256 for name, record in self.files.items()}
        return tuple(
            (one.pictures, one.first_id, *map(hashes.get, (one.ids, one.alive, one.order)))
            for one in self.segments
        )


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Commit a state: from here on, this is what the folder holds."""
    groups = [[_fields(group) for group in segment.groups] for segment in manifest.segments]
    pairs = zip(manifest.segments, groups, strict=True)
    content = {
        "format": FORMAT,
        **_fields(manifest),
        "segments": [{**_fields(segment), "groups": some} for segment, some in pairs],
        "files": {name: _fields(record) for name, record in manifest.files.items()},
    }
    write_whole(folder / NAME, json.dumps({**content, "sha256": _hash(content)}).encode())


def read_manifest(folder: Path) -> Manifest:
    """The last committed state of the index in a folder."""
    path = folder / NAME
    try:
        return _read(folder, path.read_bytes())
    except FileNotFoundError:
        raise VistermError(f"{folder} holds no index; make one with create") from None
    except OSError as error:
        raise VistermError(f"{path} cannot be read ({error}); build the index again") from error


@lru_cache(maxsize=8)
def _read(folder: Path, content: bytes) -> Manifest:
    """What a file says; whoever clicks or searches asks several times for the same."""
    path = folder / NAME
    try:
        written = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise VistermError(f"{path} cannot be read ({error}); build the index again") from error
    found = written.get("format") if isinstance(written, dict) else None
    if isinstance(found, int) and found > FORMAT:
        raise VistermError(f"{folder} was written by a newer visterm; install that one to use it")
    try:
        if written.pop("sha256") != _hash(written):
            raise ValueError("its hash is another")
        return _from_json(written)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise VistermError(f"{path} is damaged ({error!r}); build the index again") from error


def _fields(thing: Group | Segment | Manifest | Record) -> dict[str, Any]:
    """As `dataclasses.asdict`, which copies all that is below as well."""
    return {field.name: getattr(thing, field.name) for field in fields(thing)}


def _hash(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _from_json(written: dict[str, Any]) -> Manifest:
    segments = tuple(
        Segment(**{**segment, "groups": tuple(map(_group, segment["groups"]))})
        for segment in written["segments"]
    )
    files = {name: Record(**record) for name, record in written["files"].items()}
    rest = {name: written[name] for name in ("kind", "words", "version", "next_id")}
    found = Manifest(**rest, segments=segments, files=files)
    _check_kinds(found)
    return found


def _check_kinds(manifest: Manifest) -> None:
    """JSON may hold anything in any place; a number that is none would be met much later."""
    numbers = [manifest.words, manifest.version, manifest.next_id]
    names: list[object] = [manifest.kind]
    for segment in manifest.segments:
        numbers += [segment.pictures, segment.removed, segment.first_id]
        names += segment.files()
        for group in segment.groups:
            numbers += [group.layout, *(edge for ends in group.ranges for edge in ends)]
    for record in manifest.files.values():
        numbers.append(record.size)
        names.append(record.sha256)
    if not all(type(number) is int and 0 <= number < 1 << 63 for number in numbers):
        raise TypeError("a number of it is none")
    if manifest.words > MOST_WORDS:
        raise ValueError(f"it has {manifest.words:,} words, more than {MOST_WORDS:,}")
    for first, stop in (ends for one in manifest.segments for g in one.groups for ends in g.ranges):
        if not first <= stop <= manifest.words:
            raise ValueError("it has values of words that there are none of")
    if not all(isinstance(name, str) for name in names):
        raise TypeError("a name of it is none")
    if {*manifest.files} != {name for one in manifest.segments for name in one.files()}:
        raise ValueError("its files are not those of its segments")


def _group(written: dict[str, Any]) -> Group:
    ranges = tuple((first, stop) for first, stop in written["ranges"])
    return Group(written["file"], ranges, written.get("layout", 1))
