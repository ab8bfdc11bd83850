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
from visterm.cli.options import Answer, Ray, answering
from visterm.cli.output import say
from visterm.cli.train import NAMES

if TYPE_CHECKING:
    from visterm.experiments.comparison import ModelEvaluation


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
    import sys
    from dataclasses import replace

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
