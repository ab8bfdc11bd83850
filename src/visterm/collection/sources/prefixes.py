"""Listing prefixes of object stores and web servers through fsspec."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from visterm.collection.sources.contents import AT_ONCE
from visterm.collection.sources.listing import (
    BESIDE,
    SHARD,
    File,
    Listing,
    sidecar_names,
    sidecar_stamp,
    strange_name,
)
from visterm.collection.sources.opening import filesystem
from visterm.collection.sources.unavailable import Unavailable, explained

MAX_DEPTH = 32
_MARKS = ("ETag", "etag", "md5Hash", "generation", "Content-MD5", "LastModified", "Last-Modified")
_TIMES = ("mtime", "updated", "created")


def walk(url: str) -> Iterator[Listing]:
    """List a prefix and everything below it, folder by folder, in the order of names."""
    files = filesystem(url)
    files.invalidate_cache()
    waiting = [url]
    while waiting:
        here = waiting.pop()
        try:
            if here.count("/") - url.count("/") > MAX_DEPTH:
                raise Unavailable(f"it lies more than {MAX_DEPTH} folders deep")
            with explained():
                entries = files.ls(_as_folder(here), detail=True)
            listing, inner = _list(files, here, entries, is_source=here == url)
        except Unavailable as reason:
            yield Listing(here, problem=str(reason))
            continue
        yield listing
        waiting += sorted(inner, reverse=True)


def look(urls: Iterable[str]) -> dict[str, File | Unavailable]:
    """Objects by their URLs, as their folders would list them, but without sidecars."""
    asked = list(dict.fromkeys(urls))

    def one(url: str) -> File | Unavailable:
        try:
            with explained():
                about = filesystem(url).info(url)
            return File(url.rpartition("/")[2], *size_and_stamp(about))
        except Unavailable as reason:
            return reason

    with ThreadPoolExecutor(AT_ONCE) as several:
        return dict(zip(asked, several.map(one, asked), strict=True))


def size_and_stamp(about: Mapping[str, Any]) -> tuple[int, int]:
    """The size of an object, -1 where nobody says it, and a number that changes when it does."""
    mark = next((about[name] for name in (*_MARKS, *_TIMES) if about.get(name)), "")
    digest = hashlib.sha256(str(mark).encode()).digest()
    size = about.get("size")
    return -1 if size is None else int(size), int.from_bytes(digest[:8], "big") >> 1


def _as_folder(url: str) -> str:
    """A web server lists a folder where its address ends with a slash."""
    return url + "/" if url.startswith("http") else url


def _list(
    files: Any, folder: str, entries: list[dict[str, Any]], *, is_source: bool
) -> tuple[Listing, list[str]]:
    from visterm.pictures.decoding import SUPPORTED_EXTENSIONS

    listing = Listing(folder, is_source=is_source)
    inner: list[str] = []
    found: dict[str, Mapping[str, Any]] = {}
    for entry in entries:
        name = entry["name"].rstrip("/").rpartition("/")[2]
        if not name or name.startswith(".") or _is_itself(files, entry, folder):
            continue
        ending = os.path.splitext(name)[1].lower()
        if entry["type"] == "directory":
            inner.append(f"{folder}/{name}")
        elif ending in SUPPORTED_EXTENSIONS or ending in (*BESIDE, SHARD):
            reason = strange_name(name)
            if reason is None:
                found[name] = entry
            else:
                listing.unusable.append((name, reason))
    facts = _facts(files, folder, found, listing)
    for name in sorted(facts):
        ending = os.path.splitext(name)[1].lower()
        if ending == SHARD:
            listing.shards.append(File(name, *facts[name]))
        elif ending in SUPPORTED_EXTENSIONS:
            beside = {spelt: facts[spelt] for _, spelt in sidecar_names(name) if spelt in facts}
            listing.files.append(File(name, *facts[name], sidecar_stamp(name, beside)))
    return listing, inner


def _is_itself(files: Any, entry: Mapping[str, Any], folder: str) -> bool:
    """Object stores may hold an empty object that stands for the folder."""
    return bool(entry["name"].rstrip("/") == files._strip_protocol(folder).rstrip("/"))


def _facts(
    files: Any, folder: str, found: dict[str, Mapping[str, Any]], listing: Listing
) -> dict[str, tuple[int, int]]:
    """Size and stamp by name; a web server's listing has none, so it is asked for each."""
    unsized = [name for name, entry in found.items() if entry.get("size") is None]
    asked = look(f"{folder}/{name}" for name in unsized) if unsized else {}
    facts = {}
    for name, entry in found.items():
        about = asked.get(f"{folder}/{name}", None)
        if isinstance(about, Unavailable):
            listing.unusable.append((name, str(about)))
        else:
            facts[name] = size_and_stamp(entry) if about is None else (about.size, about.mtime_ns)
    return facts
