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
    "ecml-1": "ecml.feature_comparison.ecml_1",
    "ecml-3": "ecml.feature_comparison.ecml_3",
    "ecml-4": "ecml.feature_comparison.ecml_4",
    "ecml-5": "ecml.feature_comparison.ecml_5",
    "ecml-6": "ecml.feature_comparison.ecml_6",
    "ecml-6-measures": "ecml.feature_comparison.ecml_6_measures",
    "bitr-1": "bitr.examples.bitr_1",
    "bitr-2": "bitr.retrieval_tables.bitr_2",
    "bitr-3": "bitr.retrieval_tables.bitr_3",
    "bitr-4": "bitr.transfer.bitr_4",
    "bitr-5": "bitr.retrieval_tables.bitr_5",
    "bitr-6": "bitr.retrieval_tables.bitr_6",
    "bitr-7": "bitr.retrieval_tables.bitr_7",
    "bitr-exp2": "bitr.cross_dataset.bitr_exp2",
    "bitr-fig3": "bitr.timings.bitr_fig3",
    "bitr-fig4": "bitr.timings.bitr_fig4",
    "bitr-fig6": "bitr.examples.bitr_fig6",
    "annotation": "leaderboards.annotation.annotation",
    "flickr8k": "leaderboards.flickr8k.flickr8k",
    "tpami-2": "tpami.large_set.tpami_2",
    "tpami-3": "tpami.block_features.tpami_3",
    "tpami-4": "tpami.block_features.tpami_4",
    "tpami-5": "tpami.chosen_parameters.tpami_5",
    "tpami-6": "tpami.chosen_parameters.tpami_6",
    "tpami-7": "tpami.model_comparison.tpami_7",
    "tpami-8": "tpami.model_comparison.tpami_8",
    "tpami-9": "tpami.model_comparison.tpami_9",
    "tpami-10": "tpami.model_comparison.tpami_10",
    "tpami-11": "tpami.model_comparison.tpami_11",
    "tpami-12": "tpami.model_comparison.tpami_12",
    "tpami-13": "tpami.large_set.tpami_13",
    "tpami-joint": "tpami.joint_kernels.tpami_joint",
    "tpami-appendix": "tpami.margin_growth.tpami_appendix",
    "tpami-figures": "tpami.figures.tpami_figures",
}
"""A table's name, and the module and function of `visterm.experiments.papers` that make it."""
PAGES = ("bitr-1", "bitr-fig6", "side-by-side", "tpami-figures")
"""Those that come with a page of pictures."""


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
    as_published: bool = False,
    progress: Progress = silent,
) -> Report:
    """Make the table of this name; partitions are for the tables that test on several.

    ``as_published`` takes the paper's own settings instead of ours.
    """
    maker = maker_of(table)
    taken = signature(maker).parameters
    options: dict[str, object] = {}
    if partitions is not None:
        if "partitions" not in taken:
            raise BadInput(f"{table} has one set of test pictures; leave partitions out")
        options["partitions"] = partitions
    if as_published:
        if "as_published" not in taken:
            raise BadInput(f"{table} has no settings of the paper's own; leave as-published out")
        options["as_published"] = True
    return maker(data, seed=seed, progress=progress, **options)
