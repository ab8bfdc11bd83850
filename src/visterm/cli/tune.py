"""visterm tune: which features, kernel, objective and C rank validation pictures best."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visterm.cli.benchmarks import (
    Data,
    Dataset,
    Labels,
    Seed,
    Train,
    Validation,
    Workers,
    dataset_of,
    reported,
)
from visterm.cli.options import Answer, Ray, answering


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
