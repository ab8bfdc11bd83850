"""visterm describe: what pictures show, in words, phrases and captions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visterm.cli.options import Folder, Json, Store


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
    from visterm.cli.description_output import Asked, answer
    from visterm.collection import as_path

    answer(
        Asked(
            [as_path(one) for one in pictures],
            words=words,
            phrases=phrases,
            captions=captions,
            write_xmp=write_xmp,
            with_captions=with_captions,
            least=least,
            dry_run=dry_run,
            collection=collection,
            store=store,
            json=json,
        )
    )
