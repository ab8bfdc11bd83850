"""Features of pictures kept in a file, so that a search that goes on extracts nothing twice.

A file holds plain arrays, written whole; one that is damaged counts as not there.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from visterm.features.extractor import Rows
from visterm.files import write_whole


def keep_rows(path: Path, parts: Sequence[Rows]) -> None:
    """Write rows of several sets of pictures, dense or compressed."""
    arrays: dict[str, Any] = {}
    for number, rows in enumerate(parts):
        if issparse(rows):
            arrays[f"{number}.shape"] = np.array(rows.shape, dtype=np.int64)
            for name in ("data", "indices", "indptr"):
                arrays[f"{number}.{name}"] = getattr(rows, name)
        else:
            arrays[f"{number}.rows"] = rows
    file = io.BytesIO()
    np.savez(file, **arrays)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, file.getvalue())


def kept_rows(path: Path) -> tuple[Rows, ...] | None:
    """What `keep_rows` wrote, or None.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "rows.npz"
    >>> kept_rows(path) is None
    True
    >>> keep_rows(path, [np.eye(2), csr_array(np.eye(3))])
    >>> [rows.shape for rows in kept_rows(path)]
    [(2, 2), (3, 3)]
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            found: list[Rows] = []
            for number in range(len({name.split(".")[0] for name in arrays.files})):
                if f"{number}.rows" in arrays.files:
                    found.append(arrays[f"{number}.rows"])
                    continue
                compressed = tuple(arrays[f"{number}.{n}"] for n in ("data", "indices", "indptr"))
                found.append(csr_array(compressed, shape=tuple(arrays[f"{number}.shape"])))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    return tuple(found)
