"""visterm watch: keep a collection in step with its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visterm.cli.messages import say, skipping, summary
from visterm.cli.options import Folder, Json, Store, opened


def watch(
    poll: Annotated[
        bool | None,
        typer.Option(
            "--poll/--no-poll", help="Ask for changes, as network drives need; else it is found."
        ),
    ] = None,
    learn: Annotated[
        bool, typer.Option("--learn", help="Train by itself when enough captions have changed.")
    ] = False,
    collection: Folder = Path("."),
    store: Store = None,
    json: Json = False,
) -> None:
    """Notice pictures that come, go, move and change.

    New pictures are described in the background, and what was said while somebody else was writing
    is done. Ctrl-C ends it. visterm serve watches, too.
    """
    from dataclasses import asdict
    from json import dumps

    from visterm.collection import follow

    with opened(collection, store, create=True) as found:
        say(f"watching {found.root}; Ctrl-C ends it")
        for news in follow(found, polling=poll, learns=learn, on_skip=skipping):
            if json:
                print(dumps({**asdict(news.added), "trained": news.trained}), flush=True)
            elif news.trained or (line := summary(news.added)) != "nothing new":
                print("learnt from the captions" if news.trained else line, flush=True)
