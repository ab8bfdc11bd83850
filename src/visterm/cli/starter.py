"""visterm starter: share what a collection has learnt of words, and begin with what others did."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visterm.cli.options import Folder, Json, Store, opened
from visterm.cli.output import progress_bar, show

starter = typer.Typer(
    name="starter",
    help="Share what a collection knows of words with another.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@starter.command()
def export(
    file: Annotated[Path, typer.Argument(help="The file to write.")],
    collection: Folder = Path("."),
    store: Store = None,
    json: Json = False,
) -> None:
    """Write words, weights, calibration and provenance of what answers here; no pictures.

    Words of your captions, names too, are among the words.
    """
    with opened(collection, store) as found:
        about = found.export_starter(file)
    show(
        about | {"file": str(file)},
        f"{file}: {about['words']:,} words, trained on {about['captioned']:,} captioned pictures",
        f"visterm starter use {file} begins another collection with them",
        json=json,
    )


@starter.command()
def use(
    file: Annotated[
        Path | None, typer.Argument(help="A file that was exported; visterm's own without any.")
    ] = None,
    collection: Folder = Path("."),
    store: Store = None,
    json: Json = False,
) -> None:
    """Answer with a starter that was exported elsewhere, and train from it.

    A model that was trained here goes on answering until visterm train.
    """
    with opened(collection, store) as found, progress_bar() as progress:
        about = found.use_starter(file, progress=progress)
        trained = found.is_trained
    then = "visterm train starts from it" if trained else "it answers from now on"
    named = (
        "visterm's own starter" if file is None else f"{about.get('words', 0):,} words of {file}"
    )
    show(about | {"file": None if file is None else str(file)}, f"{named}: {then}", json=json)
