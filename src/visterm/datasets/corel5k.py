"""The Corel benchmark of the PAMIR papers: 4,500 pictures to learn from and 500 to test on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from visterm.datasets.captioned_dataset import CaptionedDataset, QueryOptions
from visterm.datasets.captioned_pictures import read_tsv
from visterm.datasets.locations import dataset_folder
from visterm.errors import BadInput

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
