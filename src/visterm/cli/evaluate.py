"""visterm evaluate: how good a model is on a benchmark."""

from __future__ import annotations

from typing import Annotated

import typer

from visterm.cli.benchmarks import Data, Dataset, Seed, Workers
from visterm.cli.collections import Json
from visterm.cli.train import NAMES


def evaluate(
    dataset: Dataset,
    data: Data = None,
    model: Annotated[str, typer.Option(help=f"Which model: {', '.join(NAMES)}.")] = "pamir",
    features: Annotated[
        str | None,
        typer.Option(
            help="Which features to describe pictures by, such as blocks+cnn or cnn(size=288); "
            "blob-tokens are Corel's own. By default blocks, as the model takes them."
        ),
    ] = None,
    preset: Annotated[str | None, typer.Option(help="Features and model together: best.")] = None,
    seed: Seed = 0,
    workers: Workers = None,
    json: Json = False,
) -> None:
    """Measure a model on a benchmark.

    Hyper-parameters are chosen on validation pictures; test pictures are ranked once.
    """
    from visterm.cli.output import print_json, progress_bar
    from visterm.experiments.runner.model_evaluation import evaluate, evaluate_preset
    from visterm.experiments.runner.protocol import protocol_of

    protocol = protocol_of(dataset, data, seed=seed)
    with progress_bar() as progress:
        if preset is not None:
            found = evaluate_preset(protocol, preset, workers=workers, progress=progress)
        else:
            found = evaluate(protocol, model, features, workers=workers, progress=progress)
    if json:
        print_json(
            {"dataset": dataset, "model": found.model, "features": found.features}
            | found.outcome.to_json()
        )
    else:
        from visterm.experiments.runner.reports import outcome_text

        title = f"{dataset}, {found.model} on {found.features}"
        typer.echo(outcome_text(title, found.outcome))
