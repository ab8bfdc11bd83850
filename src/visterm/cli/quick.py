"""A plain search, understood without an option parser.

Loading the parser takes longer than searching, so ``visterm search`` reads the options it knows by
itself. Whatever it does not understand, from ``--help`` to a mistake, is the parser's to explain.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from visterm.cli.searching import Wish

FLAGS = {
    "--good": "good",
    "--fold": "fold",
    "--paths": "paths",
    "--preview": "preview",
    "--as-is": "as_is",
    "--json": "json",
}
VALUES = {
    "--limit": "limit",
    "-k": "limit",
    "--like": "like",
    "--space": "space",
    "--collection": "collection",
    "-C": "collection",
    "--store": "store",
}


def understood(arguments: Sequence[str]) -> Wish | None:
    """What ``search ...`` asks for; None where the parser had better look at it.

    >>> understood(["search", "tree", "snow", "-k", "3"]).query
    'tree snow'
    >>> understood(["search", "--help"]) is None
    True
    """
    if arguments[:1] != ["search"]:
        return None
    wish, words = Wish(), []
    rest = iter(arguments[1:])
    for one in rest:
        if one in FLAGS:
            setattr(wish, FLAGS[one], True)
        elif one in VALUES:
            value = next(rest, None)
            if value is None or not _set(wish, VALUES[one], value):
                return None
        elif one.startswith("-"):
            return None
        else:
            words.append(one)
    wish.query = " ".join(words)
    return wish


def _set(wish: Wish, name: str, value: str) -> bool:
    if value.startswith("-"):
        return False
    if name == "space":
        wish.space = value
        return True
    if name != "limit":
        setattr(wish, name, Path(value))
        return True
    if not value.isascii() or not value.isdigit() or int(value) < 1:
        return False
    wish.limit = int(value)
    return True
