"""visterm train: learn what words look like."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visterm.cli.options import Folder, Json, Store

NAMES = (
    "pamir",
    "kernel-pamir",
    "bbnn",
    "cmrm",
    "cmtt",
    "plsa",
    "svm",
    "cca",
    "bitr",
    "knn",
    "wsabie",
)


def train(
    model: Annotated[
        str,
        typer.Option(
            help=f"Which model learns: {', '.join(NAMES)}; with parameters: bitr(loss=manhattan)."
        ),
    ] = "pamir",
    training: Annotated[
        Path | None,
        typer.Option("--train", help="Take captions from this table first, as caption --from."),
    ] = None,
    validation: Annotated[
        Path | None,
        typer.Option(help="Hold out the pictures of this table, with its captions, to measure by."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Take the new model even if it is worse.")
    ] = False,
    collection: Folder = Path("."),
    store: Store = None,
    json: Json = False,
) -> None:
    """Learn from all captions, and keep what is better.

    A tenth of the captioned pictures is held out, or those of --validation; AvgP on it is shown
    beside that of the model before. The new model answers from then on, unless it is worse.
    """
    import time
    from dataclasses import asdict

    from visterm.cli.options import opened
    from visterm.cli.output import print_json, progress_bar
    from visterm.errors import BadInput
    from visterm.features.notation import parse_named

    name, parameters = parse_named(model)
    own = {"model", "force", "validation", "progress"}  # of train, not of any model
    for word in parameters.keys() & own:
        raise BadInput(f"{name} has no parameter {word!r}")
    began = time.perf_counter()
    with opened(collection, store) as found, progress_bar() as progress:
        if training is not None:
            found.caption_from(training)
        held = None if validation is None else found.caption_from(validation).numbers
        done = found.train(
            model=name, force=force, validation=held, progress=progress, **parameters
        )
    seconds = time.perf_counter() - began
    if json:
        print_json({**asdict(done), "seconds": round(seconds, 3)})
        return
    typer.echo(f"learnt {done.words:,} words from {done.pictures:,} pictures in {seconds:.1f} s")
    if done.avgp is None:
        typer.echo(f"{done.held_out} held-out pictures are too few to measure how well")
    else:
        typer.echo(f"AvgP on {done.held_out:,} held-out pictures: {_percent(done.avgp)}")
        typer.echo(f"  a random order: {_percent(done.untrained_avgp)}")
        if done.previous_avgp is not None:
            typer.echo(f"  the model before: {_percent(done.previous_avgp)}")
    if done.kept == "previous":
        typer.echo("it is worse, so the model before stays; --force takes the new one")
    if done.advice is not None:
        typer.echo(done.advice)


def _percent(fraction: float | None) -> str:
    return "unknown" if fraction is None else f"{100 * fraction:.1f} %"
