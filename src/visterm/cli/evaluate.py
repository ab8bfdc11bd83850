"""visterm evaluate, tune and reproduce: how good models are, on data sets and beside the papers."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from visterm.cli.options import Answer, Json, Ray, answering
from visterm.cli.output import progress_bar, say, show
from visterm.cli.train import NAMES
from visterm.errors import BadInput

if TYPE_CHECKING:
    from visterm.datasets import CaptionedDataset
    from visterm.evaluation import Table
    from visterm.experiments.comparison import ModelEvaluation
    from visterm.experiments.tables import Report
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


@answering
def evaluate(
    dataset: Dataset = None,
    data: Data = None,
    train: Train = None,
    validation: Validation = None,
    test: Test = None,
    labels: Labels = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Which model: {', '.join(NAMES)}, or your own as module:Class; repeat to compare."
        ),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            help="Which features, such as blocks+cnn or cnn(size=288); "
            "blob-tokens are Corel's own. By default blocks, as the model takes them."
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(help="Features and model together: best; with --features its model."),
    ] = None,
    vocabulary: Annotated[
        Path | None, typer.Option(help="The words that queries are made of, a line each.")
    ] = None,
    min_captions: Annotated[
        int | None, typer.Option(help="Pictures that must hold a word, for it to count.")
    ] = None,
    max_words: Annotated[int | None, typer.Option(help="Words of the largest query.")] = None,
    ranks: Annotated[
        bool,
        typer.Option("--ranks", help="Also rank pictures for captions, and captions for pictures."),
    ] = False,
    seed: Seed = 0,
    seeds: Annotated[int, typer.Option(help="Runs of each model, with seeds of their own.")] = 1,
    workers: Workers = None,
    layout: Layout = "text",
    ray: Ray = None,
) -> Answer:
    """Measure models on a data set.

    Hyper-parameters are chosen on validation pictures; test pictures are ranked once, for at most
    5,000 queries, which are drawn if captions make more. Several models, or several seeds, are
    compared in one table: means, 95 % confidence intervals and p-values against the best one (with
    Holm's correction), both by drawing the test pictures again. Corel takes a minute for its
    features and one to ten for each model.

    Example: visterm evaluate corel5k --data DATA --model ridge --model pamir
    """
    import os

    from visterm.experiments.comparison import compare_models_by_name, evaluate_preset
    from visterm.experiments.protocol import protocol_of
    from visterm.text.relevance import VALIDATION_QUERIES

    check_layout(layout)
    words = vocabulary.read_text(encoding="utf-8").split() if vocabulary is not None else None
    given = dataset_of(
        dataset, data, train, validation, test, labels,
        words=words, min_captions=min_captions, max_words=max_words,
    )  # fmt: skip
    protocol = replace(protocol_of(given, seed=seed), max_queries=VALIDATION_QUERIES)
    if len(protocol.test_relevance) == VALIDATION_QUERIES:
        say(f"test captions make more than {VALIDATION_QUERIES:,} queries; so many were drawn")
    names, shown = model or ["pamir"], dataset or given.name
    if any(":" in name for name in names):
        sys.path.insert(0, os.getcwd())  # one's own module lies where the command is typed
    with reported(ray) as progress:
        if preset is not None:
            only = evaluate_preset(
                protocol, preset, features, n_jobs=workers, ranks=ranks, progress=progress
            )
        else:
            made = compare_models_by_name(
                protocol, names, features,
                seeds=seeds, n_jobs=workers, ranks=ranks, progress=progress,
            )  # fmt: skip
            only = made.runs[names[0]][0]
    if preset is not None or (len(names) == 1 and seeds == 1 and layout == "text"):
        return _run_answer(shown, only)
    table = made.table(f"{shown}, {len(protocol.test_relevance):,} queries")
    return {"dataset": shown, **made.to_json()}, laid_out(table, layout)


def _run_answer(dataset: str, run: ModelEvaluation) -> Answer:
    from visterm.experiments.tables import outcome_text

    about = {"dataset": dataset, "model": run.model, "features": run.features}
    text = outcome_text(f"{dataset}, {run.model} on {run.features}", run.outcome)
    return about | run.outcome.to_json(), text


@answering
def tune(
    dataset: Dataset = None,
    data: Data = None,
    train: Train = None,
    validation: Validation = None,
    labels: Labels = None,
    features: Annotated[
        list[str] | None,
        typer.Option(help="Features to try, such as blocks, cnn(size=288) or cnn+blocks; repeat."),
    ] = None,
    kernel: Annotated[
        list[str] | None, typer.Option(help="Kernels to try: linear, rbf(gamma=2) …; repeat.")
    ] = None,
    objective: Annotated[
        list[str] | None,
        typer.Option(help="Objectives to try: plain, averaged, hardest, warp; repeat."),
    ] = None,
    c: Annotated[
        list[float] | None, typer.Option("--C", help="Values of aggressiveness C to try.")
    ] = None,
    seconds: Annotated[float, typer.Option(help="No trial begins later than this.")] = 600.0,
    study: Annotated[
        Path, typer.Option(help="The study (SQLite); a search that was stopped goes on from it.")
    ] = Path("tune.sqlite"),
    max_iter: Annotated[int, typer.Option(help="Most triplets of a fit.")] = 3_000_000,
    repeats: Annotated[int, typer.Option(help="Fits of a trial, with seeds of their own.")] = 1,
    seed: Seed = 0,
    workers: Workers = None,
    ray: Ray = None,
) -> Answer:
    """Find what ranks validation pictures best.

    TPE (optuna) proposes one setting after another, around those that ranked well. Test pictures
    are not looked at. Run it again with the same options to go on where it stopped.

    Example: visterm tune corel5k --data DATA --features cnn --seconds 300
    """
    from visterm.experiments.protocol import protocol_of
    from visterm.experiments.tuning import SearchSpace
    from visterm.experiments.tuning import tune as search

    usual = SearchSpace()
    space = SearchSpace(
        features=tuple(features or usual.features),
        kernels=tuple(kernel or usual.kernels),
        objectives=tuple(objective or usual.objectives),
        C=tuple(c or usual.C),
        max_iter=max_iter,
        repeats=repeats,
    )
    space.check()
    given = dataset_of(dataset, data, train, validation, None, labels)
    protocol, shown = protocol_of(given, seed=seed), dataset or given.name
    with reported(ray) as progress:
        tuned = search(
            protocol, space, seconds=seconds, study=study, n_jobs=workers, progress=progress
        )
    table = tuned.table(f"{shown}, AvgP on {protocol.held_out} validation pictures")
    lines = [table.to_text()]
    if not tuned.finished:
        left = tuned.trials - len(tuned.results)
        lines.append(f"\n{left} of {tuned.trials} trials are left; run it again to go on ({study})")
    return {"dataset": shown, "study": study, **tuned.to_json()}, lines


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
    features: Annotated[
        str | None,
        typer.Option(help="Networks in place of the light one, where a table has it: dinov2-small"),
    ] = None,
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

    from visterm.evaluation.plots import check_figure_name
    from visterm.experiments import tables as papers

    if not tables:
        listed = {name: entry.table["title"] for name, entry in papers.entries().items()}
        show(listed, (f"{name:18} {title}" for name, title in listed.items()), json=json)
        return
    check_layout(layout)
    having = [name for name in dict.fromkeys(tables) if papers.entry(name).table.get("page")]
    pages = _files(having, page, ".html", "pages")
    figures = {} if figure is None else _files([*dict.fromkeys(tables)], figure, ".png", "figures")
    for drawn in figures.values():
        check_figure_name(drawn)
    own = train and dataset_of(None, data, train, validation, test, labels)
    options: dict[str, Any] = {
        "seed": seed, "seeds": seeds, "partitions": partitions, "as_published": as_published,
        "features": features,
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


def _files(tables: Sequence[str], place: Path | None, ending: str, what: str) -> dict[str, Path]:
    """Where each table's figure or page goes: the file that is given, or its name in a folder."""
    if place is not None and place.suffix:
        if len(tables) > 1:
            raise BadInput(
                f"{', '.join(tables)} need a folder for their {what}, not {place.name!r}"
            )
        return dict.fromkeys(tables, place)
    if place is not None:
        place.mkdir(parents=True, exist_ok=True)
    return {table: (place or Path()) / f"{table}{ending}" for table in tables}


def _write(report: Report, figure: Path | None, page: Path) -> None:
    from visterm.files import write_whole

    if figure is not None:
        from visterm.evaluation.plots import draw_table

        draw_table(report.table, figure)
    if report.page is not None:
        write_whole(page, report.page)
