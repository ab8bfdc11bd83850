"""What the commands on a collection share: the options that say which one is meant."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from visterm.collection import Collection

Folder = Annotated[
    Path,
    typer.Option("--collection", "-C", help="A folder of the collection; else where you are."),
]
Store = Annotated[
    Path | None,
    typer.Option(help="Keep what is known in this folder, not in .visterm beside the pictures."),
]
Ray = Annotated[
    str | None,
    typer.Option(
        help="Work on a Ray cluster: auto (the one this machine is part of, else one begun here), "
        "local (one begun here), or its address."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def opened(folder: Path, store: Path | None, *, create: bool = False) -> Collection:
    """The collection that a command is about."""
    from visterm.collection import Collection

    return Collection.open(folder, store=store, create=create)
