"""visterm reproduce: the papers' tables beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from visterm.cli.benchmarks import Data, Seed
from visterm.cli.collections import Json
from visterm.experiments.papers.registry import TABLES

if TYPE_CHECKING:
    from visterm.experiments.runner.reports import Report

LAYOUTS = ("text", "markdown", "latex")


def reproduce(
    tables: Annotated[list[str], typer.Argument(help=f"Some of {', '.join(TABLES)}.")],
    data: Data = None,
    seed: Seed = 0,
    partitions: Annotated[
        int | None,
        typer.Option(help="bitr-2 to bitr-7: test on so many of ten parts; 0: as the data split."),
    ] = None,
    layout: Annotated[str, typer.Option(help="text, markdown or latex.")] = "text",
    figure: Annotated[
        Path | None,
        typer.Option(help="Draw it too: a .png, .svg or .pdf file; a folder for several tables."),
    ] = None,
    page: Annotated[Path, typer.Option(help="Where side-by-side puts its page.")] = Path(
        "side-by-side.html"
    ),
    json: Json = False,
) -> None:
    """Print tables of the papers beside our figures.

    A star marks a figure of ours that is significantly above every other model's (Wilcoxon, 95 %).
    Tables of one experiment, such as tpami-7 to tpami-12, share its run when asked for together.
    side-by-side ranks drawn scenes, or Corel's pictures where --data names them, and writes a page.
    """
    from visterm.cli.output import print_json, progress_bar
    from visterm.errors import BadInput
    from visterm.experiments.papers.registry import reproduce as make

    if layout not in LAYOUTS:
        raise BadInput(f"no layout called {layout!r}; there are text, markdown and latex")
    figures = _figure_files(tables, figure)
    found: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(tables):
        with progress_bar() as progress:
            report = make(name, data, seed=seed, partitions=partitions, progress=progress)
        # Each as soon as it is there: the next may take an hour, or be stopped.
        _write(report, figures.get(name), page)
        if not json:
            typer.echo(("\n\n" if found else "") + _shown(report, layout))
        found[name] = report.to_json()
    if json:
        print_json(found[tables[0]] if len(found) == 1 else found)


def _figure_files(tables: list[str], figure: Path | None) -> dict[str, Path]:
    """Where each figure goes; names of tables and files are checked before hours of work."""
    from visterm.errors import BadInput
    from visterm.evaluation.plots import check_figure_name
    from visterm.experiments.papers.registry import check_table

    for table in tables:
        check_table(table)
    if figure is None:
        return {}
    if len(set(tables)) == 1:
        check_figure_name(figure)
        return {tables[0]: figure}
    if figure.suffix:
        raise BadInput(f"several tables need a folder for their figures, not {figure.name!r}")
    figure.mkdir(parents=True, exist_ok=True)
    return {table: figure / f"{table}.png" for table in tables}


def _write(report: Report, figure: Path | None, page: Path) -> None:
    from visterm.files import write_whole

    if figure is not None:
        from visterm.evaluation.plots import draw_table

        draw_table(report.table, figure)
    if report.page is not None:
        write_whole(page, report.page)


def _shown(report: Report, layout: str) -> str:
    table = report.table
    ways = {"text": table.to_text, "markdown": table.to_markdown, "latex": table.to_latex}
    return ways[layout]()
