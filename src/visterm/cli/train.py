"""visterm train: learn what words look like."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visterm import PUBLIC_NAMES
from visterm.cli.options import Folder, Json, Ray, Store, opened
from visterm.cli.output import progress_bar, show
from visterm.errors import BadInput

if TYPE_CHECKING:
    from visterm.collection import Trained

# From the table of public names, because the models themselves take a second to load.
NAMES = [
    re.sub(r"\B(?=[A-Z])", "-", name).lower()
    for name in PUBLIC_NAMES["models"].split()
    if name[0].isupper()
]


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
    ray: Ray = None,
    json: Json = False,
) -> None:
    """Learn from all captions, and keep what is better.

    A tenth of the captioned pictures is held out, or those of --validation; AvgP on it is shown
    beside that of the model before. The new model answers from then on, unless it is worse.
    """
    import time

    from visterm.features.notation import parse_named

    name, parameters = parse_named(model)
    own = {"model", "force", "validation", "ray", "progress"}  # of train, not of any model
    for word in parameters.keys() & own:
        raise BadInput(f"{name} has no parameter {word!r}")
    began = time.perf_counter()
    with opened(collection, store) as found, progress_bar() as progress:
        if training is not None:
            found.caption_from(training)
        held = None if validation is None else found.caption_from(validation).numbers
        done = found.train(
            model=name, force=force, validation=held, ray=ray, progress=progress, **parameters
        )
    seconds = time.perf_counter() - began
    found_out = {**asdict(done), "seconds": round(seconds, 3)}
    show(found_out, *_lines(done, seconds), json=json)


def _lines(done: Trained, seconds: float) -> Iterator[str]:
    yield f"learnt {done.words:,} words from {done.pictures:,} pictures in {seconds:.1f} s"
    if done.unseen_words:
        yield f"{done.unseen_words:,} other words cannot be seen in them, and are found in captions"
    if done.avgp is None:
        yield f"{done.held_out} held-out pictures are too few to measure how well"
    else:
        yield f"AvgP on {done.held_out:,} held-out pictures: {_percent(done.avgp)}"
        yield f"  a random order: {_percent(done.untrained_avgp)}"
        if done.previous_avgp is not None:
            yield f"  the model before: {_percent(done.previous_avgp)}"
    if done.interrupted:
        yield "you stopped it; this is the best model until then"
    if done.kept == "previous":
        yield "it is worse, so the model before stays; --force takes the new one"
    if done.advice is not None:
        yield done.advice


def _percent(fraction: float | None) -> str:
    return "unknown" if fraction is None else f"{100 * fraction:.1f} %"
