"""visterm caption: write captions, one by one or from a table, and show them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visterm.cli.export import ListFile, chosen
from visterm.cli.messages import say
from visterm.cli.options import Folder, Json, Store, opened
from visterm.cli.output import show
from visterm.errors import BadInput


def caption(
    picture: Annotated[str | None, typer.Argument(help="The picture to speak of.")] = None,
    words: Annotated[
        list[str] | None, typer.Argument(help='What is to be seen in it; "" takes it back.')
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option("--from", help="A CSV, TSV or JSON-lines table of paths and texts."),
    ] = None,
    listed: ListFile = None,
    more: Annotated[
        bool, typer.Option("--more", help="With --list: add the words to what is there.")
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Take back the last --list, as one step.")
    ] = False,
    collection: Folder = Path("."),
    store: Store = None,
    json: Json = False,
) -> None:
    """Caption pictures by hand or from a table.

    What you say about a picture wins over words found in its file or in a table. Without words its
    captions are shown, with where they come from.
    """
    from visterm.collection import as_path

    if undo or listed is not None:
        with opened(collection, store) as found:
            said = " ".join([picture or "", *(words or [])]).strip()
            many = (
                found.undo_step()
                if undo
                else found.caption_many(chosen(found, [], listed), said, more=more)
            )
        line = f"{many:,} pictures {'as before' if undo else 'captioned'}"
        show({"pictures": many}, line, json=json)
        return
    if (picture is None) == (table is None):
        raise BadInput("name a picture and its words, or a table with --from")
    with opened(collection, store) as found:
        if table is not None:
            report = found.caption_from(table)
            if report.unknown:
                some = ", ".join(report.unknown[:3])
                say(f"{len(report.unknown):,} rows name no picture of the collection: {some}")
            line = f"{report.pictures:,} pictures captioned; visterm train learns from them"
            show({"pictures": report.pictures, "unknown": report.unknown}, line, json=json)
            return
        named = as_path(picture or "")
        if words:
            found.caption(named, " ".join(words))
        known = found.captions(named)
    lines = [f"{source:<24} {text.replace(chr(10), ' · ')}" for source, text in known.items()]
    show({"picture": str(named), "captions": known}, *(lines or ["no captions"]), json=json)
