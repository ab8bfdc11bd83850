"""visterm add: find pictures and extract their features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from visterm.cli.messages import counted, say, skipping, summary
from visterm.cli.options import Folder, Json, Ray, Store, opened
from visterm.cli.output import progress_bar, show
from visterm.errors import BadInput

if TYPE_CHECKING:
    from visterm.collection import Added, Collection


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
    What lies elsewhere is added to the collection of -C or of the folder you stand in:
    visterm add s3://archive/sea -C ~/archive.
    """
    import time

    from visterm.collection import Stopped

    began = time.perf_counter()
    with opened(_home(collection, store, paths or []), store, create=True) as found:
        try:
            with progress_bar() as progress:
                report = found.add(
                    paths or [],
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
        show(_object(found, report, seconds), *_lines(found, report, seconds), json=json)


def _home(folder: Path, store: Path | None, named: list[str]) -> Path:
    """The folder whose collection is meant: ``visterm add ~/Pictures`` speaks of that one.

    URLs, shards and tables say nothing about it: -C does, or the folder one stands in.
    """
    from visterm.collection import is_container, locate

    home = locate(folder, store)
    paths = [Path(one) for one in named if not is_container(one)]
    if store is not None or not paths:
        return folder
    if home.exists and all(map(home.holds, paths)):
        return folder
    folders = [path if path.is_dir() else path.parent for path in paths]
    if len(paths) == 1:
        return folders[0]
    others = {found for found in map(locate, folders) if found.exists}
    if len(others) == 1 and all(map(next(iter(others)).holds, paths)):
        return next(iter(others)).root
    if others:
        roots = " and ".join(sorted(str(other.root) for other in others))
        raise BadInput(f"not all of these paths lie in {roots}; add to one collection at a time")
    return folder if all(map(home.holds, folders)) else folders[0]


def _object(found: Collection, report: Added, seconds: float) -> dict[str, Any]:
    return {
        **asdict(report),
        "skipped": [{"path": path, "reason": reason} for path, reason in report.skipped],
        "pictures": len(found),
        "folder": str(found.root),
        "seconds": round(seconds, 3),
    }


def _lines(found: Collection, report: Added, seconds: float) -> Iterator[str]:
    rate = f", {report.extracted / seconds:,.0f} pictures a second" if report.extracted else ""
    yield f"{summary(report)} in {seconds:.1f} s{rate}"
    if report.nodes:
        again = counted(report.retries, "batch", "batches")
        yield f"described on {counted(report.nodes, 'node')}, {again} begun again"
    yield f"{found.root} holds {len(found):,} pictures"
    if found.needs_training:
        yield "the model learnt from other features; visterm train learns from these"
    if not found.is_trained and found.has_captions:
        yield "visterm train learns from their captions"
    elif not found.is_trained:
        yield "No captions yet: visterm caption PICTURE WORDS, or visterm caption --from TABLE"
