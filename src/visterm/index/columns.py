"""Columns: what each word says of every row, made when it is first asked for, and kept.

A column is a function of a word's weights and of the rows, one 16-bit code a row (`codes`). It is
named by these weights, so that whatever changes them asks for another column, and whatever takes
the change back finds the first one. Rows never move, so a column is extended when rows come.
Deleting all columns loses nothing but the time to make them; so their files are not synced, and
verified when they are opened.
"""

from __future__ import annotations

import hashlib
import os
import struct
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from visterm.errors import VistermError
from visterm.files import write_whole
from visterm.index.codes import Codes, odds_codes
from visterm.index.feature_file import FeatureFile
from visterm.quick_dataclass import dataclass

_HEADER = struct.Struct("<8sQ32s16x")
_MAGIC = b"vtcol1\0\0"
_KEPT_FROM = 1 << 20
"""Numbers of rows from which on making a column takes longer than keeping it."""
_IN_MEMORY = 1 << 29
"""Bytes of columns that are open together; those in files are mapped, and cost no memory."""


@dataclass(frozen=True, eq=False)
class WordWeights:
    """The log odds of a word for a row p: ``bias + vector · p``, and ``slope`` times what a model
    that is not linear says of the row, where there is one."""

    bias: float
    vector: NDArray[np.float32]
    slope: float = 0.0
    values: Callable[[FeatureFile], NDArray[np.float32]] | None = field(default=None, repr=False)
    """What gives the model's values of all rows."""
    name: str = ""
    """What tells such values from others."""

    @cached_property
    def key(self) -> str:
        """The name of the column."""
        digest = hashlib.sha256(struct.pack("<dd", self.bias, self.slope) + self.name.encode())
        digest.update(np.ascontiguousarray(self.vector, "<f4").data)
        return digest.hexdigest()[:32]


class ColumnCache:
    """The columns over the rows of one folder; one object for all threads of a process."""

    def __init__(self) -> None:
        self._open: OrderedDict[tuple[Path, str], Codes] = OrderedDict()
        self._changing = threading.Lock()
        self._making = threading.Lock()

    def columns(self, rows: FeatureFile, words: Sequence[WordWeights]) -> list[Codes]:
        """The columns of some words, one code a row.

        Those that are missing are made in one pass over the rows, by one thread at a time.
        """
        known = self._known(rows, words)
        if any(column is None for column in known):
            with self._making:
                known = self._known(rows, words)  # whoever made them before us
                missing = [w for w, column in zip(words, known, strict=True) if column is None]
                self._make(rows, {word.key: word for word in missing})
                known = self._known(rows, words)
        columns = [column for column in known if column is not None]
        assert len(columns) == len(words)
        return columns

    def _known(self, rows: FeatureFile, words: Sequence[WordWeights]) -> list[Codes | None]:
        found: list[Codes | None] = []
        for word in words:
            column = self._before(rows, word.key)
            found.append(column[: len(rows)] if column.size >= len(rows) else None)
        return found

    def _before(self, rows: FeatureFile, key: str) -> Codes:
        """What is known of a column: of all rows, of the first ones, or of none."""
        place = column_folder(rows), key
        with self._changing:
            column = self._open.get(place)
            if column is not None:
                self._open.move_to_end(place)
                return column
        column = read_column(column_path(rows, key))
        if column.size:
            self._keep(place, column)
        return column

    def _keep(self, place: tuple[Path, str], column: Codes) -> None:
        with self._changing:
            self._open[place] = column
            self._open.move_to_end(place)
            total = sum(kept.nbytes for kept in self._open.values())
            while total > _IN_MEMORY and len(self._open) > 1:
                total -= self._open.popitem(last=False)[1].nbytes

    def _make(self, rows: FeatureFile, words: dict[str, WordWeights]) -> None:
        """Make columns, or the rest of them, in as few passes as there are different rests."""
        before = {key: self._before(rows, key) for key in words}
        for done in sorted({column.size for column in before.values()}):
            keys = [key for key, column in before.items() if column.size == done]
            rest = computed(rows, [words[key] for key in keys], done)
            for key, codes in zip(keys, rest, strict=True):
                column = np.concatenate([before[key], codes]) if done else codes
                if len(rows) * rows.width >= _KEPT_FROM:
                    column = _written(column_path(rows, key), column)
                self._keep((column_folder(rows), key), column)


def computed(rows: FeatureFile, words: Sequence[WordWeights], first: int = 0) -> list[Codes]:
    """The codes of words for the rows from the ``first`` on."""
    codes = np.empty((len(words), len(rows) - first), np.uint16)
    biases = np.array([word.bias for word in words])
    values = {n: w.values(rows)[first:] for n, w in enumerate(words) if w.values is not None}
    vectors = np.stack([word.vector for word in words])
    if not values and rows.code_odds(vectors, biases, codes, first):
        return list(codes)

    def use(part: slice, products: NDArray[np.float64]) -> None:
        here = slice(part.start - first, part.stop - first)
        products += biases[:, None]
        for number, of_model in values.items():
            products[number] += words[number].slope * of_model[here].astype(np.float64)
        codes[:, here] = odds_codes(products)

    rows.multiply(vectors, use, first)
    return list(codes)


def column_folder(rows: FeatureFile) -> Path:
    """Where the columns over some rows lie."""
    return rows.folder / (f"columns-{rows.start}" if rows.start else "columns")


def column_path(rows: FeatureFile, key: str) -> Path:
    """The file of a column."""
    return column_folder(rows) / key


def read_column(path: Path) -> Codes:
    """The column in a file, mapped; empty where there is none that is whole."""
    try:
        with path.open("rb") as file:
            magic, count, digest = _HEADER.unpack(file.read(_HEADER.size))
            if magic == _MAGIC and count and path.stat().st_size == _HEADER.size + 2 * count:
                column = np.asarray(np.memmap(file, "<u2", "r", _HEADER.size, (count,)))
                if digest == hashlib.sha256(column.data).digest():
                    return column
    except (OSError, struct.error):
        pass
    return np.empty(0, np.uint16)


def is_sound(path: Path) -> bool:
    """Whether a file holds the column that was written into it."""
    return bool(read_column(path).size)


def _written(path: Path, column: Codes) -> Codes:
    """A column as its file has it, or as it is where no file can be written."""
    header = _HEADER.pack(_MAGIC, column.size, hashlib.sha256(column.data).digest())
    try:
        path.parent.mkdir(exist_ok=True)
        write_whole(path, lambda file: file.writelines((header, column.data)), is_cache=True)
        return np.asarray(np.memmap(path, "<u2", "r", _HEADER.size, column.shape))
    except (VistermError, OSError):
        return column  # a reader of somebody else's collection, or a full disk


def sweep_columns(rows: FeatureFile, most_bytes: int) -> None:
    """Delete the columns that were not asked for longest, so that the others fit."""
    folder = column_folder(rows)
    if not folder.is_dir() or folder.is_symlink():
        return
    files = [(entry.stat(), entry.path) for entry in os.scandir(folder) if entry.is_file()]
    total = sum(stat.st_size for stat, _ in files)
    for stat, path in sorted(files, key=lambda one: one[0].st_atime):
        if total <= most_bytes:
            break
        Path(path).unlink(missing_ok=True)
        total -= stat.st_size
