"""Where pictures lie: folders, prefixes of object stores and web servers, tar shards, tables.

A room of readers. What lies below the collection's folder is called by its path there, all else by
its URL, and a shard is a folder of its members. Importing this loads nothing heavy; fsspec comes
with the first URL and pyarrow with the first Parquet table.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from visterm.collection.sources.folders import look_at as look_at
from visterm.collection.sources.folders import walk
from visterm.collection.sources.listing import SHARD, Listing, ending_of, join
from visterm.collection.store.urls import is_url

FOLDER = "folder"
SHARDS = "shard"
TABLE = "table"
FILE = "file"
TABLES = (".parquet", ".pq", ".csv", ".tsv", ".tab", ".jsonl", ".ndjson")


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
