"""Options of the commands that evaluate models on data sets."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from visterm.cli.output import progress_bar
from visterm.errors import BadInput

if TYPE_CHECKING:
    from visterm.datasets import CaptionedDataset
    from visterm.evaluation import Table
    from visterm.progress import Progress

LAYOUTS = ("text", "markdown", "latex")

Dataset = Annotated[
    str | None,
    typer.Argument(
        help="corel5k, iaprtc12, flickr8k, or a table of path<TAB>text lines ending in .tsv, from "
        "which test pictures are drawn."
    ),
]
Data = Annotated[
    Path | None,
    typer.Option(help="The data set's folder, or the one above it; else $VISTERM_DATA."),
]
Train = Annotated[
    Path | None,
    typer.Option(help="Instead of a data set: the table of training pictures, path<TAB>text."),
]
Validation = Annotated[
    Path | None, typer.Option(help="Its validation pictures; drawn from the others if not given.")
]
Test = Annotated[
    Path | None, typer.Option(help="Its test pictures; drawn from the others if not given.")
]
Labels = Annotated[
    list[Path] | None,
    typer.Option(help="Tables of labels of the same pictures, which queries are made of; repeat."),
]
Seed = Annotated[int, typer.Option(help="Decides every random choice.")]
Workers = Annotated[int | None, typer.Option(help="Processes; all cores by default.")]
Layout = Annotated[str, typer.Option(help="text, markdown or latex.")]


def dataset_of(
    dataset: str | None,
    data: Path | None,
    train: Path | None,
    validation: Path | None,
    test: Path | None,
    labels: list[Path] | None,
    **queries: Any,
) -> CaptionedDataset:
    """The data set that these options name; options of queries that are None change nothing."""
    from visterm.datasets import DATASETS, read_dataset

    tables = {"--validation": validation, "--test": test, "--labels": labels}
    table = Path(dataset) if dataset is not None and dataset.endswith(".tsv") else None
    if (dataset is None) == (train is None):
        raise BadInput("give either a data set or --train with a table of training pictures")
    if table is not None or train is not None:
        read = read_dataset(table or train or "", test, validation, labels=labels or ())
    elif dataset not in DATASETS:
        known = ", ".join(DATASETS)
        raise BadInput(f"no dataset called {dataset!r}; give {known} or a table ending in .tsv")
    elif given := [name for name, value in tables.items() if value]:
        raise BadInput(f"{dataset} has its own pictures; {', '.join(given)} goes with --train")
    else:
        read = DATASETS[dataset](data)
    changed = {name: value for name, value in queries.items() if value is not None}
    return replace(read, queries=replace(read.queries, **changed)) if changed else read


@contextmanager
def reported(ray: str | None = None) -> Iterator[Progress]:
    """A progress bar, and warnings in one line each beside it on stderr; work runs on ``ray``."""
    from visterm.compute import running_on

    with warnings.catch_warnings(), running_on(ray), progress_bar() as progress:
        warnings.showwarning = lambda message, *_, **__: print(message, file=sys.stderr)
        yield progress


def check_layout(layout: str) -> None:
    """Refuse a layout that there is not, before hours of work."""
    if layout not in LAYOUTS:
        raise BadInput(f"no layout called {layout!r}; there are text, markdown and latex")


def laid_out(table: Table, layout: str) -> str:
    """A table as text, Markdown or LaTeX."""
    ways = {"text": table.to_text, "markdown": table.to_markdown, "latex": table.to_latex}
    return ways[layout]()
