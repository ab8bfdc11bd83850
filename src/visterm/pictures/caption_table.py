"""Captions from a table: a CSV, TSV or JSON-lines file with a path and a text in each row."""

from __future__ import annotations

import codecs
import csv
import itertools
import json
import os
import re
from calendar import month_name
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any, TextIO

from visterm.errors import BadInput
from visterm.pictures.formats import Refused, opened
from visterm.pictures.texts import tidy

PATH_COLUMNS = frozenset(
    ["path", "file", "filename", "file_name", "filepath", "picture", "image", "photo"]
)
URL_COLUMNS = frozenset(["url", "uri", "location", "image_url", "image_path", "src"])
DATE_COLUMNS = frozenset(["date", "taken", "date_taken", "year"])
STRICT_COLUMNS = frozenset(
    ["text", "caption", "captions", "words", "keywords", "tags", "title", "description"]
)
TEXT_COLUMNS = frozenset(["headline", "place", "city", "state", "country", "location"]).union(
    STRICT_COLUMNS, DATE_COLUMNS, ("creator", "photographer", "author")
)
"""What is written about a picture, places and who took it among it; dates are said in words."""

MAX_LINE = 1_000_000

_CELLS = (".csv", ".tsv", ".tab")
# The mark after the first cell, whether that is quoted or not.
_SEPARATOR = re.compile(r'(?:"(?:[^"]|"")*"|[^",;\t]*)([,;\t])')
_DATE = re.compile(r"(\d{4})[-:/](\d\d)(?:[-:/](\d\d))?(?!\d)")
_JSON_LINES = (".jsonl", ".ndjson")


def read_caption_table(
    path: str | os.PathLike[str], *, texts_needed: bool = True, unread: set[str] | None = None
) -> Iterator[tuple[str, str]]:
    """Path and text of every row, in order; the texts may be missing where nobody needs them.

    The names of columns that are not read are added to ``unread``.

    The extension says the format. A first row of known names (`PATH_COLUMNS` or `URL_COLUMNS`,
    `TEXT_COLUMNS`) picks the columns, several texts becoming one line each; without it a row is a
    path and a text. CSV may be separated by semicolons, and its quoted texts may hold line ends;
    a line of JSON is an object with such names, or a pair, whose text may be a list. Texts are
    UTF-8, UTF-16 with its mark, or else Windows' Latin-1. Empty lines are passed over.

    Raises
    ------
    BadInput
        At once where the file cannot be opened, and at the row that is wrong, with its line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = pathlib.Path(folder, "captions.csv")
    ...     _ = table.write_text('file,caption\\nboat.jpg,"a boat, at sea"\\n')
    ...     list(read_caption_table(table))
    [('boat.jpg', 'a boat, at sea')]
    """
    name = os.fspath(path)
    ending = os.path.splitext(name)[1].lower()
    if ending not in _CELLS and ending not in _JSON_LINES:
        kinds = ", ".join((*_CELLS, *_JSON_LINES))
        raise BadInput(f"{name}: captions are read from tables named {kinds}")
    try:
        encoding = _encoding_of(name)
    except Refused as reason:
        raise BadInput(f"{name}: {reason}") from None
    return _pairs(name, ending, encoding, texts_needed, set() if unread is None else unread)


def _pairs(
    name: str, ending: str, encoding: str, texts_needed: bool, unread: set[str]
) -> Iterator[tuple[str, str]]:
    with open(name, encoding=encoding, errors="replace", newline="") as file:
        lines = _lines(name, file)
        if ending in _JSON_LINES:
            yield from _from_json(name, lines, texts_needed, unread)
        else:
            rows = _csv_rows if ending == ".csv" else _tsv_rows
            yield from _from_rows(name, rows(name, lines), texts_needed, unread)


def _encoding_of(name: str) -> str:
    """Named by the file's first bytes, or UTF-8 if all of it is valid, or Windows' Latin-1."""
    with opened(name) as file:
        head = file.read(3)
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        file.seek(0)
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            while block := file.read(1 << 20):
                decoder.decode(block)
            decoder.decode(b"", True)
        except UnicodeDecodeError:
            return "cp1252"
    return "utf-8-sig"


def _lines(name: str, file: TextIO) -> Iterator[str]:
    number = 0
    while line := file.readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            raise _wrong(name, number, f"the line is longer than {MAX_LINE:,} characters")
        yield line


