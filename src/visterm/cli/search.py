"""visterm search: pictures for words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visterm.cli.options import Folder, Json, Store


def search(
    query: Annotated[
        list[str] | None,
        typer.Argument(
            help="Words, -word, word:2, in:FOLDER, captioned:no, 2019-07, after:2019, before:2020, "
            "near:38.7,-9.1,5km, type:video; best in quotes."
        ),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-k", min=1, help="How many pictures.")] = 20,
    like: Annotated[
        str | None,
        typer.Option(help="Rank by likeness to this picture, and by words if there are any."),
    ] = None,
    space: Annotated[
        str,
        typer.Option(
            help="words, or lsa, sentences (any language) or encoder for whole sentences."
        ),
    ] = "words",
    sort: Annotated[
        str, typer.Option(help="By relevance, or by time: those taken last first.")
    ] = "relevance",
    good: Annotated[
        bool, typer.Option("--good", help="Only good matches: as many as answer, up to the limit.")
    ] = False,
    fold: Annotated[bool, typer.Option("--fold", help="Show near-duplicates once.")] = False,
    paths: Annotated[bool, typer.Option("--paths", help="Print paths only, for pipes.")] = False,
    preview: Annotated[
        bool, typer.Option("--preview", help="Show thumbnails, where the terminal can.")
    ] = False,
    as_is: Annotated[
        bool, typer.Option("--as-is", help="Do not look for new pictures first.")
    ] = False,
    partial: Annotated[
        bool,
        typer.Option("--partial", help="Of a new folder, answer from its first pictures, and end."),
    ] = False,
    collection: Folder = Path("."),
    store: Store = None,
    json: Json = False,
) -> None:
    """Rank pictures by words, or by likeness to a picture.

    In a folder that is no collection yet, its pictures are indexed first, and a first answer comes
    from the newest few hundred (with --json only if --partial asks for it); pictures that came
    since the last time are added. Example: visterm search "snow:2 tree -people in:alps 2019".
    """
    from visterm.cli.quick_search import SearchOptions
    from visterm.cli.search_command import run
    from visterm.collection import as_path

    run(
        SearchOptions(
            " ".join(query or []),
            limit=limit,
            like=None if like is None else as_path(like),
            space=space,
            sort=sort,
            good=good,
            fold=fold,
            paths=paths,
            preview=preview,
            as_is=as_is,
            partial=partial,
            collection=collection,
            store=store,
            json=json,
        )
    )
