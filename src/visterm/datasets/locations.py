"""Where a data set's folder is: given, or under ``$VISTERM_DATA``."""

from __future__ import annotations

import os
from pathlib import Path

from visterm.errors import BadInput

VARIABLE = "VISTERM_DATA"


def data_folder(name: str, given: Path | str | None = None) -> Path:
    """Find the folder of the benchmark ``name``.

    Parameters
    ----------
    name
        The benchmark's folder name, such as ``corel5k``.
    given
        The folder itself, which then is the only one looked at. Without it ``$VISTERM_DATA/name``
        is taken.

    Raises
    ------
    BadInput
        In one line, when the folder is not there.
    """
    if given is not None:
        folder, hint = Path(given), "check the path you gave"
    elif os.environ.get(VARIABLE):
        folder = Path(os.environ[VARIABLE]) / name
        hint = f"{VARIABLE} must name the folder that holds {name}/"
    else:
        raise BadInput(f"no {name} data: give the folder, or set {VARIABLE} to the one above it")
    if not folder.is_dir():
        raise BadInput(f"no {name} data at {folder}: {hint}")
    return folder


def expect_files(folder: Path, what: str, names: tuple[str, ...]) -> None:
    """Check that a folder holds a benchmark's files, and say which are missing if not."""
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise BadInput(
            f"{folder} is not the {what} folder: it lacks {', '.join(missing)}; expected are "
            f"{', '.join(names)} beside images/ (give the folder, or set {VARIABLE} to the one "
            "above it)"
        )
