"""A power cut, played: what was changed and never synced is taken back, all of it or some.

A file's bytes last once the file was synced, its name once its folder was. That is what POSIX
promises; most file systems are kinder.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_HEADER = struct.Struct("c7x8q")
_OF_DATA = "wt"


@dataclass(frozen=True)
class Change:
    """One record of the journal that `shim.c` writes."""

    op: str
    inode: int
    folder: int
    offset: int
    """Where bytes were written, the new size, or the file that a rename replaced."""
    size: int
    path: str
    other: str
    old: bytes
    new: bytes


def cut_power(journal: Path, store: Path, seed: int | None = None) -> int:
    """Take back what was never synced; with a seed, only some of it. Returns how much was lost."""
    changes = list(_read(journal / "journal"))
    lost = _unsynced(changes)
    for change in reversed(lost):
        _take_back(change, journal)
    if seed is not None:
        dice = random.Random(seed)
        again = [change for change in lost if dice.random() < 0.5]
        for change in again:
            _do_again(change, journal)
        lost = [change for change in lost if change not in again]
    for shared in store.glob("*-shm"):  # memory, not a file: it does not outlive the machine
        shared.unlink()
    return len(lost)


def _read(path: Path) -> Iterator[Change]:
    content = path.read_bytes() if path.exists() else b""
    place = 0
    while place + _HEADER.size <= len(content):
        op, inode, folder, offset, size, *lengths = _HEADER.unpack_from(content, place)
        place += _HEADER.size
        old_bytes, new_bytes, path_bytes, other_bytes = lengths
        parts = []
        for length in (path_bytes, other_bytes, old_bytes, new_bytes):
            parts.append(content[place : place + length])
            place += length
        name, other, old, new = parts
        names = os.fsdecode(name), os.fsdecode(other)
        yield Change(op.decode(), inode, folder, offset, size, *names, old, new)


def _unsynced(changes: list[Change]) -> list[Change]:
    synced: set[int] = set()
    lost = []
    for change in reversed(changes):
        if change.op == "s":
            synced.add(change.inode)
        elif (change.inode if change.op in _OF_DATA else change.folder) not in synced:
            lost.append(change)
    return lost[::-1]


def _is(path: str, inode: int) -> bool:
    try:
        return os.lstat(path).st_ino == inode
    except OSError:
        return False


def _take_back(change: Change, journal: Path) -> None:
    kept = journal / str(change.inode)
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        if change.op == "w":
            _overwrite(kept, change.offset, change.old)
            if change.offset + len(change.new) > change.size:
                os.truncate(kept, change.size)
        elif change.op == "t":
            os.truncate(kept, change.size)
            _overwrite(kept, change.offset, change.old)
        elif change.op == "c" and _is(change.path, change.inode):
            os.unlink(change.path)
        elif change.op == "m":
            shutil.rmtree(change.path, ignore_errors=True)
        elif change.op == "d":
            os.makedirs(change.path, exist_ok=True)
        elif change.op == "u":
            _name_again(kept, change.path)
        elif change.op == "r" and _is(change.other, change.inode):
            os.rename(change.other, change.path)
            if change.offset:
                _name_again(journal / str(change.offset), change.other)


def _do_again(change: Change, journal: Path) -> None:
    kept = journal / str(change.inode)
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        if change.op == "w":
            _overwrite(kept, change.offset, change.new)
        elif change.op == "t":
            os.truncate(kept, change.offset)
        elif change.op == "c":
            _name_again(kept, change.path)
        elif change.op == "m":
            os.mkdir(change.path)
        elif change.op == "u" and _is(change.path, change.inode):
            os.unlink(change.path)
        elif change.op == "r" and _is(change.path, change.inode):
            os.replace(change.path, change.other)


def _overwrite(path: Path, offset: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(content)


def _name_again(kept: Path, path: str) -> None:
    if kept.exists() and not os.path.lexists(path):
        os.link(kept, path)
