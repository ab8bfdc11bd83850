"""Where a data set's folder is: given, or under ``$VISTERM_DATA``."""

from __future__ import annotations

import os
from pathlib import Path

from visterm.errors import BadInput

VARIABLE = "VISTERM_DATA"


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
