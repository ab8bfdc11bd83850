"""visterm add and watch: find pictures and extract their features, once or as they come."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visterm.cli.options import Folder, Json, Ray, Store
from visterm.cli.output import progress_bar, say, show, skipping, summary
from visterm.errors import BadInput


def add(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            help="Folders, pictures, .tar shards, tables of locations, or URLs (s3, gs, http, "
            "https, file) of these; else the whole collection."
        ),
    ] = None,
    collection: Folder = Path("."),
    store: Store = None,
    features: Annotated[
        str | None,
        typer.Option(help="Extract these features: cnn, cnn(size=288), blocks+cnn, onnx:FILE …"),
    ] = None,
    names: Annotated[
        str | None,
        typer.Option(help="Let words of names count: none, files, folders or both."),
    ] = None,
    folders: Annotated[
        bool | None,
        typer.Option(
            "--folders/--no-folders", help="Let folder names count, and learn from them, too."
        ),
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes at work.")] = None,
    ray: Ray = None,
    json: Json = False,
) -> None:
    """Find new, changed, moved and vanished pictures.

    The first time it makes the folder a collection. Renamed and moved pictures keep their captions
    and cost nothing; a file that cannot be read is named and skipped. Ctrl-C keeps what is done.
    What lies elsewhere is added to the collection of -C or of the folder you stand in.

    Example: visterm add s3://archive/sea -C ~/archive
    """
    import time

    from visterm.cli.render import added_lines
    from visterm.collection import Collection, Stopped

    began, named = time.perf_counter(), paths or []
    with Collection.open(_home(collection, store, named), store=store) as opened:
        try:
            with progress_bar() as progress:
                report = opened.add(
                    named,
                    features=features,
                    names=names,
                    folders=folders,
                    n_jobs=workers,
                    ray=ray,
                    progress=progress,
                    on_skip=skipping,
                )
        except Stopped as stopped:
            say(f"stopped; kept so far: {summary(stopped.report)}; visterm add goes on from there")
            raise typer.Exit(130) from None
        seconds = time.perf_counter() - began
        answer = {
            **vars(report),
            "skipped": [{"path": path, "reason": reason} for path, reason in report.skipped],
            "pictures": len(opened),
            "folder": opened.root,
            "seconds": round(seconds, 3),
        }
        show(answer, added_lines(opened, report, seconds), json=json)


def _home(folder: Path, store: Path | None, named: list[str]) -> Path:
    """The folder whose collection is meant: ``visterm add ~/Pictures`` speaks of that one.

    URLs, shards and tables say nothing about it: -C does, or the folder one stands in.
    """
    from visterm.collection import is_container, locate

    home = locate(folder, store)
    paths = [Path(path) for path in named if not is_container(path)]
    if store is not None or not paths or (home.exists and all(map(home.holds, paths))):
        return folder
    folders = [path if path.is_dir() else path.parent for path in paths]
    if len(paths) == 1:
        return folders[0]
    others = {other for other in map(locate, folders) if other.exists}
    if len(others) == 1 and all(map(next(iter(others)).holds, paths)):
        return next(iter(others)).root
    if others:
        roots = " and ".join(sorted(str(other.root) for other in others))
        raise BadInput(f"not all of these paths lie in {roots}; add to one collection at a time")
    return folder if all(map(home.holds, folders)) else folders[0]


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

    Example: visterm watch -C ~/Pictures
    """
    from visterm.collection import Collection, follow
    from visterm.json_text import json_text

    with Collection.open(collection, store=store) as opened:
        say(f"watching {opened.root}; Ctrl-C ends it")
        for news in follow(opened, polling=poll, learns=learn, on_skip=skipping):
            if json:
                print(json_text({**vars(news.added), "trained": news.trained}), flush=True)
            elif news.trained or (line := summary(news.added)) != "nothing new":
                print("learnt from the captions" if news.trained else line, flush=True)
