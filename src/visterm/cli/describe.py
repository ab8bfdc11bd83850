"""visterm describe: what pictures show, in words, phrases and captions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visterm.cli.messages import say
from visterm.cli.options import Folder, Json, Store
from visterm.cli.output import print_json, progress_bar
from visterm.errors import BadInput

if TYPE_CHECKING:
    from visterm.collection import Url

EVEN = 0.5
"""What is more likely than not is written, unless another probability is named."""


def describe(
    pictures: Annotated[
        list[str], typer.Argument(help="Pictures, in the collection or anywhere else.")
    ],
    words: Annotated[int, typer.Option(min=0, help="How many words at most.")] = 10,
    phrases: Annotated[int, typer.Option(min=0, help="How many phrases at most.")] = 5,
    captions: Annotated[int, typer.Option(min=0, help="How many captions at most.")] = 3,
    write_xmp: Annotated[
        bool, typer.Option("--write-xmp", help="Write likely words into XMP sidecars.")
    ] = False,
    with_captions: Annotated[
        bool,
        typer.Option(
            "--with-captions", help="Write phrases and captions of the pictures most alike, too."
        ),
    ] = False,
    least: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Write words at least so likely; else 0.5."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what --write-xmp would change, as a diff.")
    ] = False,
    collection: Folder = Path("."),
    store: Store = None,
    json: Json = False,
) -> None:
    """Say what pictures show, in words, phrases and captions.

    What a picture is likely to show is what the collection's model predicts. With
    --write-xmp, words that are likely enough go into the picture's sidecar as keywords, marked as
    visterm's; what people wrote there stays as it is, and nothing is ever written into a picture.
    What the captions of other pictures say is written only where --with-captions asks for it.
    """
    from visterm.cli import description_output as output
    from visterm.collection import as_path

    named = [as_path(one) for one in pictures]
    about_sidecars = {
        "--dry-run": dry_run,
        "--least": least is not None,
        "--with-captions": with_captions,
    }
    for option in [name for name, given in about_sidecars.items() if given and not write_xmp]:
        raise BadInput(f"{option} is about what --write-xmp writes; give both")
    _check_files(named, write_xmp=write_xmp)
    with output.opened_for(named, collection, store) as found:
        said = output.tagged_phrases(phrases)
        with progress_bar(hidden=len(named) < 50) as progress:
            descriptions = found.descriptions(
                named, words=words, phrases=said, captions=captions, progress=progress
            )
            likely = EVEN if least is None else least
            described = [
                output.written(one, likely, with_captions=with_captions, dry_run=dry_run)
                if write_xmp
                else output.Described(one)
                for one in descriptions
            ]
    if json:
        print_json(output.as_object(described))
    else:
        output.print_descriptions(described)
    output.report_problems(described)
    predicted = [word for one in described for word in one.about.words]
    if write_xmp and predicted and all(word.probability is None for word in predicted):
        say("too few captions to know how likely words are, so no word is written")
    if all(one.about.reason is not None for one in described):
        raise typer.Exit(1)


def _check_files(pictures: list[Path | Url], *, write_xmp: bool) -> None:
    for path in pictures:
        if isinstance(path, str):
            if write_xmp:
                raise BadInput(f"{path} lies elsewhere, and sidecars are written to files only")
        elif path.is_dir():
            raise BadInput(
                f"{path} is a folder; name pictures, as in visterm describe {path}/*.jpg"
            )
