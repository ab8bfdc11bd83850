"""visterm export and import: pictures, captions and feedback taken out, and brought back."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visterm.cli.messages import say
from visterm.cli.options import Folder, Json, Store, opened
from visterm.cli.output import show
from visterm.errors import BadInput

if TYPE_CHECKING:
    from visterm.collection import Collection


class Kind(StrEnum):
    """What is made of the pictures."""

    LIST = "list"
    CSV = "csv"
    JSON = "json"
    LINKS = "links"
    COPIES = "copies"
    XMP = "xmp"
    BACKUP = "backup"


ListFile = Annotated[
    Path | None,
    typer.Option("--list", help="The pictures are the lines of this file; - for stdin."),
]


def export(
    query: Annotated[
        list[str] | None, typer.Argument(help="The good matches of these words and filters.")
    ] = None,
    listed: ListFile = None,
    kind: Annotated[
        Kind,
        typer.Option(
            "--as",
            help="A list, CSV or JSON; a folder of links or copies; keywords in XMP sidecars; or a "
            "backup of all captions and feedback.",
        ),
    ] = Kind.LIST,
    to: Annotated[Path | None, typer.Option(help="A file or folder; else stdout.")] = None,
    collection: Folder = Path("."),
    store: Store = None,
    json: Json = False,
) -> None:
    """Take pictures or captions out of a collection.

    Example: visterm export "beach 2019" --as copies --to /media/stick/beach. Files are never moved.
    """
    with opened(collection, store) as found:
        if kind is Kind.BACKUP:
            text = "".join(f"{line}\n" for line in found.backup())
            _write(to, text)
            return
        pictures = chosen(found, query or [], listed)
        if kind in (Kind.LIST, Kind.CSV, Kind.JSON):
            _write(to, found.export_text(pictures, kind.value))
            return
        if kind is Kind.XMP:
            count = found.export_keywords(pictures)
            line = f"{count:,} sidecars written"
        elif to is None:
            raise BadInput(f"name the folder of the {kind.value}: --to FOLDER")
        else:
            count = found.export_folder(pictures, to, copies=kind is Kind.COPIES)
            line = f"{count:,} {kind.value} in {to}"
    show({"pictures": len(pictures), "written": count}, line, json=json)


def import_(
    file: Annotated[Path, typer.Argument(help="What visterm export --as backup wrote.")],
    collection: Folder = Path("."),
    store: Store = None,
    json: Json = False,
) -> None:
    """Bring captions and feedback back from a backup.

    Pictures are found by their content, wherever they lie now, or else by their paths.
    """
    with opened(collection, store) as found:
        report = found.restore(file)
    if report.unknown:
        some = ", ".join(report.unknown[:3])
        say(f"{len(report.unknown):,} lines name no picture of the collection: {some}")
    line = f"{report.captions:,} captions and {report.judgements:,} answers brought back"
    show(vars(report), line, json=json)


def chosen(found: Collection, query: Iterable[str], listed: Path | None) -> list[int]:
    """The pictures that a command is about: those of a list, or the good matches of a query."""
    text = " ".join(query)
    if (not text) == (listed is None):
        raise BadInput("say which pictures: words to search for, or a list with --list")
    if listed is None:
        return found.matches(text)
    lines = sys.stdin.readlines() if str(listed) == "-" else _lines(listed)
    return [found.number(line.strip()) for line in lines if line.strip()]


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{file} cannot be read as a list of paths ({error})") from None


def _write(to: Path | None, text: str) -> None:
    if to is None:
        print(text, end="")
        return
    from visterm.files import write_whole

    write_whole(to, text.encode())
