"""Where a collection is: the folder of the pictures, and the folder that knows about them."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from visterm.collection.store.urls import is_url, normal_url
from visterm.errors import BadInput, VistermError
from visterm.files import make_folder, reason, sync_folder, write_whole
from visterm.quick_dataclass import dataclass

STORE = ".visterm"
CATALOGUE = "catalogue.sqlite"
ROOT = "root"
"""A file in a store that lies elsewhere: the pictures' folder."""


@dataclass(frozen=True)
class Location:
    """The folder of the pictures and the folder that knows about them."""

    root: Path
    store: Path

    @property
    def exists(self) -> bool:
        return os.path.exists(self.store / CATALOGUE)

    def holds(self, path: str | os.PathLike[str]) -> bool:
        """Whether a path lies in the folder of the pictures, or is that folder."""
        return below(self.root, path) is not None


def locate(
    folder: str | os.PathLike[str] = ".", store: str | os.PathLike[str] | None = None
) -> Location:
    """The collection that a folder is part of, or would be the beginning of.

    That is the nearest folder upwards that holds ``.visterm``; else the folder itself, with its
    store in ``.visterm``, or in the user's data directory where the folder cannot be written.
    """
    refused = BadInput(f"there is no folder {folder} that can be looked into")
    try:
        start = Path(os.path.abspath(folder))
    except OSError:  # the folder one stands in was deleted
        raise refused from None
    if not os.path.isdir(start):
        raise refused
    if store is not None:
        return _elsewhere(start, Path(os.path.abspath(store)))
    upwards = (start, *start.parents)
    for root in upwards:
        if os.path.exists(root / STORE / CATALOGUE):
            return Location(root, root / STORE)
    for root in upwards:
        if os.path.exists(_users(root) / CATALOGUE):
            return Location(root, _users(root))
    beside = start / STORE
    # Root may write everywhere, but not on a disk that is mounted read-only.
    writable = may_write(beside if beside.exists() else start)
    return Location(start, beside if writable else _users(start))


def may_write(path: Path) -> bool:
    """Whether this process may write a file or into a folder."""
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def is_unchanged(path: str | os.PathLike[str], size: int, mtime_ns: int) -> bool:
    """Whether a file still has the size and the time that it was read with."""
    try:
        now = os.stat(path)
    except OSError:
        return False
    return (now.st_size, now.st_mtime_ns) == (size, mtime_ns)


def below(root: Path, path: str | os.PathLike[str]) -> str | None:
    """A path as it is called below the collection's folder, with slashes; None for others.

    A URL is called what it is, unless it is that of a file below the folder.

    >>> below(Path("/pictures"), "/pictures/sea/boat.jpg"), below(Path("/pictures"), "/tmp")
    ('sea/boat.jpg', None)
    >>> below(Path("/pictures"), "file:///pictures/sea"), below(Path("/pictures"), "s3://sea/")
    ('sea', 's3://sea')
    """
    if isinstance(path, str) and is_url(path):
        url = normal_url(path)
        inside = below(root, url.removeprefix("file://")) if url.startswith("file://") else None
        return url if inside is None else inside
    # As it is written, links and all; else as it really lies, when the way to it was another.
    for real in (os.path.abspath, os.path.realpath):
        spelt, base = real(path), real(root)
        if spelt == base:
            return ""
        if spelt.startswith(os.path.join(base, "")):
            return spelt[len(os.path.join(base, "")) :].replace(os.sep, "/")
    return None


def make(where: Location) -> None:
    """Make the store of a new collection."""
    import shutil

    try:
        shutil.rmtree(_forgotten(where.store), ignore_errors=True)
        make_folder(where.store)
        if where.store.parent != where.root:
            write_whole(where.store / ROOT, os.fsencode(where.root))
    except VistermError as error:
        raise VistermError(f"{error}; or name another with --store") from error


def forget(store: Path) -> None:
    """Delete a store: all of it is there until one step, and nothing of it afterwards.

    What somebody leaves who is killed then goes with the next deletion, or when a store is made.
    """
    import shutil

    if store.is_symlink():
        real = os.path.realpath(store)
        raise VistermError(f"{store} is a link; nothing was deleted: delete {real}, then the link")
    gone = _forgotten(store)
    try:
        if gone.exists():
            shutil.rmtree(gone)
        os.replace(store, gone)
        sync_folder(store.parent)
        shutil.rmtree(gone)
    except OSError as error:
        raise VistermError(f"cannot delete {store}: {reason(error)}") from error


def _forgotten(store: Path) -> Path:
    return store.with_name(f".{store.name.lstrip('.')}.forgotten")


def _elsewhere(start: Path, store: Path) -> Location:
    try:
        root = Path(os.fsdecode((store / ROOT).read_bytes()))
    except OSError:
        return Location(store.parent if store.name == STORE else start, store)
    if start != root and root not in start.parents:
        raise BadInput(f"{store} is the store of {root}, and {start} is not inside that")
    return Location(root, store)


def _users(root: Path) -> Path:
    """The store of a folder that cannot be written, named so that a person can recognise it."""
    digest = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
    return _data_folder() / f"{root.name or 'root'}-{digest}"


def _data_folder() -> Path:
    from platformdirs import user_data_path

    return user_data_path("visterm", appauthor=False) / "collections"
