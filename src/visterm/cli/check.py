"""visterm check: verify a collection's files and index, and rebuild what is damaged."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visterm.cli.messages import skipping
from visterm.cli.options import Folder, Json, Store, opened
from visterm.cli.output import progress_bar, show


def check(
    repair: Annotated[bool, typer.Option("--repair", help="Rebuild what can be rebuilt.")] = False,
    collection: Folder = Path("."),
    store: Store = None,
    json: Json = False,
) -> None:
    """Verify a collection, and mend it with --repair.

    Every file is compared with its hash, rows with the catalogue, the index with the model. Exit
    code 1 says that something is wrong.
    """
    with opened(collection, store) as found, progress_bar() as progress:
        done = found.check(repair=repair, progress=progress, on_skip=skipping)
    lines = [*done.problems, *done.repaired]
    if done.is_well:
        lines.append("all is well")
    elif not (repair or done.bad_catalogue):
        lines.append("visterm check --repair rebuilds what can be rebuilt")
    found_out = {name: getattr(done, name) for name in ("problems", "repaired", "files")}
    show(found_out, *lines, json=json)
    if not done.is_well:
        raise typer.Exit(1)
