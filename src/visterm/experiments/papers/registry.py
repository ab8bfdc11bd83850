"""The papers' tables by name; what makes them is imported when one is asked for."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING

from visterm.errors import BadInput
from visterm.progress import Progress, silent

if TYPE_CHECKING:
    from visterm.experiments.runner.protocol import Source
    from visterm.experiments.runner.reports import Report

TABLES = {
    "corel-statistics": "tpami.corel_statistics.corel_statistics",
    "side-by-side": "tpami.ranking_page.side_by_side",
    "bbnn-2": "bbnn.network_comparison.bbnn_2",
    "bbnn-3": "bbnn.network_comparison.bbnn_3",
    "ecml-4": "ecml.feature_comparison.ecml_4",
    "ecml-6": "ecml.feature_comparison.ecml_6",
    "bitr-2": "bitr.retrieval_tables.bitr_2",
    "bitr-4": "bitr.transfer.bitr_4",
    "bitr-5": "bitr.retrieval_tables.bitr_5",
    "bitr-6": "bitr.retrieval_tables.bitr_6",
    "bitr-7": "bitr.retrieval_tables.bitr_7",
    "bitr-fig3": "bitr.timings.bitr_fig3",
    "bitr-fig4": "bitr.timings.bitr_fig4",
    "annotation": "leaderboards.annotation.annotation",
    "flickr8k": "leaderboards.flickr8k.flickr8k",
    "tpami-3": "tpami.block_features.tpami_3",
    "tpami-4": "tpami.block_features.tpami_4",
    "tpami-7": "tpami.model_comparison.tpami_7",
    "tpami-8": "tpami.model_comparison.tpami_8",
    "tpami-9": "tpami.model_comparison.tpami_9",
    "tpami-10": "tpami.model_comparison.tpami_10",
    "tpami-11": "tpami.model_comparison.tpami_11",
    "tpami-12": "tpami.model_comparison.tpami_12",
}
"""A table's name, and the module and function of `visterm.experiments.papers` that make it."""


def check_table(table: str) -> None:
    """Refuse a name that no table has."""
    if table not in TABLES:
        raise BadInput(f"no table called {table!r}; there are {', '.join(TABLES)}")


def maker_of(table: str) -> Callable[..., Report]:
    """What makes the table of this name: called with (data, seed=…, progress=…)."""
    check_table(table)
    module, name = TABLES[table].rsplit(".", 1)
    made: Callable[..., Report] = getattr(
        import_module(f"visterm.experiments.papers.{module}"), name
    )
    return made


def reproduce(
    table: str,
    data: Source = None,
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
