"""visterm status, check, duplicates and remove: what is there, and keeping it in order."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from visterm.cli.options import Answer, Ray, on_collection
from visterm.cli.output import counted, progress_bar, short_path, skipping
from visterm.cli.render import status_lines
from visterm.errors import BadInput

if TYPE_CHECKING:
    from visterm.collection import Collection


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
        lines.append(f"{counted(len(groups), 'group')}; the first of each is the best one")
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
    line = f"{counted(count, 'picture')} forgotten; the files are untouched"
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
