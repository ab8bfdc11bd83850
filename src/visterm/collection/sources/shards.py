"""Tar shards as WebDataset writes them: pictures, and captions under the same key.

A shard is read header by header and nothing is ever unpacked: a picture is known by the place of
its bytes. Shards come from strangers, so every header is checked and none may ask for much memory.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from visterm.collection.sources.folders import look_at
from visterm.collection.sources.opening import (
    BESIDE,
    File,
    Listing,
    ending_of,
    explained,
    join,
    name_problem,
    opened_source,
)
from visterm.collection.store.urls import shard_of
from visterm.pictures.formats import Refused

CAPTIONS = (*BESIDE, ".json")
MAX_MEMBERS = 2_000_000
_MAX_HEADER = 1 << 20


def shard_listings(
    root: Path,
    location: str,
    stamps: Mapping[str, int],
    done: set[str],
    about: File | Refused | None = None,
) -> Iterator[Listing]:
    """The folders in a shard; a single listing where it has the stamp that it had before.

    ``about`` is the shard as its own folder lists it.
    """
    if location in done:
        return
    done.add(location)
    try:
        if shard_of(location) != location:
            raise Refused("a folder above it is called .tar as well; rename that")
        if about is None:
            folder, _, name = location.rpartition("/")
            about = look_at(root, folder, [name])[name]
        if isinstance(about, Refused):
            raise about
        if stamps.get(location) == about.mtime_ns:
            yield Listing(location, about.mtime_ns, is_source=True, is_known=True)
            return
        with opened_source(root, location, is_shard=True) as shard:
            members = _members(shard, location, about)
    except Refused as reason:
        yield Listing(location, problem=str(reason))
        return
    yield from members


class _Headers(io.RawIOBase):
    """A shard for tarfile, which must not be led to read more than a header at once."""

    def __init__(self, shard: BinaryIO) -> None:
        self.tell, self.seek, self._shard = shard.tell, shard.seek, shard  # type: ignore[method-assign]

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _MAX_HEADER:
            raise tarfile.ReadError("a header is too large")
        with explained():
            return self._shard.read(size)


def _members(shard: BinaryIO, location: str, about: File) -> list[Listing]:
    """The shard's folders, each with its pictures; an empty first one stands for the shard."""
    from visterm.pictures.formats import SUPPORTED_EXTENSIONS

    top = Listing(location, about.mtime_ns, is_source=True)
    folders, pictures = {location: top}, list[tuple[str, str, int, int]]()
    captions: dict[str, dict[str, str]] = {}
    seen: set[str] = set()
    try:
        for member in _headers(shard, about.size):
            ending, problem = ending_of(member.name), _problem(member, about.size)
            path = "/".join(PurePosixPath(member.name).parts)
            if ending in CAPTIONS and problem is None:
                where = f"{ending}:{member.size}:{member.offset_data}"
                captions.setdefault(_key(path), {})[ending] = where
            if ending not in SUPPORTED_EXTENSIONS or member.isdir():
                continue
            if path in seen:
                problem = problem or "the shard holds another member of this name"
            if problem is not None:
                top.unusable.append((_shown(path), problem))
            elif not any(part.startswith(".") for part in path.split("/")):
                seen.add(path)
                pictures.append((path, _key(path), member.size, member.offset_data))
    except Refused as reason:
        # Members before the damage are whole; what comes after it nobody can find.
        if reason.passing:
            raise
        top.unusable.append(("", str(reason)))
    for path, key, size, offset in pictures:
        inside, _, name = path.rpartition("/")
        folder = join(location, inside) if inside else location
        beside = " ".join(captions.get(key, {}).values())
        at = folders.setdefault(folder, Listing(folder, about.mtime_ns))
        at.files.append(File(name, size, about.mtime_ns, beside, offset))
    return list(folders.values())


def _headers(shard: BinaryIO, size: int) -> Iterator[tarfile.TarInfo]:
    """Members up to the end of the shard, or to the one in which it is cut short."""
    last = -1
    try:
        tar = tarfile.TarFile(fileobj=_Headers(shard), mode="r", errorlevel=0)
        for _ in range(MAX_MEMBERS):
            member = tar.next()
            if member is None:
                if last < 0 or size < 0 or tar.offset + tarfile.BLOCKSIZE <= size:
                    return
                raise tarfile.ReadError("no end")
            tar.members = []  # type: ignore[attr-defined] # it would keep them all
            if member.offset <= last or member.size < 0:
                raise tarfile.ReadError("its headers run in a circle")
            last = member.offset
            yield member
            if 0 <= size < member.offset_data + member.size:
                return
    except tarfile.ReadError as error:
        what = "it is no tar" if last < 0 else "the shard is cut short or broken from here on"
        raise Refused(f"{what} ({error})") from None
    except (tarfile.TarError, ValueError, RecursionError, OverflowError) as error:
        raise Refused(f"the shard is broken from here on ({type(error).__name__})") from None
    raise Refused(f"it has more than {MAX_MEMBERS:,} members")


def _problem(member: tarfile.TarInfo, size: int) -> str | None:
    """Why a member cannot be a picture: it plays tricks, or does not lie whole in the shard."""
    parts = PurePosixPath(member.name).parts
    if not member.isreg() or member.issparse():
        return "it is not a plain file"
    if ".." in parts or member.name.startswith("/") or "\\" in member.name or not parts:
        return "its path leads out of the shard"
    if 0 <= size < member.offset_data + member.size:
        return "the shard is cut short in it"
    return name_problem(member.name)


def _key(path: str) -> str:
    """The key of a sample: its path up to the first dot of its name.

    >>> _key("sea/0001.jpg"), _key("sea/0001.left.JPG")
    ('sea/0001', 'sea/0001')
    """
    folder, _, name = path.rpartition("/")
    return join(folder, name.partition(".")[0])


def _shown(name: str) -> str:
    """A name that may hold anything, for people."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name)[:200]
