"""The public data sets of the papers: Corel5k, IAPR TC-12 and Flickr8k, and where each one lies."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from visterm.datasets.captioned_dataset import (
    CaptionedDataset,
    QueryOptions,
    read_dataset,
    read_tsv,
)
from visterm.errors import BadInput

VARIABLE = "VISTERM_DATA"
Blobs = list[NDArray[np.int64]]
"""For each picture the tokens of the regions it holds, from 1 to 499, each once."""


@dataclass(frozen=True, eq=False)
class Corel5k(CaptionedDataset):
    """Corel's two parts; the original blob tokens are read when they are first asked for."""

    folder: Path = Path()

    @cached_property
    def development_blobs(self) -> Blobs:
        """The blob tokens of each development picture, row for row."""
        return _read_blobs(self.folder / "train_blobs.txt", len(self.development))

    @cached_property
    def test_blobs(self) -> Blobs:
        """The blob tokens of each test picture, row for row."""
        return _read_blobs(self.folder / "test_blobs.txt", len(self.tested))


def read_corel5k(folder: Path | str | None = None) -> Corel5k:
    """Read the Corel folder: ``train.tsv`` and ``test.tsv``, pictures under ``images/``.

    One test picture stands in the table twice, as it does in the papers; words are those of at
    least two test captions, and every set of words that a caption holds is a query. A ninth of the
    training pictures, 500, is held out for validation.

    Parameters
    ----------
    folder
        The folder, or None to look where :func:`~visterm.datasets.data_folder` does.
    """
    found = dataset_folder("corel5k", folder, ("train.tsv", "test.tsv"))
    train, test = (read_tsv(found / table, merge=False) for table in ("train.tsv", "test.tsv"))
    queries = QueryOptions(language=None, max_words=None, words_from="test")
    return Corel5k("corel5k", train, test, queries=queries, held_out=len(train) // 9, folder=found)


def read_iaprtc12(folder: Path | str | None = None) -> CaptionedDataset:
    """Read the IAPR TC-12 folder: 19,627 travel pictures with labels, which queries are made of,
    and sentences: four tables, pictures under ``images/``.

    Parameters
    ----------
    folder
        The folder, or None to look where :func:`~visterm.datasets.data_folder` does.
    """
    names = ("train_captions.tsv", "test_captions.tsv", "train_labels.tsv", "test_labels.tsv")
    found = dataset_folder("iaprtc12", folder, names)
    train, test, *labels = (found / name for name in names)
    queries = QueryOptions(language=None, max_words=2)
    return read_dataset(train, test, labels=labels, queries=queries, name="iaprtc12")


def read_flickr8k(folder: Path | str | None = None) -> CaptionedDataset:
    """Read the Flickr8k folder: 8,000 pictures with five sentences each, in its published split:
    three tables, one row a sentence.

    Queries are pairs of words at most, and what a quarter of all pictures say asks for nothing:
    the five sentences of a picture hold forty words.
    """
    tables = ("train_captions.tsv", "test_captions.tsv", "dev_captions.tsv")
    found = dataset_folder("flickr8k", folder, tables)
    queries = QueryOptions(min_captions=5, max_share=0.25, max_words=2)
    return read_dataset(*(found / table for table in tables), queries=queries, name="flickr8k")


DATASETS: dict[str, Callable[[Path | str | None], CaptionedDataset]] = {
    "corel5k": read_corel5k,
    "iaprtc12": read_iaprtc12,
    "flickr8k": read_flickr8k,
}
"""The public data sets by name, and what reads each from its folder."""


def data_folder(name: str, given: Path | str | None = None) -> Path:
    """Find the folder of the data set ``name``.

    Parameters
    ----------
    name
        Its folder's name, such as ``corel5k``.
    given
        The folder itself, or the one above it; then no other is looked at. Without it
        ``$VISTERM_DATA/name`` is taken.

    Raises
    ------
    BadInput
        In one line, when the folder is not there.
    """
    if given is not None:
        folder, hint = Path(given), "check the path you gave"
        folder = folder / name if (folder / name).is_dir() else folder
    elif os.environ.get(VARIABLE):
        folder = Path(os.environ[VARIABLE]) / name
        hint = f"{VARIABLE} must name the folder that holds {name}/"
    else:
        raise BadInput(f"no {name} data: give the folder, or set {VARIABLE} to the one above it")
    if not folder.is_dir():
        raise BadInput(f"no {name} data at {folder}: {hint}")
    return folder


def dataset_folder(name: str, given: Path | str | None, tables: tuple[str, ...]) -> Path:
    """The folder of the data set ``name``, checked to hold its tables."""
    folder = data_folder(name, given)
    missing = [table for table in tables if not (folder / table).is_file()]
    if missing:
        raise BadInput(
            f"{folder} is not the {name} folder: it lacks {', '.join(missing)}; expected are "
            f"{', '.join(tables)} beside images/ (give the folder, or set {VARIABLE} to the one "
            "above it)"
        )
    return folder


def _read_blobs(table: Path, rows: int) -> Blobs:
    try:
        lines = table.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        raise BadInput(
            f"{table}: no blob tokens there; expected numbers, a line a picture"
        ) from None
    if len(lines) != rows:
        raise BadInput(f"{table}: {len(lines)} lines for {rows} pictures; each needs one")
    blobs: Blobs = []
    for number, line in enumerate(lines, start=1):
        try:
            tokens = np.asarray([int(token) for token in line.split()], dtype=np.int64)
        except ValueError:
            raise BadInput(
                f"{table}, line {number}: {line[:40]!r} is not a row of tokens"
            ) from None
        blobs.append(tokens)
    return blobs
