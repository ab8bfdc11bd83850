"""What the commands on a collection share: which one is meant, and how skipped files are told."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from visterm.collection import Collection
    from visterm.collection.ingest import Added

Folder = Annotated[
    Path,
    typer.Option("--collection", "-C", help="A folder of the collection; else where you are."),
]
Store = Annotated[
    Path | None,
    typer.Option(help="Keep what is known in this folder, not in .visterm beside the pictures."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def opened(folder: Path, store: Path | None, *, create: bool = False) -> Collection:
    """The collection that a command is about."""
    from visterm.collection import Collection

    return Collection.open(folder, store=store, create=create)


def say(line: str) -> None:
    """A line for the person, beside what goes to stdout."""
    print(f"visterm: {line}", file=sys.stderr)


def skipping(path: str, reason: str) -> None:
    """One line for each file that cannot be used."""
    print(f"skipping {path}: {reason}", file=sys.stderr)


def shown(path: Path) -> str:
    """A path as somebody standing here would type it."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith(os.path.join("..", "..")) else relative


def told(report: Added) -> str:
    """What an ``add`` did, in one line."""
    counts = {
        "new": report.new,
        "changed": report.changed,
        "moved": report.moved,
        "duplicates": report.duplicates,
        "returned": report.returned,
        "vanished": report.vanished,
        "skipped": len(report.skipped),
    }
    found = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
    return found or "nothing new"
