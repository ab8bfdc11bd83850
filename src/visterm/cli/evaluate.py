"""visterm evaluate: how good models are on a data set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visterm.cli.benchmarks import (
    Data,
    Dataset,
    Labels,
    Layout,
    Seed,
    Test,
    Train,
    Validation,
    Workers,
    check_layout,
    dataset_of,
    laid_out,
    reported,
)
from visterm.cli.options import Json, Ray
from visterm.cli.output import show
from visterm.cli.train import NAMES

if TYPE_CHECKING:
    from visterm.experiments.runner.model_evaluation import ModelEvaluation


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
    preset: Annotated[str | None, typer.Option(help="Features and model together: best.")] = None,
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
    json: Json = False,
) -> None:
    """Measure models on a data set.

    Hyper-parameters are chosen on validation pictures; test pictures are ranked once. Several
    models, or several seeds, are compared in one table: means, 95 % confidence intervals over
    queries, and p-values of Wilcoxon's test against the best one.
    """
    import os
    import sys

    from visterm.experiments.runner.comparison import compare_models_by_name
    from visterm.experiments.runner.model_evaluation import evaluate_preset
    from visterm.experiments.runner.protocol import protocol_of

    check_layout(layout)
    words = vocabulary.read_text(encoding="utf-8").split() if vocabulary is not None else None
    found = dataset_of(
        dataset, data, train, validation, test, labels,
        words=words, min_captions=min_captions, max_words=max_words,
    )  # fmt: skip
    protocol = protocol_of(found, seed=seed)
    names, shown = model or ["pamir"], dataset or found.name
    if any(":" in name for name in names):
        sys.path.insert(0, os.getcwd())  # one's own module lies where the command is typed
    with reported(ray) as progress:
        if preset is not None:
            only = evaluate_preset(protocol, preset, n_jobs=workers, ranks=ranks, progress=progress)
        else:
            made = compare_models_by_name(
                protocol, names, features,
                seeds=seeds, n_jobs=workers, ranks=ranks, progress=progress,
            )  # fmt: skip
            only = made.runs[names[0]][0]
    if preset is not None or (len(names) == 1 and seeds == 1 and layout == "text"):
        _show_run(shown, only, json=json)
        return
    table = made.table(f"{shown}, {len(protocol.test_relevance):,} queries")
    show({"dataset": shown, **made.to_json()}, laid_out(table, layout), json=json)


def _show_run(dataset: str, run: ModelEvaluation, *, json: bool) -> None:
    from visterm.experiments.runner.reports import outcome_text

    about = {"dataset": dataset, "model": run.model, "features": run.features}
    text = outcome_text(f"{dataset}, {run.model} on {run.features}", run.outcome)
    show(about | run.outcome.to_json(), text, json=json)
