"""visterm duplicates: groups of pictures that are one picture, with the best one of each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visterm.cli.options import Folder, Json, Store, opened
from visterm.cli.output import progress_bar, show


def duplicates(
    others: Annotated[
        bool, typer.Option("--others", help="Print the paths of all but the best, for pipes.")
    ] = False,
    collection: Folder = Path("."),
    store: Store = None,
    json: Json = False,
) -> None:
    """Find copies, crops and other versions of pictures.

    Other sizes, encodings and colours, too. Of each group the one with the most pixels is proposed
    to be kept. Nothing is deleted.
    """
    from visterm.cli.messages import shown

    with opened(collection, store) as found, progress_bar() as progress:
        groups = found.near_duplicates(progress=progress)
        numbers = [one for group in groups for one in (group.best, *group.others)]
        paths = {
            number: [file.at(found.root) for file in record.files]
            for number, record in found.records(numbers).items()
        }
    listed = [[path for one in group.others for path in paths.get(one, [])] for group in groups]
    best = [paths[group.best][0] for group in groups]
    copies = [paths[group.best][1:] for group in groups]
    lines = []
    for keep, same, rest in zip(best, copies, listed, strict=True):
        if others:
            lines += [shown(path) for path in (*same, *rest)]
        else:
            lines += [f"{shown(keep)}", *(f"    {shown(path)}" for path in (*same, *rest))]
    if not others:
        lines.append(f"{len(groups):,} groups; the first of each is the best one")
    show(
        {
            "groups": [
                {"best": str(keep), "others": [str(path) for path in (*same, *rest)]}
                for keep, same, rest in zip(best, copies, listed, strict=True)
            ]
        },
        *lines,
        json=json,
    )
