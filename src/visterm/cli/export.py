"""visterm export and import: pictures, captions and feedback taken out, and brought back."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visterm.cli.options import Answer, ListFile, chosen, on_collection, unknown_rows
from visterm.cli.output import counted, say
from visterm.errors import BadInput
from visterm.files import write_whole

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


@on_collection
def export(
    collection: Collection,
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
) -> Answer | None:
    """Take pictures or captions out of a collection.

    Files are never moved.

    Example: visterm export "beach 2019" --as copies --to /media/stick/beach
    """
    if kind is Kind.BACKUP:
        _write(to, "".join(f"{line}\n" for line in collection.backup()))
        return None
    pictures = chosen(collection, query or [], listed)
    if kind in (Kind.LIST, Kind.CSV, Kind.JSON):
        _write(to, collection.export_text(pictures, kind.value))
        return None
    if kind is Kind.XMP:
        count = collection.export_keywords(pictures)
        line = f"{counted(count, 'sidecar')} written"
    elif to is None:
        raise BadInput(f"name the folder of the {kind.value}: --to FOLDER")
    else:
        count = collection.export_folder(pictures, to, copies=kind is Kind.COPIES)
        noun = ("copy", "copies") if kind is Kind.COPIES else ("link", "links")
        line = f"{counted(count, *noun)} in {to}"
    return {"pictures": len(pictures), "written": count}, line


@on_collection
def import_(
    collection: Collection,
    file: Annotated[Path, typer.Argument(help="What visterm export --as backup wrote.")],
) -> Answer:
    """Bring captions and feedback back from a backup.

    Pictures are found by their content, wherever they lie now, or else by their paths.

    Example: visterm import captions.jsonl
    """
    report = collection.restore(file)
    if report.unknown:
        say(unknown_rows("line", report.unknown))
    captions, answers = counted(report.captions, "caption"), counted(report.judgements, "answer")
    return report, f"{captions} and {answers} brought back"


def _write(to: Path | None, text: str) -> None:
    if to is None:
        print(text, end="")
    else:
        write_whole(to, text.encode())