def _csv_rows(name: str, lines: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
    first = next(lines, "")
    separator = _SEPARATOR.match(first)
    delimiter = separator[1] if separator else ","
    reader = csv.reader(itertools.chain([first], lines), delimiter=delimiter, strict=True)
    while True:
        begin = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as problem:
            raise _wrong(name, begin, f"not a row of CSV ({problem})") from None
        yield begin, row


def _tsv_rows(name: str, lines: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
    """A text may well begin with a quotation mark, so only cells quoted whole are opened."""
    for number, line in enumerate(lines, 1):
        cells = line.rstrip("\r\n").split("\t")
        for at, cell in enumerate(cells):
            if len(cell) > 1 and cell[0] == cell[-1] == '"':
                cells[at] = cell[1:-1].replace('""', '"')
        yield number, cells


def _from_rows(
    name: str, rows: Iterator[tuple[int, list[str]]], texts_needed: bool, unread: set[str]
) -> Iterator[tuple[str, str]]:
    names: list[str] | None = None
    is_first = True
    for number, cells in rows:
        if not any(cell.strip() for cell in cells):
            continue
        if is_first:
            is_first, key = False, location_column(cells)
            has_texts = any(is_read(cell) for cell in cells if cell != key)
            if key is not None and (has_texts or not texts_needed):
                names = cells
                unread |= unread_columns(names)
                continue
        if names is not None:
            path, texts = read_row(dict(zip(names, cells, strict=False)))
            if path is None:
                raise _wrong(name, number, "the row ends before its path")
            yield _pair(name, number, path, texts)
        elif len(cells) == 2:
            yield _pair(name, number, cells[0], cells[1:])
        else:
            hint = "; put texts that hold the separator in quotes" if len(cells) > 2 else ""
            what = f"{len(cells)} columns where a path and a text belong{hint}"
            raise _wrong(name, number, what)


def location_column(names: Iterable[str]) -> str | None:
    """Which column holds the path or URL, if these are names of columns.

    >>> location_column(["caption", "URL"]), location_column(["a.jpg", "a boat"])
    ('URL', None)
    """
    columns = list(names)
    known = [
        name for kind in (PATH_COLUMNS, URL_COLUMNS) for name in columns if _plain(name) in kind
    ]
    return known[0] if known else None


def unread_columns(names: Sequence[str]) -> set[str]:
    """Those of the names of columns that nothing is read from.

    >>> unread_columns(["Path", "rating", "location", "title"])
    {'rating'}
    """
    key = location_column(names)
    return {name.strip() for name in names if name != key and not is_read(name)}


def read_row(row: Mapping[str, Any]) -> tuple[Any, list[Any]]:
    """The path or URL of a row by its known names, None without one, and its texts.

    What places and dates hold may be anything, and counts where it is text.

    >>> read_row({"url": "a.jpg", "date": "1972-05-03", "city": 7, "caption": "a boat"})
    ('a.jpg', ['3 May 1972', 'a boat'])
    """
    key = location_column(row)
    cells = [(_plain(name), as_text(name, value)) for name, value in row.items() if name != key]
    texts = [
        value
        for name, value in cells
        if name in STRICT_COLUMNS or (name in TEXT_COLUMNS and strings(value))
    ]
    return (None if key is None else row[key]), texts


def is_read(name: str) -> bool:
    """Whether a column of this name says something about a picture."""
    return _plain(name) in TEXT_COLUMNS


def _plain(name: str) -> str:
    return name.strip().lower()


def as_text(column: str, value: Any) -> Any:
    """What a cell says in a caption: a date in words, other values as they are.

    >>> as_text("Date", "1972-05-03"), as_text("year", 1972), as_text("title", "1972-05-03")
    ('3 May 1972', '1972', '1972-05-03')
    """
    is_date = _plain(column) in DATE_COLUMNS and value is not None
    return date_in_words(str(value)) if is_date else value


def date_in_words(text: str) -> str:
    """A date of a table as a caption says it; other texts as they are.

    >>> date_in_words("1972-05-03T10:20:30"), date_in_words("1972:05"), date_in_words("c. 1970")
    ('3 May 1972', 'May 1972', 'c. 1970')
    """
    parts = _DATE.match(text.strip())
    try:
        day = parts and date(int(parts[1]), int(parts[2]), int(parts[3] or 1))
    except ValueError:
        day = None
    if not parts or not day:
        return text
    month = f"{month_name[day.month]} {day.year}"
    return f"{day.day} {month}" if parts[3] else month


def _from_json(
    name: str, lines: Iterator[str], texts_needed: bool, unread: set[str]
) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as problem:
            raise _wrong(name, number, f"not a line of JSON ({problem})") from None
        if isinstance(row, dict):
            unread |= unread_columns(list(row))
            path, texts_said = read_row(row)
            row = [path, texts_said or (None if texts_needed else [])]
        path, text = row if isinstance(row, list) and len(row) == 2 else (None, None)
        texts = strings(text)
        if texts is None or not isinstance(path, str):
            raise _wrong(name, number, 'no path and text, such as {"path": …, "text": …}')
        yield _pair(name, number, path, texts)


def strings(value: object, depth: int = 2) -> list[str] | None:
    """The strings of a text, of a list of texts or of a list of such lists; else None."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list) or not depth:
        return None
    inner = [strings(part, depth - 1) for part in value]
    return None if None in inner else [text for texts in inner for text in texts or ()]


def text_of(texts: Iterable[str]) -> str:
    """Texts as one, a tidy line each."""
    lines = (tidy(line) for text in texts for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def _pair(name: str, number: int, path: str, texts: Iterable[str]) -> tuple[str, str]:
    path = path.strip()
    if not path or "\0" in path:
        raise _wrong(name, number, "the path is missing")
    return path, text_of(texts)


def _wrong(name: str, number: int, what: str) -> BadInput:
    return BadInput(f"{name}, line {number}: {what}")
