"""The options of a plain search, read without an option parser.

Loading the parser takes longer than searching, so ``visterm search`` reads the options it knows by
itself. Whatever it does not understand, from ``--help`` to a mistake, is the parser's to explain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from visterm.collection import Url

FLAGS = {
    "--good": "good",
    "--fold": "fold",
    "--paths": "paths",
    "--preview": "preview",
    "--as-is": "as_is",
    "--partial": "partial",
    "--json": "json",
}
VALUES = {
    "--limit": "limit",
    "-k": "limit",
    "--like": "like",
    "--space": "space",
    "--sort": "sort",
    "--collection": "collection",
    "-C": "collection",
    "--store": "store",
}


@dataclass
class SearchOptions:
    """The options of ``visterm search``."""

    query: str = ""
    limit: int = 20
    like: Path | Url | None = None
    space: str = "words"
    sort: str = "relevance"
    good: bool = False
    fold: bool = False
    paths: bool = False
    preview: bool = False
    as_is: bool = False
    partial: bool = False
    collection: Path = Path(".")
    store: Path | None = None
    json: bool = False


def parse(arguments: Sequence[str]) -> SearchOptions | None:
    """The options of ``search ...``; None where the parser had better look at it.

    >>> parse(["search", "tree", "snow", "-k", "3"]).query
    'tree snow'
    >>> parse(["search", "--help"]) is None
    True
    """
    if arguments[:1] != ["search"]:
        return None
    options, words = SearchOptions(), []
    rest = iter(arguments[1:])
    for one in rest:
        if one in FLAGS:
            setattr(options, FLAGS[one], True)
        elif one in VALUES:
            value = next(rest, None)
            if value is None or not _set(options, VALUES[one], value):
                return None
        elif one.startswith("-"):
            return None
        else:
            words.append(one)
    options.query = " ".join(words)
    return options


def _set(options: SearchOptions, name: str, value: str) -> bool:
    is_count = value.isascii() and value.isdigit() and int(value) > 0
    if value.startswith("-") or (name == "limit" and not is_count):
        return False
    if name == "like":
        from visterm.collection import as_path

        options.like = as_path(value)
    else:
        setattr(options, name, {"limit": int, "space": str, "sort": str}.get(name, Path)(value))
    return True
