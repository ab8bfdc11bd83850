"""The papers' tables by name; what makes them is imported when one is asked for."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING

from visterm.errors import BadInput
from visterm.progress import Progress, silent

if TYPE_CHECKING:
    from visterm.experiments.reports import Report

TABLES = {
    "corel-statistics": "reports.corel_statistics",
    "side-by-side": "side_by_side.side_by_side",
    "bbnn-2": "bbnn_tables.bbnn_2",
    "bbnn-3": "bbnn_tables.bbnn_3",
    "ecml-4": "ecml.ecml_4",
    "ecml-6": "ecml.ecml_6",
    "bitr-2": "crossmodal_tables.bitr_2",
    "bitr-4": "crossmodal_transfer.bitr_4",
    "bitr-5": "crossmodal_tables.bitr_5",
    "bitr-6": "crossmodal_tables.bitr_6",
    "bitr-7": "crossmodal_tables.bitr_7",
    "bitr-fig3": "crossmodal_timing.bitr_fig3",
    "bitr-fig4": "crossmodal_timing.bitr_fig4",
    "tpami-3": "feature_tables.tpami_3",
    "tpami-4": "feature_tables.tpami_4",
    "tpami-7": "tpami.tpami_7",
    "tpami-8": "tpami.tpami_8",
    "tpami-9": "tpami.tpami_9",
    "tpami-10": "tpami.tpami_10",
    "tpami-11": "tpami.tpami_11",
    "tpami-12": "tpami.tpami_12",
}
"""A table's name, and the module and function of `visterm.experiments` that make it."""


def check_table(table: str) -> None:
    """Refuse a name that no table has."""
    if table not in TABLES:
        raise BadInput(f"no table called {table!r}; there are {', '.join(TABLES)}")


def maker_of(table: str) -> Callable[..., Report]:
    """What makes the table of this name: called with (data, seed=…, progress=…)."""
    check_table(table)
    module, name = TABLES[table].split(".")
    made: Callable[..., Report] = getattr(import_module(f"visterm.experiments.{module}"), name)
    return made


def reproduce(
    table: str,
    data: Path | None = None,
    *,
    seed: int = 0,
    partitions: int | None = None,
    progress: Progress = silent,
) -> Report:
    """Make the table of this name; partitions are for the tables that test on several."""
    maker = maker_of(table)
    if partitions is None:
        return maker(data, seed=seed, progress=progress)
    if "partitions" not in signature(maker).parameters:
        raise BadInput(f"{table} has one set of test pictures; leave partitions out")
    return maker(data, seed=seed, progress=progress, partitions=partitions)
