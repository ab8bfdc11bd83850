"""The papers' tables by name; what makes them is imported when one is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from visterm.errors import BadInput
from visterm.progress import Progress, silent

if TYPE_CHECKING:
    from visterm.experiments.reports import Report

TABLES = {
    "corel-statistics": "corel_statistics",
    "tpami-9": "tpami_9",
    "tpami-10": "tpami_10",
    "tpami-11": "tpami_11",
    "tpami-12": "tpami_12",
}
"""A table's name, and the function of `visterm.experiments.reports` that makes it."""


def reproduce(
    table: str, data: Path | None = None, *, seed: int = 0, progress: Progress = silent
) -> Report:
    """Make the table of this name."""
    if table not in TABLES:
        raise BadInput(f"no table called {table!r}; there are {', '.join(TABLES)}")
    from visterm.experiments import reports

    made: Report = getattr(reports, TABLES[table])(data, seed=seed, progress=progress)
    return made
