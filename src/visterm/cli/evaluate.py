"""visterm evaluate: how good a model is on a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def evaluate(
    dataset: Annotated[
        str, typer.Argument(help="corel5k, or a table of path<TAB>words lines ending in .tsv.")
    ],
    data: Annotated[
        Path | None,
        typer.Option(help="The benchmark's folder; else $VISTERM_DATA, else ../shared/data."),
    ] = None,
    model: Annotated[str, typer.Option(help="Which model to train.")] = "pamir",
    features: Annotated[
        str | None,
        typer.Option(
            help="Which features to describe pictures by, such as blocks+cnn or cnn(size=288); "
            "blob-tokens are Corel's own. By default blocks, as the model takes them."
        ),
    ] = None,
    preset: Annotated[str | None, typer.Option(help="Features and model together: best.")] = None,
    seed: Annotated[int, typer.Option(help="Decides every random choice.")] = 0,
    workers: Annotated[int | None, typer.Option(help="Processes; all cores by default.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure a model on a benchmark.

    Hyper-parameters are chosen on validation pictures; test pictures are ranked once.
    """
    from visterm.cli.output import print_json, progress_bar
    from visterm.errors import BadInput

    if dataset != "corel5k" and not dataset.endswith(".tsv"):
        raise BadInput(f"no dataset called {dataset!r}; give corel5k or a table ending in .tsv")
    if preset not in (None, "best"):
        raise BadInput(f"no preset called {preset!r}; there is best")
    from visterm.experiments.describing import (
        BLOCKS_FOR,
        block_numbers,
        check_features,
        describe_by,
    )
    from visterm.experiments.presets import best, make_model
    from visterm.experiments.protocol import captioned_folder, corel5k
    from visterm.experiments.runs import Seconds, describe, run

    if dataset == "corel5k":
        protocol = corel5k(data, seed=seed)
    else:
        protocol = captioned_folder(Path(dataset), seed=seed)
    extractor = None
    if preset == "best":
        extractor, learner = best(workers=workers, max_words=protocol.max_words, seed=seed)
        model, features = learner.name, "cnn, four views"
    else:
        if features is not None:
            check_features(features)
        learner = make_model(model, max_words=protocol.max_words, seed=seed)
        features = features or BLOCKS_FOR[learner.takes]
        if learner.takes == "blocks":
            learner.set_params(numbers=block_numbers(features))
    seconds = Seconds()
    with progress_bar() as progress:
        with seconds.on("features"):
            if extractor is not None:
                vectors = describe(protocol, extractor, progress=progress)
            else:
                vectors = describe_by(
                    protocol,
                    features,
                    counts=learner.takes == "counts",
                    workers=workers,
                    seed=seed,
                    progress=progress,
                )
        outcome = run(protocol, vectors, learner, seconds, progress=progress)
    found = {"dataset": dataset, "model": model, "features": features} | outcome.to_json()
    if json:
        print_json(found)
    else:
        from visterm.experiments.reports import outcome_text

        typer.echo(outcome_text(f"{dataset}, {model} on {features}", outcome))
