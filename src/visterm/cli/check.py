"""visterm check: is everything there, and as it was written?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visterm.cli.options import Folder, Json, Store


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
    from visterm.cli.messages import skipping
    from visterm.cli.options import opened
    from visterm.cli.output import print_json, progress_bar

    with opened(collection, store) as found, progress_bar() as progress:
        done = found.check(repair=repair, progress=progress, on_skip=skipping)
    if json:
        names = ("problems", "repaired", "files")
        print_json({name: getattr(done, name) for name in names})
    else:
        for line in (*done.problems, *done.repaired):
            typer.echo(line)
        if done.is_well:
            typer.echo("all is well")
        elif not repair:
            typer.echo("visterm check --repair rebuilds what can be rebuilt")
    if not done.is_well:
        raise typer.Exit(1)
