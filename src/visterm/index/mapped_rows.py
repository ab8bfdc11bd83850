"""Rows as a model maps them, kept for models whose values no column can be made from."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import VistermError
from visterm.files import write_whole
from visterm.index.feature_file import FeatureFile

BLOCK = 4096
"""Rows that are mapped together, so that what a row becomes depends on no later ones."""


def mapped_blocks(
    rows: FeatureFile, name: str, transform: Callable[[Any], NDArray[np.floating]]
) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """What ``transform`` makes of all rows, block by block; kept under ``name`` beside them.

    Deleting what is kept loses nothing but the time to map rows again.
    """
    folder = rows.folder / name
    for first in range(0, len(rows), BLOCK):
        here = slice(first, min(first + BLOCK, len(rows)))
        path, count = folder / f"{first}.npy", here.stop - first
        try:
            known = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError):  # not there, or not whole
            known = np.empty((0, 0), np.float32)
        if len(known) >= count:
            yield here, known[:count]
            continue
        mapped = np.ascontiguousarray(transform(rows.vectors(here)), np.float32)
        _keep(path, mapped)
        yield here, mapped


def _keep(path: Path, mapped: NDArray[np.float32]) -> None:
    with contextlib.suppress(VistermError, OSError):  # a reader of somebody else's, or a full disk
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, lambda file: np.save(file, mapped))
