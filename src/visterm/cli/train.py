"""visterm train and starter: learn what words look like, and share it between collections."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visterm import PUBLIC_NAMES
from visterm.cli.options import Answer, Ray, on_collection
from visterm.cli.output import counted, progress_bar
from visterm.cli.render import trained_lines
from visterm.errors import BadInput

if TYPE_CHECKING:
    from visterm.collection import Collection

# From the table of public names, because the models themselves take a second to load.
NAMES = [
    re.sub(r"\B(?=[A-Z])", "-", name).lower()
    for name in PUBLIC_NAMES["models"].split()
    if name[0].isupper()
]


@on_collection
def train(
    collection: Collection,
    model: Annotated[
        str | None,
        typer.Option(
            help=f"Which model learns: {', '.join(NAMES)}; with parameters: bitr(loss=manhattan). "
            "By default ridge, or pamir for features that count."
        ),
    ] = None,
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
    ray: Ray = None,
) -> Answer:
    """Learn from all captions, and keep what is better.

    A tenth of the captioned pictures is held out, or those of --validation; AvgP on it is shown
    beside that of the model before. The new model answers from then on, unless it is worse.

    Example: visterm train --model "pamir(C=0.1)"
    """
    import time

    from visterm.features.notation import parse_named

    name, parameters = (None, {}) if model is None else parse_named(model)
    own = {"model", "force", "validation", "ray", "progress"}  # of train, not of any model
    for word in parameters.keys() & own:
        raise BadInput(f"{name} has no parameter {word!r}")
    began = time.perf_counter()
    with progress_bar() as progress:
        if training is not None:
            collection.caption_from(training)
        held = None if validation is None else collection.caption_from(validation).numbers
        done = collection.train(
            model=name, force=force, validation=held, ray=ray, progress=progress, **parameters
        )
    seconds = time.perf_counter() - began
    return {**vars(done), "seconds": round(seconds, 3)}, trained_lines(done, seconds)


starter = typer.Typer(
    name="starter",
    help="Share what a collection knows of words with another.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@starter.command()
@on_collection
def export(
    collection: Collection,
    file: Annotated[Path, typer.Argument(help="The file to write.")],
) -> Answer:
    """Write words, weights, calibration and provenance of what answers here; no pictures.

    Words of your captions, names too, are among the words.

    Example: visterm starter export birds.starter
    """
    about = collection.export_starter(file)
    captioned = counted(about["captioned"], "captioned picture")
    lines = [
        f"{file}: {counted(about['words'], 'word')}, trained on {captioned}",
        f"visterm starter use {file} begins another collection with them",
    ]
    return about | {"file": file}, lines


@starter.command()
@on_collection
def use(
    collection: Collection,
    file: Annotated[
        Path | None, typer.Argument(help="A file that was exported; visterm's own without any.")
    ] = None,
) -> Answer:
    """Answer with a starter that was exported elsewhere, and train from it.

    A model that was trained here goes on answering until visterm train.

    Example: visterm starter use birds.starter
    """
    with progress_bar() as progress:
        about = collection.use_starter(file, progress=progress)
    then = "visterm train starts from it" if collection.is_trained else "it answers from now on"
    words = counted(about.get("words", 0), "word")
    source = "visterm's own starter" if file is None else f"{words} of {file}"
    return about | {"file": file}, f"{source}: {then}"
