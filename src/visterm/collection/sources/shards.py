"""Tar shards as WebDataset writes them: pictures, and captions under the same key.

A shard is read header by header and nothing is ever unpacked: a picture is known by the place of
its bytes. Shards come from strangers, so every header is checked and none may ask for much memory.
"""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from visterm.collection.sources.listing import BESIDE, File, Listing, join, strange_name
from visterm.collection.sources.opening import filesystem, opened_source
from visterm.collection.sources.unavailable import Unavailable, explained
from visterm.collection.store.urls import is_url, shard_of

CAPTIONS = (*BESIDE, ".json")
MAX_MEMBERS = 2_000_000
_MAX_HEADER = 1 << 20
_AHEAD = 4 << 20
"""Bytes that are read at once of a shard that lies elsewhere."""


def shard_listings(
    root: Path,
    location: str,
    stamps: Mapping[str, int],
    done: set[str],
    about: File | None = None,
) -> Iterator[Listing]:
    """The folders in a shard; a single listing where it has the stamp that it had before.

    ``about`` is the shard as its own folder lists it.
    """
    if location in done:
        return
    done.add(location)
    try:
        if shard_of(location) != location:
            raise Unavailable("a folder above it is called .tar as well; rename that")
        about = _look(root, location) if about is None else about
        if stamps.get(location) == about.mtime_ns:
            yield Listing(location, about.mtime_ns, is_source=True, is_known=True)
            return
        with opened_shard(root, location) as shard:
            found = _members(shard, location, about)
    except Unavailable as reason:
        yield Listing(location, problem=str(reason))
        return
    yield from found


@contextmanager
def opened_shard(root: Path, location: str) -> Iterator[BinaryIO]:
    """A shard, open for reading from any place."""
    with opened_source(root, location, block_size=_AHEAD, cache_type="readahead") as shard:
        with explained():
            shard.seek(1)  # a server that gives no ranges would send all of it from the beginning
            shard.read(1)
            shard.seek(0)
        yield shard


def _look(root: Path, location: str) -> File:
    from visterm.collection.sources import look_at

    folder, _, name = location.rpartition("/")
    found = look_at(root, folder, [name])[name]
    if isinstance(found, Unavailable):
        raise found
    return found


class _Headers(io.RawIOBase):
    """A shard for tarfile, which must not be led to read more than a header at once."""

    def __init__(self, shard: BinaryIO) -> None:
        self._shard = shard

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._shard.tell()

    def seek(self, place: int, whence: int = 0) -> int:
        return self._shard.seek(place, whence)

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _MAX_HEADER:
            raise tarfile.ReadError("a header is too large")
        with explained():
            return self._shard.read(size)


def _members(shard: BinaryIO, location: str, about: File) -> list[Listing]:
    """The shard's folders, each with its pictures; an empty first one stands for the shard."""
    top = Listing(location, about.mtime_ns, is_source=True)
    folders, pictures = {location: top}, []
    captions: dict[str, dict[str, str]] = {}
    seen: set[str] = set()
    try:
        for member in _regular(shard, about.size, top):
            path = _inside(member, top)
            if path is None or path in seen:
                if path is not None:
                    top.unusable.append((path, "the shard holds another member of this name"))
                continue
            seen.add(path)
            key, ending = _key(path)
            if ending in CAPTIONS:
                where = f"{ending}:{member.size}:{member.offset_data}"
                captions.setdefault(key, {})[ending] = where
            elif _is_picture(ending):
                pictures.append((path, key, member.size, member.offset_data))
    except Unavailable as reason:
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


def _regular(shard: BinaryIO, size: int, top: Listing) -> Iterator[tarfile.TarInfo]:
    """The members that are files and lie whole in the shard."""
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
            if not member.isreg() or member.issparse():
                if _is_picture(os.path.splitext(member.name)[1].lower()) and not member.isdir():
                    top.unusable.append((_shown(member.name), "it is not a plain file"))
                continue
            if size >= 0 and member.offset_data + member.size > size:
                top.unusable.append((_shown(member.name), "the shard is cut short in it"))
                return
            yield member
    except Unavailable:
        raise
    except tarfile.ReadError as error:
        what = "it is no tar" if last < 0 else "the shard is cut short or broken from here on"
        raise Unavailable(f"{what} ({error})") from None
    except (tarfile.TarError, ValueError, RecursionError, OverflowError) as error:
        raise Unavailable(f"the shard is broken from here on ({type(error).__name__})") from None
    raise Unavailable(f"it has more than {MAX_MEMBERS:,} members")


def _inside(member: tarfile.TarInfo, top: Listing) -> str | None:
    """The path of a member as it is called in the shard; None for one that plays tricks."""
    parts = PurePosixPath(member.name).parts
    path = "/".join(parts)
    reason = strange_name(path)
    if ".." in parts or path.startswith("/") or "\\" in path or not parts:
        reason = "its path leads out of the shard"
    if reason is None:
        hidden = any(part.startswith(".") for part in parts)
        return None if hidden else path
    top.unusable.append((_shown(path), reason))
    return None


def _key(path: str) -> tuple[str, str]:
    """The key of a sample and the ending of a member: what comes before and after the first dot.

    >>> _key("sea/0001.jpg"), _key("sea/0001.left.JPG")
    (('sea/0001', '.jpg'), ('sea/0001', '.jpg'))
    """
    folder, _, name = path.rpartition("/")
    stem = name.partition(".")[0]
    return join(folder, stem), os.path.splitext(name)[1].lower()


def _is_picture(ending: str) -> bool:
    from visterm.pictures.decoding import SUPPORTED_EXTENSIONS

    return ending in SUPPORTED_EXTENSIONS


def _shown(name: str) -> str:
    """A name that may hold anything, for people."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in name)[:200]


def member_bytes(root: Path, location: str, offset: int, size: int) -> bytes:
    """The bytes of one member."""
    if is_url(location):
        with explained():
            data: Any = filesystem(location).cat_file(location, start=offset, end=offset + size)
    else:
        with opened_shard(root, location) as shard:
            shard.seek(offset)
            data = shard.read(size)
    if len(data) != size:
        raise Unavailable("the shard is cut short in it")
    return bytes(data)
