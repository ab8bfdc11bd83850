"""What commands share: options that say which collection is meant, and how answers are printed."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from visterm.cli.output import counted, show
from visterm.errors import BadInput

if TYPE_CHECKING:
    from visterm.collection import Collection

Answer = tuple[object, Iterable[str] | str] | tuple[object, Iterable[str] | str, int]
"""What a command answers: what ``--json`` prints, the lines that a person reads instead, and an
exit code where it is not 0."""
Where = Callable[[Path, Path | None, Mapping[str, Any]], Path]
"""A folder of the collection that is meant, by ``-C``, ``--store`` and the other options."""

Folder = Annotated[
    Path,
    typer.Option("--collection", "-C", help="A folder of the collection; else where you are."),
]
Store = Annotated[
    Path | None,
    typer.Option(help="Keep what is known in this folder, not in .visterm beside the pictures."),
]
Ray = Annotated[
    str | None,
    typer.Option(
        help="Work on a Ray cluster: auto (the one this machine is part of, else one begun here), "
        "local (one begun here), or its address."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
ListFile = Annotated[
    Path | None,
    typer.Option("--list", help="The pictures are the lines of this file; - for stdin."),
]


def answering(command: Callable[..., Answer]) -> Callable[..., None]:
    """Give a command ``--json``, and print what it answers."""

    def run(json: bool, **options: Any) -> None:
        _print(command(**options), json=json)

    return _with_options(run, command, {"json": (Json, False)})


def on_collection(
    command: Callable[..., Answer | None], *, where: Where | None = None, create: bool = False
) -> Callable[..., None]:
    """Give a command ``-C``, ``--store`` and ``--json``; its first argument is the collection.

    Which one that is may depend on its other options: ``where`` says so. With ``create``, it is
    made if there is none.
    """

    def run(collection: Path, store: Path | None, json: bool, **options: Any) -> None:
        from visterm.collection import Collection

        folder = collection if where is None else where(collection, store, options)
        with Collection.open(folder, store=store, create=create) as opened:
            _print(command(opened, **options), json=json)

    shared = {"collection": (Folder, Path(".")), "store": (Store, None), "json": (Json, False)}
    return _with_options(run, command, shared, own_from=1)


def _print(answer: Answer | None, *, json: bool) -> None:
    if answer is not None:
        show(answer[0], answer[1], json=json)
        if len(answer) > 2:
            raise typer.Exit(answer[2])


def _with_options(
    run: Callable[..., None],
    command: Callable[..., object],
    shared: Mapping[str, tuple[Any, Any]],
    own_from: int = 0,
) -> Callable[..., None]:
    """Let a parser see the options of a command, and behind them those that it shares."""
    signature = inspect.signature(command, locals={"Collection": object}, eval_str=True)
    parameters = list(signature.parameters.values())[own_from:]
    keyword = inspect.Parameter.KEYWORD_ONLY
    for name, (annotation, default) in shared.items():
        parameters.append(inspect.Parameter(name, keyword, default=default, annotation=annotation))
    update_wrapper(run, command)
    vars(run)["__signature__"] = signature.replace(parameters=parameters, return_annotation=None)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def chosen(collection: Collection, query: Iterable[str], listed: Path | None) -> list[int]:
    """The pictures that a command is about: those of a list, or the good matches of a query."""
    text = " ".join(query)
    if (not text) == (listed is None):
        raise BadInput("say which pictures: words to search for, or a list with --list")
    if listed is None:
        return collection.matches(text)
    try:
        lines = sys.stdin if str(listed) == "-" else listed.read_text("utf-8").splitlines()
        return [collection.number(line.strip()) for line in lines if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{listed} cannot be read as a list of paths ({error})") from None


def unknown_rows(what: str, names: list[str]) -> str:
    """What to say of rows of a file that name no picture."""
    verb = "names" if len(names) == 1 else "name"
    return (
        f"{counted(len(names), what)} {verb} no picture of the collection: {', '.join(names[:3])}"
    )
