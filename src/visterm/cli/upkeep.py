"""visterm add, upgrade, watch, status, check, duplicates and remove: a collection in order."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from visterm.cli.options import Answer, Folder, Json, Ray, Store, on_collection
from visterm.cli.output import (
    AVGP,
    added_lines,
    counted,
    progress_bar,
    say,
    short_path,
    skipping,
    status_lines,
    summary,
)
from visterm.errors import BadInput

if TYPE_CHECKING:
    from visterm.collection import Collection


def _home(folder: Path, store: Path | None, options: Mapping[str, Any]) -> Path:
    """The folder whose collection is meant: ``visterm add ~/Pictures`` speaks of that one.

    URLs, shards and tables say nothing about it: -C does, or the folder one stands in.
    """
    from visterm.collection import is_container, locate

    home = locate(folder, store)
    paths = [Path(path) for path in options["paths"] or () if not is_container(path)]
    if store is not None or not paths or (home.exists and all(map(home.holds, paths))):
        return folder
    for path in paths:  # before a folder above what was mistyped is made a collection
        if not path.exists():
            raise BadInput(f"there is no {path}")
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


@partial(on_collection, where=_home, create=True)
def add(
    collection: Collection,
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            help="Folders, pictures, .tar shards, tables of locations, or URLs (s3, gs, http, "
            "https, file) of these; else the whole collection."
        ),
    ] = None,
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
    ocr: Annotated[
        bool | None,
        typer.Option("--ocr/--no-ocr", help="Read text in pictures, too (signs, scans)."),
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes at work.")] = None,
    ray: Ray = None,
) -> Answer:
    """Find new, changed, moved and vanished pictures.

    The first time it makes the folder a collection. Renamed and moved pictures keep their captions
    and cost nothing; a file that cannot be read is named and skipped. Ctrl-C keeps what is done.
    What lies elsewhere is added to the collection of -C or of the folder you stand in.

    Example: visterm add s3://archive/sea -C ~/archive
    """
    import time

    from visterm.collection import Stopped

    began = time.perf_counter()
    try:
        with progress_bar() as progress:
            report = collection.add(
                paths or (),
                features=features,
                names=names,
                folders=folders,
                ocr=ocr,
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
        "pictures": len(collection),
        "folder": collection.root,
        "seconds": round(seconds, 3),
    }
    return answer, added_lines(collection, report, seconds)


@on_collection
def upgrade(
    collection: Collection,
    features: Annotated[
        str, typer.Option(help="The features to change to: dinov2-small, cnn(size=288), cnn …")
    ],
    drop: Annotated[
        bool, typer.Option("--drop", help="Delete the vectors of other features afterwards.")
    ] = False,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes at work.")] = None,
    ray: Ray = None,
) -> Answer:
    """Change to other features, once every picture has them.

    Until then searches answer by the features of before. Ctrl-C keeps what is done, and the same
    command goes on from there. Captions and clicks are learnt again. visterm undo changes back.

    Example: visterm upgrade --features dinov2-small
    """
    with progress_bar() as progress:
        done = collection.upgrade(
            features, drop=drop, n_jobs=workers, ray=ray, progress=progress, on_skip=skipping
        )
    held = "" if done.avgp is None else f", {AVGP} {100 * done.avgp:.1f} % on held-out captions"
    lines = [f"{counted(done.pictures, 'picture')} described by {features}{held}"]
    if done.dropped:
        lines.append(f"deleted: the vectors of {', '.join(done.dropped)}")
    elif done.switched:
        lines.append("visterm undo changes back; --drop frees the space of the features of before")
    return vars(done), lines


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
            elif line := "learnt from the captions" if news.trained else summary(news.added):
                print(line, flush=True)


@on_collection
def status(collection: Collection, ray: Ray = None) -> Answer:
    """Show pictures, captions, words, model, index and sizes.

    Example: visterm status -C ~/Pictures
    """
    counts = collection.status()
    answer: dict[str, Any] = dict(vars(counts))
    if ray is None:
        return answer, status_lines(counts)
    from visterm.collection import cluster_status

    answer["cluster"] = cluster_status(ray, collection.store)
    return answer, status_lines(counts, answer["cluster"])


@on_collection
def check(
    collection: Collection,
    repair: Annotated[bool, typer.Option("--repair", help="Rebuild what can be rebuilt.")] = False,
) -> Answer:
    """Verify a collection, and repair it with --repair.

    Every file is compared with its hash, rows with the catalogue, the index with the model. Exit
    code 1 says that something is wrong.

    Example: visterm check --repair
    """
    with progress_bar() as progress:
        done = collection.check(repair=repair, progress=progress, on_skip=skipping)
    lines = [*done.problems, *done.repaired]
    if done.is_well:
        lines.append("all is well")
    elif not (repair or done.bad_catalogue):
        lines.append("visterm check --repair rebuilds what can be rebuilt")
    answer = {name: getattr(done, name) for name in ("problems", "repaired", "files")}
    return answer, lines, 0 if done.is_well else 1


@on_collection
def duplicates(
    collection: Collection,
    others: Annotated[
        bool, typer.Option("--others", help="Print the paths of all but the best, for pipes.")
    ] = False,
) -> Answer:
    """Find copies, crops and other versions of pictures.

    Other sizes, encodings and colours, too. Of each group the one with the most pixels is proposed
    to be kept. Nothing is deleted.

    Example: visterm duplicates --others
    """
    with progress_bar() as progress:
        groups = collection.near_duplicates(progress=progress)
    records = collection.records([n for group in groups for n in (group.best, *group.others)])
    shown, lines = [], []
    for group in groups:
        numbers = [number for number in (group.best, *group.others) if number in records]
        best, *rest = (file.at(collection.root) for n in numbers for file in records[n].files)
        shown.append({"best": best, "others": rest})
        indent = "" if others else "    "
        lines += [] if others else [short_path(best)]
        lines += [f"{indent}{short_path(path)}" for path in rest]
    if not others:
        which = "; the first of each has the most pixels" if groups else ""
        lines.append(f"{counted(len(groups), 'group')} of near-duplicates{which}")
    return {"groups": shown}, lines


@on_collection
def remove(
    collection: Collection,
    paths: Annotated[
        list[str] | None, typer.Argument(help="Pictures, folders or URLs to forget.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--everything", help="Forget the whole collection.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before --everything.")] = False,
) -> Answer:
    """Forget pictures, their captions and vectors.

    The picture files stay. What was removed stays out until visterm add names it again.

    Example: visterm remove holidays/blurred.jpg
    """
    if bool(paths) == everything:
        raise BadInput("name pictures or folders to forget, or --everything")
    if everything:
        count = len(collection)
        _confirm(collection, yes=yes)
        collection.forget_everything()
    else:
        count = collection.remove(paths or [])
    back = "" if everything else "; visterm undo takes this back"
    line = f"{counted(count, 'picture')} forgotten, the files are untouched{back}"
    return {"removed": count}, line


def _confirm(collection: Collection, *, yes: bool) -> None:
    """What people gave cannot be made again: ask before it is deleted."""
    counts = collection.status()
    if yes or not (counts.captioned or counts.judgements):
        return
    captions = counted(counts.captioned, "captioned picture")
    forgotten = f"{captions} and {counted(counts.judgements, 'answer')}"
    if not sys.stdin.isatty():
        raise BadInput(
            f"this forgets {forgotten}; say --yes, or keep them first: visterm export --as backup "
            "--to FILE"
        )
    if not typer.confirm(f"Forget {forgotten} of {collection.root}?", err=True):
        raise typer.Exit(1)
