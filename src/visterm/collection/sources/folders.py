"""What a path or URL is, and the pictures below a folder or prefix, in order of names."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from visterm.collection.sources.opening import (
    AT_ONCE,
    BESIDE,
    SHARD,
    File,
    Listing,
    ending_of,
    explained,
    filesystem,
    join,
    name_problem,
    sidecar_names,
    sidecar_stamp,
)
from visterm.collection.store.location import STORE
from visterm.collection.store.urls import is_url
from visterm.pictures.formats import Refused

FOLDER = "folder"
SHARDS = "shard"
TABLE = "table"
FILE = "file"
TABLES = (".parquet", ".pq", ".csv", ".tsv", ".tab", ".jsonl", ".ndjson")
MAX_DEPTH = 32
"""Folders below a prefix of others, which may have no end."""
_MARKS = ("ETag", "etag", "md5Hash", "generation", "Content-MD5", "LastModified", "Last-Modified")
_TIMES = ("mtime", "updated", "created")


class _Entry(NamedTuple):
    """What lies in a folder: another one, or a file that visterm looks at."""

    name: str
    is_folder: bool = False
    facts: tuple[int, int] = (-1, 0)
    """Size and stamp of a file."""
    problem: str | None = None


def kind_of(root: Path, path: str) -> str:
    """What a path or URL is: a folder or prefix, a shard, a table, or one picture.

    >>> kind_of(Path("/"), "s3://archive/sea"), kind_of(Path("/"), "s3://archive/sea.csv")
    ('folder', 'table')
    """
    if not is_url(path) and os.path.isdir(root / path):
        return FOLDER
    ending = ending_of(os.fspath(path))
    if ending == SHARD:
        return SHARDS
    if ending in TABLES:
        return TABLE
    from visterm.pictures.formats import SUPPORTED_EXTENSIONS

    return FOLDER if is_url(path) and ending not in SUPPORTED_EXTENSIONS else FILE


def is_container(path: str | os.PathLike[str]) -> bool:
    """Whether pictures are in this, wherever the collection is: a URL, a shard or a table."""
    if is_url(path):
        return True
    ending = ending_of(os.fspath(path))
    return (ending == SHARD or ending in TABLES) and not os.path.isdir(path)


def listings(
    root: Path, scope: str, stamps: Mapping[str, int], done: set[str]
) -> Iterator[Listing]:
    """A folder, prefix or shard, and everything in it.

    ``stamps`` are those of shards when they were listed before; ``done`` are the shards that need
    not be listed, and gets those that were.
    """
    from visterm.collection.sources.shards import shard_listings

    if kind_of(root, scope) == SHARDS:
        yield from shard_listings(root, scope, stamps, done)
        return
    for listing in walk(root, scope):
        yield listing
        for shard in listing.shards:
            path = join(listing.folder, shard.name)
            yield from shard_listings(root, path, stamps, done, shard)


def has_pictures(root: str | os.PathLike[str]) -> bool:
    """Whether there is a picture file or a shard in a folder or below it."""
    return any(listing.files or listing.shards for listing in walk(root))


def walk(root: str | os.PathLike[str], scope: str = "") -> Iterator[Listing]:
    """List a folder below ``root``, or a prefix elsewhere, and everything in it.

    Hidden files and folders are passed over, and so is visterm's own. Links are followed, but no
    folder is listed twice, so links that run in a circle end. Tars are named where a folder of this
    machine holds no picture of its own: then it is one of shards.

    >>> import tempfile
    >>> root = Path(tempfile.mkdtemp())
    >>> (root / "sea").mkdir(); _ = (root / "sea" / "boat.jpg").write_bytes(b"...")
    >>> [(at.folder, [file.name for file in at.files]) for at in walk(root)]
    [('', []), ('sea', ['boat.jpg'])]
    """
    seen: set[tuple[int, int]] = set()
    waiting = [scope]
    if is_url(scope):
        filesystem(scope).invalidate_cache()
    while waiting:
        here = waiting.pop()
        try:
            if is_url(scope):
                if here.count("/") - scope.count("/") > MAX_DEPTH:
                    raise Refused(f"it lies more than {MAX_DEPTH} folders deep")
                entries, stamp = list(_remote_entries(here)), 0
            else:
                path = os.path.join(root, here)
                about = os.stat(path)
                if (about.st_dev, about.st_ino) in seen:
                    continue
                seen.add((about.st_dev, about.st_ino))
                entries, stamp = list(_local_entries(path)), about.st_mtime_ns
        except (Refused, OSError) as error:
            yield Listing(here, problem=_why(error))
            continue
        yield _listing(here, stamp, entries, is_source=is_url(scope) and here == scope)
        inner = (join(here, entry.name) for entry in entries if entry.is_folder)
        waiting += sorted(inner, reverse=True)


def list_folder(root: str | os.PathLike[str], folder: str) -> list[File]:
    """The pictures of one folder of this machine; none where it cannot be listed."""
    try:
        return _listing(folder, 0, list(_local_entries(os.path.join(root, folder)))).files
    except OSError:
        return []


def look_at(root: Path, folder: str, names: Iterable[str]) -> dict[str, File | Refused]:
    """Single files of a folder, as it would list them, or why they cannot be had; those elsewhere
    without sidecars."""
    asked = list(dict.fromkeys(names))
    if not is_url(folder):
        return {name: _look_here(os.path.join(root, folder), name) for name in asked}

    def look(name: str) -> File | Refused:
        try:
            with explained():
                return File(name, *_facts(filesystem(folder).info(f"{folder}/{name}")))
        except Refused as reason:
            return reason

    from concurrent.futures import ThreadPoolExecutor  # which folders of this machine never need

    with ThreadPoolExecutor(AT_ONCE) as several:
        return dict(zip(asked, several.map(look, asked), strict=True))


def _look_here(folder: str, name: str) -> File | Refused:
    try:
        about = os.stat(os.path.join(folder, name))
    except OSError:
        return Refused("no such file")
    if not stat.S_ISREG(about.st_mode):
        return Refused("no such file")
    beside = {}
    for _, spelt in sidecar_names(name):
        with contextlib.suppress(OSError):
            other = os.stat(os.path.join(folder, spelt))
            beside[spelt] = other.st_size, other.st_mtime_ns
    return File(name, about.st_size, about.st_mtime_ns, sidecar_stamp(name, beside))


def _local_entries(path: str) -> Iterator[_Entry]:
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.name.startswith(".") or entry.name == STORE:
                continue
            try:
                if entry.is_dir():
                    yield _Entry(entry.name, is_folder=True)
                elif is_looked_at(entry.name) and entry.is_file():
                    about = entry.stat()
                    yield _Entry(entry.name, facts=(about.st_size, about.st_mtime_ns))
            except OSError as error:
                yield _Entry(entry.name, problem=_why(error))


def _remote_entries(url: str) -> Iterator[_Entry]:
    files = filesystem(url)
    own = files._strip_protocol(url).rstrip("/")
    with explained():  # a web server lists a folder where its address ends with a slash
        entries = files.ls(url + "/" if url.startswith("http") else url, detail=True)
    unsized = []
    for entry in entries:
        name = entry["name"].rstrip("/").rpartition("/")[2]
        # Object stores may hold an empty object that stands for the folder.
        if not name or name.startswith(".") or entry["name"].rstrip("/") == own:
            continue
        if entry["type"] == "directory":
            yield _Entry(name, is_folder=True)
        elif is_looked_at(name) and entry.get("size") is None:
            unsized.append(name)
        elif is_looked_at(name):
            yield _Entry(name, facts=_facts(entry))
    # A web server's listing says nothing of files, so it is asked for each.
    for name, file in look_at(Path(), url, unsized).items() if unsized else ():
        if isinstance(file, Refused):
            yield _Entry(name, problem=str(file))
        else:
            yield _Entry(name, facts=(file.size, file.mtime_ns))


def _facts(about: Mapping[str, Any]) -> tuple[int, int]:
    """The size of an object, -1 where nobody says it, and a number that changes when it does."""
    mark = next((about[name] for name in (*_MARKS, *_TIMES) if about.get(name)), "")
    digest = hashlib.sha256(str(mark).encode()).digest()
    size = about.get("size")
    return -1 if size is None else int(size), int.from_bytes(digest[:8], "big") >> 1


def _listing(folder: str, stamp: int, entries: list[_Entry], *, is_source: bool = False) -> Listing:
    listing = Listing(folder, stamp, is_source=is_source, is_bare=not entries)
    is_ours, facts = not is_url(folder), dict[str, tuple[int, int]]()
    for entry in sorted(entry for entry in entries if not entry.is_folder):
        problem = entry.problem
        if problem is None and not (is_ours and ending_of(entry.name) in (*BESIDE, SHARD)):
            problem = name_problem(entry.name + folder if is_ours else entry.name, is_ours=is_ours)
        if problem is None:
            facts[entry.name] = entry.facts
        else:
            listing.unusable.append((entry.name, problem))
    has_sidecars = any(ending_of(name) in BESIDE for name in facts)
    for name, about in facts.items():
        if ending_of(name) == SHARD:
            listing.shards.append(File(name, *about))
        elif ending_of(name) not in BESIDE:
            stamp_beside = sidecar_stamp(name, facts) if has_sidecars else ""
            listing.files.append(File(name, *about, stamp_beside))
    if is_ours and listing.files:
        listing.shards.clear()
    return listing


def is_looked_at(name: str) -> bool:
    """Whether a name is that of a picture, of a sidecar or of a shard."""
    from visterm.pictures.formats import SUPPORTED_EXTENSIONS

    ending = ending_of(name)
    return ending in SUPPORTED_EXTENSIONS or ending in BESIDE or ending == SHARD


def _why(error: Exception) -> str:
    if isinstance(error, Refused):
        return str(error)
    return (getattr(error, "strerror", None) or "it cannot be read").lower()
