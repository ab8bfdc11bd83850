"""visterm reproduce: the papers' tables beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from visterm.cli.benchmarks import Data, Labels, Layout, Seed, Test, Train, Validation
from visterm.cli.options import Json, Ray

if TYPE_CHECKING:
    from visterm.experiments.tables import Report


def reproduce(
    tables: Annotated[
        list[str] | None, typer.Argument(help="Names such as tpami-9; without any, all are listed.")
    ] = None,
    data: Data = None,
    train: Train = None,
    validation: Validation = None,
    test: Test = None,
    labels: Labels = None,
    seed: Seed = 0,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help="Means over so many seeds, where models rank pictures for words."),
    ] = None,
    partitions: Annotated[
        int | None,
        typer.Option(help="bitr-2 to bitr-7: test on so many of ten parts; 0: as the data split."),
    ] = None,
    as_published: Annotated[
        bool,
        typer.Option("--as-published", help="With the papers' own settings instead of ours."),
    ] = False,
    layout: Layout = "text",
    figure: Annotated[
        Path | None,
        typer.Option(help="Draw it too: a .png, .svg or .pdf file; a folder for several tables."),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(help="Where pages of pictures go: a file, or a folder; else TABLE.html here."),
    ] = None,
    ray: Ray = None,
    json: Json = False,
) -> None:
    """Print tables of the papers beside our figures.

    A star marks a figure of ours that is significantly above every other model's (Wilcoxon, 95 %).
    Tables of one experiment, such as tpami-7 to tpami-12, share its runs.
    With --train and --test the same tables are made of another data set's pictures; else what was
    found is written into results.json beside the paper's entries.
    side-by-side ranks drawn scenes, or Corel's pictures where --data names them, and writes a page;
    figures that show pictures are pages too.

    Example: visterm reproduce tpami-9 --data DATA
    """
    import time

    from visterm.cli.benchmarks import check_layout, dataset_of, laid_out, reported
    from visterm.cli.output import show
    from visterm.experiments import tables as papers

    if not tables:
        listed = {name: one.table["title"] for name, one in papers.entries().items()}
        show(listed, (f"{name:18} {title}" for name, title in listed.items()), json=json)
        return
    check_layout(layout)
    figures, pages = _figure_files(tables, figure), _page_files(tables, page)
    own = train and dataset_of(None, data, train, validation, test, labels)
    options: dict[str, Any] = {
        "seed": seed, "seeds": seeds, "partitions": partitions, "as_published": as_published
    }  # fmt: skip
    reports: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(tables):
        began = time.monotonic()
        with reported(ray) as progress:
            report = papers.reproduce(name, own or data, **options, progress=progress)
        # Each as soon as it is there: the next may take an hour, or be stopped.
        _write(report, figures.get(name), pages.get(name, Path(f"{name}.html")))
        if not json:
            typer.echo(("\n\n" if reports else "") + laid_out(report.table, layout))
        try:
            if not own:
                papers.keep_results(name, report, options, began)
        except OSError as error:
            typer.echo(f"results of {name} could not be kept: {error}", err=True)
        reports[name] = report.to_json()
    if json:
        show(reports[tables[0]] if len(reports) == 1 else reports, json=True)


def _figure_files(tables: list[str], figure: Path | None) -> dict[str, Path]:
    """Where each figure goes; names of tables and files are checked before hours of work."""
    from visterm.errors import BadInput
    from visterm.evaluation.plots import check_figure_name
    from visterm.experiments.tables import entry

    for table in tables:
        entry(table)
    if figure is None:
        return {}
    if len(set(tables)) == 1:
        check_figure_name(figure)
        return {tables[0]: figure}
    if figure.suffix:
        raise BadInput(f"several tables need a folder for their figures, not {figure.name!r}")
    figure.mkdir(parents=True, exist_ok=True)
    return {table: figure / f"{table}.png" for table in tables}


def _page_files(tables: list[str], page: Path | None) -> dict[str, Path]:
    """Where each page goes: the file that is given, or one by the table's name in a folder."""
    from visterm.errors import BadInput
    from visterm.experiments.tables import entry

    having = [table for table in tables if entry(table).table.get("page")]
    if page is not None and page.suffix:
        if len(set(having)) > 1:
            raise BadInput(f"{', '.join(having)} need a folder for their pages, not {page.name!r}")
        return dict.fromkeys(having, page)
    if page is not None:
        page.mkdir(parents=True, exist_ok=True)
    return {table: (page or Path()) / f"{table}.html" for table in having}


def _write(report: Report, figure: Path | None, page: Path) -> None:
    from visterm.files import write_whole

    if figure is not None:
        from visterm.evaluation.plots import draw_table

        draw_table(report.table, figure)
    if report.page is not None:
        write_whole(page, report.page)
