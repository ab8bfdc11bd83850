"""Files as sources list them, folder by folder, and their bytes.

These lie on this machine or, through fsspec, elsewhere; `Refused` says why they cannot be had.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from visterm.collection.store.urls import is_url, shard_of
from visterm.errors import BadInput, VistermError, needs_extra
from visterm.pictures.formats import Refused, opened

BESIDE = (".xmp", ".txt")
"""Endings of sidecars."""
SHARD = ".tar"
MAX_BYTES = 256 << 20
"""The largest picture that is fetched."""
AT_ONCE = 16
"""Pictures on the way at the same time."""
_MAX_SIDECAR = MAX_BYTES >> 5
_CHUNK = 1 << 20
_AHEAD = 4 << 20
"""Bytes that are read at once of a shard that lies elsewhere."""
_EXTRAS = {"gs": "gcs", "gcs": "gcs"}
_NO_RANGES = ("range requests", "more bytes")


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


@contextmanager
def explained() -> Iterator[None]:
    """Whatever comes from file systems of others, as `Refused`."""
    try:
        yield
    except (Refused, VistermError):
        raise
    except FileNotFoundError:
        raise Refused("no such file") from None
    except PermissionError:
        raise Refused("no permission to read it", passing=True) from None
    except Exception as error:  # every file system has its own errors, and libraries below it
        message = " ".join(str(error).split())
        if any(sign in message for sign in _NO_RANGES):
            raise Refused("its server gives no byte ranges, which shards need") from None
        kind = type(error).__name__
        about = f"{kind}: {message[:120]}" if message else kind
        raise Refused(f"it cannot be reached ({about})", passing=True) from None


def filesystem(url: str) -> Any:
    """The file system that reads a URL; credentials and endpoints are its own business."""
    scheme = url.partition("://")[0]
    with needs_extra(_EXTRAS.get(scheme, "cluster"), f"{scheme}:// is read through fsspec"):
        from fsspec.core import url_to_fs

        try:
            return url_to_fs(url)[0]
        except ValueError as error:
            raise BadInput(f"{url}: {error}") from None


@contextmanager
def opened_source(root: Path, location: str, *, is_shard: bool = False) -> Iterator[Any]:
    """A shard or table, open for reading from any place; `Refused` says why not."""
    if not is_url(location):
        with opened(root / location) as file:
            yield file
        return
    how = {"block_size": _AHEAD, "cache_type": "readahead"} if is_shard else {}
    with explained():
        file = filesystem(location).open(location, "rb", **how)
    with file:
        if is_shard:
            with explained():  # a server that gives no ranges would send all of it
                file.seek(1)
                file.read(1)
                file.seek(0)
        yield file


def is_local(path: str, offset: int | None) -> bool:
    """Whether a picture is a file of the collection's folder, which is read where it lies."""
    return offset is None and not is_url(path)


def fetch(root: Path, path: str, size: int, offset: int | None, to: Path) -> None:
    """Copy a picture's bytes into a file of this machine; `Refused` says why it could not be.

    ``size`` is what its source says, -1 where it says nothing.
    """
    if size > MAX_BYTES:
        raise Refused(f"it has {size:,} bytes, more than the {MAX_BYTES:,} that are fetched")
    if offset is not None:
        to.write_bytes(_member_bytes(root, shard_of(path) or path, offset, size))
        return
    download(path, to)
    if size >= 0 and to.stat().st_size != size:
        raise Refused("it changes while it is read", passing=True)


def fetch_sidecars(root: Path, path: str, sidecars: str, offset: int | None, to: Path) -> None:
    """Copy what lies beside a picture to beside its copy, under names made for it.

    ``sidecars`` is the stamp that its listing gives. What is too large is no caption.
    """
    folder, _, name = path.rpartition("/")
    for ending, size, place in (sidecar.split(":") for sidecar in sidecars.split()):
        if int(size) > _MAX_SIDECAR:
            continue
        if offset is not None:
            data = _member_bytes(root, shard_of(path) or path, int(place), int(size))
            to.with_suffix(ending).write_bytes(data)
            continue
        for spelt in (spelt for other, spelt in sidecar_names(name) if other == ending):
            copy = Path(str(to) + ending) if spelt == name + ending else to.with_suffix(ending)
            try:
                download(f"{folder}/{spelt}", copy)
            except Refused as reason:
                if reason.passing:
                    raise


def _member_bytes(root: Path, shard: str, offset: int, size: int) -> bytes:
    """The bytes of one member of a shard."""
    if is_url(shard):
        with explained():
            data = bytes(filesystem(shard).cat_file(shard, start=offset, end=offset + size))
    else:
        with opened_source(root, shard) as file:
            file.seek(offset)
            data = file.read(size)
    if len(data) != size:
        raise Refused("the shard is cut short in it")
    return data


def download(url: str, to: Path) -> None:
    """Copy an object; a web server may go on for ever, so what it sends is counted."""
    with explained():
        files = filesystem(url)
        if not url.startswith("http"):
            files.get_file(url, str(to))
            return
        left = MAX_BYTES
        with files.open(url, "rb", block_size=0) as source, to.open("wb") as copy:
            while data := source.read(_CHUNK):
                left -= len(data)
                if left < 0:
                    raise Refused(f"it has more than {MAX_BYTES:,} bytes")
                copy.write(data)
