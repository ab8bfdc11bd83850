"""Local copies of pictures that are no files of the collection's folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from visterm.collection.sources.listing import sidecar_names
from visterm.collection.sources.opening import filesystem
from visterm.collection.sources.shards import member_bytes
from visterm.collection.sources.unavailable import Unavailable, explained
from visterm.collection.store.urls import is_url, shard_of

MAX_BYTES = 256 << 20
"""The largest picture that is fetched."""
AT_ONCE = 16
"""Pictures on the way at the same time."""
_CHUNK = 1 << 20


def is_local(path: str, offset: int | None) -> bool:
    """Whether a picture is a file of the collection's folder, which is read where it lies."""
    return offset is None and not is_url(path)


def fetch(root: Path, path: str, size: int, offset: int | None, to: Path) -> None:
    """Copy a picture's bytes into a file of this machine; `Unavailable` says why it could not be.

    ``size`` is what its source says, -1 where it says nothing.
    """
    if size > MAX_BYTES:
        raise Unavailable(f"it has {size:,} bytes, more than the {MAX_BYTES:,} that are fetched")
    if offset is not None:
        to.write_bytes(member_bytes(root, shard_of(path) or path, offset, size))
        return
    download(path, to)
    if size >= 0 and to.stat().st_size != size:
        raise Unavailable("it changes while it is read", passing=True)


def fetch_sidecars(root: Path, path: str, sidecars: str, offset: int | None, to: Path) -> None:
    """Copy what lies beside a picture to beside its copy, under names made for it.

    ``sidecars`` is the stamp that its listing gives.
    """
    for one in sidecars.split():
        ending, size, place = one.split(":")
        if offset is not None:
            data = member_bytes(root, shard_of(path) or path, int(place), _few(int(size)))
            to.with_suffix(ending).write_bytes(data)
            continue
        folder, _, name = path.rpartition("/")
        for other, spelt in sidecar_names(name):
            if other == ending:
                copy = Path(str(to) + ending) if spelt == name + ending else to.with_suffix(ending)
                try:
                    _few(int(size))
                    download(f"{folder}/{spelt}", copy)
                except Unavailable as reason:
                    if reason.passing:
                        raise


def _few(size: int) -> int:
    if size > MAX_BYTES >> 5:
        raise Unavailable("what lies beside it is too large")
    return size


def download(url: str, to: Path) -> None:
    """Copy an object; a web server may go on for ever, so what it sends is counted."""
    with explained():
        files: Any = filesystem(url)
        if not url.startswith("http"):
            files.get_file(url, str(to))
            return
        got = 0
        with files.open(url, "rb", block_size=0) as source, to.open("wb") as copy:
            while data := source.read(_CHUNK):
                got += len(data)
                if got > MAX_BYTES:
                    raise Unavailable(f"it has more than {MAX_BYTES:,} bytes")
                copy.write(data)
