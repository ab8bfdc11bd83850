"""visterm remove: forget pictures, and leave their files alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visterm.cli.options import Folder, Json, Store, opened
from visterm.cli.output import show
from visterm.errors import BadInput


def remove(
    paths: Annotated[
        list[str] | None, typer.Argument(help="Pictures, folders or URLs to forget.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--everything", help="Forget the whole collection.")
    ] = False,
    collection: Folder = Path("."),
    store: Store = None,
    json: Json = False,
) -> None:
    """Forget pictures, their captions and vectors.

    The picture files stay. What was removed stays out until visterm add names it again.
    """
    if bool(paths) == everything:
        raise BadInput("name pictures or folders to forget, or --everything")
    with opened(collection, store) as found:
        if everything:
            count = len(found)
            found.forget_everything()
        else:
            count = found.remove(paths or [])
    line = f"{count:,} pictures forgotten; their files are untouched"
    show({"removed": count}, line, json=json)
