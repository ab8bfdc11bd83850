"""visterm remove: forget pictures, and leave their files alone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visterm.cli.options import Folder, Json, Store, opened
from visterm.cli.output import show
from visterm.errors import BadInput

if TYPE_CHECKING:
    from visterm.collection import Collection


def remove(
    paths: Annotated[
        list[str] | None, typer.Argument(help="Pictures, folders or URLs to forget.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--everything", help="Forget the whole collection.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before --everything.")] = False,
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
            _confirm(found, yes=yes)
            found.forget_everything()
        else:
            count = found.remove(paths or [])
    line = f"{count:,} pictures forgotten; their files are untouched"
    show({"removed": count}, line, json=json)


def _confirm(found: Collection, *, yes: bool) -> None:
    """What people gave cannot be made again: ask before it is deleted."""
    status = found.status()
    if yes or not (status.captioned or status.judgements):
        return
    said = f"{status.captioned:,} captioned pictures and {status.judgements:,} answers"
    if not sys.stdin.isatty():
        raise BadInput(
            f"this forgets {said}; say --yes, or keep them first: visterm export --as backup "
            "--to FILE"
        )
    if not typer.confirm(f"Forget {said} of {found.root}?", err=True):
        raise typer.Exit(1)
