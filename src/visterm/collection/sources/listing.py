"""What every source lists: files with size and stamp, folder by folder, and what lies beside."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

BESIDE = (".xmp", ".txt")
"""Endings of sidecars."""
SHARD = ".tar"


@dataclass(frozen=True, slots=True)
class File:
    """A picture as its source lists it; ``sidecars`` changes when what lies beside it does.

    ``mtime_ns`` is a stamp: a file's time, or a number that changes with what a server says of the
    object. ``offset`` is where its bytes begin in a shard. ``listed`` is the table that lists it,
    ``caption`` what that says.
    """

    name: str
    size: int
    mtime_ns: int
    sidecars: str = ""
    offset: int | None = None
    caption: str | None = None
    listed: str | None = None


@dataclass(frozen=True)
class Listing:
    """One folder: its pictures, or the reason why it cannot be listed.

    ``folder`` is below the collection's folder, with slashes and "" for itself, or a URL; a shard
    is a folder. ``unusable`` are names with reasons, ``shards`` the tars that it holds.
    """

    folder: str
    mtime_ns: int = 0
    files: list[File] = field(default_factory=list)
    unusable: list[tuple[str, str]] = field(default_factory=list)
    problem: str | None = None
    shards: list[File] = field(default_factory=list)
    is_source: bool = False
    """Whether it is a shard, or the prefix that was asked for."""
    is_known: bool = False
    """Whether it is a shard with the stamp that it had before, which was not read again."""
    is_bare: bool = False
    """Whether nothing lies in it that visterm looks at, not even another folder."""


def join(folder: str, name: str) -> str:
    """A path below the root.

    >>> join("", "a.jpg"), join("sea", "a.jpg")
    ('a.jpg', 'sea/a.jpg')
    """
    return f"{folder}/{name}" if folder else name


def ending_of(name: str) -> str:
    """The ending of a name, in lower case."""
    return os.path.splitext(name)[1].lower()


def sidecar_names(name: str) -> Iterator[tuple[str, str]]:
    """The ending and the whole name of every file that may lie beside a picture as its sidecar."""
    for stem in (name, os.path.splitext(name)[0]):
        for ending in BESIDE:
            yield ending, stem + ending
            yield ending.upper(), stem + ending.upper()


def sidecar_stamp(name: str, beside: Mapping[str, tuple[int, int]]) -> str:
    """The sidecars of a picture with size and stamp, as one short text."""
    return " ".join(
        f"{ending}:{about[0]}:{about[1]}"
        for ending, spelt in sidecar_names(name)
        if (about := beside.get(spelt)) is not None
    )


def name_problem(name: str, *, is_ours: bool = False) -> str | None:
    """Why a name cannot be stored and shown: bytes that are no text come as lone surrogates, and
    one that somebody else gave must not steer a terminal."""
    if not name.isascii() and any("\ud800" <= character <= "\udfff" for character in name):
        return "its name is not valid text; rename it"
    if not is_ours and not name.isprintable():
        return "its name holds characters that cannot be printed"
    return None
