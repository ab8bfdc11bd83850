"""Tables of locations and captions: Parquet, CSV, TSV and JSON lines, from anywhere."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from visterm.collection.sources.opening import download, ending_of, name_problem, opened_source
from visterm.collection.store.location import below
from visterm.collection.store.urls import is_url, normal_url
from visterm.errors import BadInput, needs_extra
from visterm.pictures.formats import Refused

PARQUET = (".parquet", ".pq")
_ROWS = 4096


def table_rows(root: Path, location: str) -> Iterator[tuple[str, str]]:
    """What every row of a table names, as the table writes it, and what it says.

    Raises `BadInput` where the table is none, and `Refused` where it cannot be had.
    """
    if ending_of(location) in PARQUET:
        yield from _parquet_rows(root, location)
        return
    from visterm.pictures.caption_table import read_caption_table

    with _local(root, location) as path:
        try:
            yield from read_caption_table(path, texts_needed=False)
        except BadInput as error:
            raise BadInput(str(error).replace(str(path), _shown(root, location))) from None


def resolved(root: Path, table: str, named: str) -> str:
    """Where a row's picture lies: a path below the collection's folder, or a URL.

    Paths count from the table's folder or from the collection's. A table from elsewhere may not
    name files of this machine: `Refused` says so.
    """
    is_distant = is_url(table) and not table.startswith("file://")
    reason = name_problem(named)
    if reason is not None:
        raise Refused(reason)
    if is_url(named):
        try:
            url = normal_url(named)
        except BadInput as error:
            raise Refused(str(error)) from None
        if is_distant and url.startswith("file://"):
            raise Refused("a table from elsewhere may not name files of this machine")
        return _below(root, url.removeprefix("file://")) if url.startswith("file://") else url
    if is_distant:
        parts = PurePosixPath(named.replace("\\", "/")).parts
        if ".." in parts or named.startswith("/") or not parts:
            raise Refused("a table from elsewhere may not name files of this machine")
        return "/".join((table.rpartition("/")[0], *parts))
    folder = Path(table.removeprefix("file://")).parent if is_url(table) else (root / table).parent
    candidates = [os.path.join(start, named) for start in (folder, root)]
    return _below(root, next(filter(os.path.exists, candidates), candidates[0]))


def _below(root: Path, path: str) -> str:
    inside = below(root, path)
    return f"file://{os.path.abspath(path)}" if inside is None else inside


def _shown(root: Path, location: str) -> str:
    return location if is_url(location) else str(root / location)


@contextmanager
def _local(root: Path, location: str) -> Iterator[Path]:
    """A table as a file of this machine."""
    if not is_url(location):
        yield root / location
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "table" + os.path.splitext(location)[1])
        download(location, copy)
        yield copy


def _parquet_rows(root: Path, location: str) -> Iterator[tuple[str, str]]:
    from visterm.pictures.caption_table import is_read, location_column, read_row, strings, text_of

    with needs_extra("cluster", "Parquet is read by pyarrow"):
        from pyarrow import ArrowException, parquet, types
    where = _shown(root, location)
    try:
        with opened_source(root, location) as file:
            table = parquet.ParquetFile(file)
            schema = table.schema_arrow
            is_text = [types.is_string(t) or types.is_large_string(t) for t in schema.types]
            columns = zip(schema.names, is_text, strict=True)
            key = location_column(name for name, text in columns if text)
            if key is None and (held := location_column(schema.names)) is not None:
                raise BadInput(
                    f"{where}: its column {held} holds pictures, or no text; tables say where "
                    "pictures lie: write them into files or tar shards, and add these"
                )
            if key is None:
                there = ", ".join(schema.names)
                raise BadInput(f"{where}: none of its columns ({there}) says where pictures lie")
            names = [key, *(name for name in schema.names if name != key and is_read(name))]
            for batch in table.iter_batches(_ROWS, columns=names):
                for row in batch.to_pylist():
                    path, texts = read_row(row)
                    if isinstance(path, str) and path.strip():
                        yield path.strip(), text_of(strings([t for t in texts if t]) or [])
    except (ArrowException, OSError) as error:  # what is broken inside of it is an OSError there
        reason = " ".join(str(error).split())
        raise BadInput(f"{where}: no table in Parquet ({reason})") from None
