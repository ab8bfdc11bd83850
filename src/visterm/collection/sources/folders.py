"""Listing the picture files below a folder, folder by folder, in the order of names."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import replace

from visterm.collection.sources.listing import (
    BESIDE,
    SHARD,
    File,
    Listing,
    join,
    sidecar_names,
    sidecar_stamp,
    unusable_name,
)
from visterm.collection.store.location import STORE


def has_pictures(root: str | os.PathLike[str]) -> bool:
    """Whether there is a picture file or a shard in a folder or below it."""
    return any(listing.files or listing.shards for listing in walk(root))


def walk(root: str | os.PathLike[str], folder: str = "") -> Iterator[Listing]:
    """List ``folder`` below ``root`` and everything in it.

    Hidden files and folders are passed over, and so is visterm's own. Links are followed, but no
    folder is listed twice, so links that run in a circle end. Tars are named where a folder holds
    no picture of its own: then it is one of shards.

    >>> import pathlib, tempfile
    >>> root = pathlib.Path(tempfile.mkdtemp())
    >>> (root / "sea").mkdir(); _ = (root / "sea" / "boat.jpg").write_bytes(b"...")
    >>> [(at.folder, [file.name for file in at.files]) for at in walk(root)]
    [('', []), ('sea', ['boat.jpg'])]
    """
    seen: set[tuple[int, int]] = set()
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        path = os.path.join(root, here)
        try:
            about = os.stat(path)
            if (about.st_dev, about.st_ino) in seen:
                continue
            seen.add((about.st_dev, about.st_ino))
            listing, inner = _list(path, here, about.st_mtime_ns)
        except OSError as error:
            yield Listing(here, problem=_why(error))
            continue
        yield listing
        waiting += sorted(inner, reverse=True)


def list_folder(root: str | os.PathLike[str], folder: str) -> list[File]:
    """The pictures of one folder; none where it cannot be listed."""
    try:
        return _list(os.path.join(root, folder), folder, 0)[0].files
    except OSError:
        return []


def look(root: str | os.PathLike[str], folder: str, name: str) -> File | None:
    """One file, as its folder would list it; None where it is not a file."""
    path = os.path.join(root, folder, name)
    try:
        about = os.stat(path)
    except OSError:
        return None
    if not stat.S_ISREG(about.st_mode):
        return None
    beside = {}
    for _, spelt in sidecar_names(name):
        with contextlib.suppress(OSError):
            beside[spelt] = _size_and_time(os.stat(os.path.join(root, folder, spelt)))
    return File(name, *_size_and_time(about), sidecar_stamp(name, beside))


def _list(path: str, folder: str, mtime_ns: int) -> tuple[Listing, list[str]]:
    from visterm.pictures.decoding import SUPPORTED_EXTENSIONS

    listing, inner = Listing(folder, mtime_ns), []
    beside: dict[str, tuple[int, int]] = {}
    found: list[tuple[str, tuple[int, int]]] = []
    shards: list[File] = []
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.name.startswith(".") or entry.name == STORE:
                continue
            ending = os.path.splitext(entry.name)[1].lower()
            try:
                if entry.is_dir():
                    inner.append(join(folder, entry.name))
                elif ending in SUPPORTED_EXTENSIONS and entry.is_file():
                    found.append((entry.name, _size_and_time(entry.stat())))
                elif ending in BESIDE and entry.is_file():
                    beside[entry.name] = _size_and_time(entry.stat())
                elif ending == SHARD and entry.is_file():
                    shards.append(File(entry.name, *_size_and_time(entry.stat())))
            except OSError as error:
                listing.unusable.append((entry.name, _why(error)))
    if not found:
        listing.shards.extend(sorted(shards, key=lambda one: one.name))
    for name, about in sorted(found):
        reason = unusable_name(name + folder)
        if reason is None:
            stamp = sidecar_stamp(name, beside) if beside else ""
            listing.files.append(File(name, *about, stamp))
        else:
            listing.unusable.append((name, reason))
    is_bare = not (found or inner or shards or beside or listing.unusable)
    return replace(listing, is_bare=is_bare), inner


def _size_and_time(about: os.stat_result) -> tuple[int, int]:
    return about.st_size, about.st_mtime_ns


def _why(error: OSError) -> str:
    return (error.strerror or "it cannot be read").lower()
