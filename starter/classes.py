"""The network's own classes as words: read from `classes.txt`, where their source is named."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from visterm.errors import BadInput

TABLE = Path(__file__).parent / "classes.txt"
CLASSES = 1000
_A_LINE = 10


@dataclass(frozen=True)
class Classes:
    """Names in the order of the network's outputs, and the outputs that each word stands for."""

    names: tuple[str, ...]
    words: dict[str, tuple[int, ...]]


def read_classes(table: Path = TABLE) -> Classes:
    """Read the table of classes and groups.

    >>> classes = read_classes()
    >>> classes.names[292], classes.words["tiger"], len(classes.words["dog"])
    ('tiger', (292,), 118)
    """
    names: list[str] = []
    members: dict[str, set[int]] = {}
    section = ""
    for line in table.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            section = line
        elif section == "[classes]":
            for name, words in _classes_of(line, len(names)):
                for word in words:
                    members.setdefault(word, set()).add(len(names))
                names.append(name)
        else:
            word, _, ranges = line.partition(": ")
            members.setdefault(word, set()).update(_numbers(ranges))
    if len(names) != CLASSES:
        raise BadInput(f"{table}: {len(names)} classes, but the network has {CLASSES}")
    return Classes(tuple(names), {word: tuple(sorted(members[word])) for word in sorted(members)})


def _classes_of(line: str, expected: int) -> list[tuple[str, list[str]]]:
    """Name and words of each class of a line."""
    first, _, rest = line.partition(" ")
    entries = rest.split(", ")
    if int(first) != expected or len(entries) != _A_LINE:
        raise BadInput(f"the line of class {expected} is not as it should be: {line!r}")
    found = []
    for entry in entries:
        name, given, words = entry.partition("=")
        own = words.split("+") if given else [name.split(" ")[-1].lower()]
        found.append((name, [word for word in own if word != "-"]))
    return found


def _numbers(ranges: str) -> set[int]:
    """
    >>> sorted(_numbers("3 5-7"))
    [3, 5, 6, 7]
    """
    found: set[int] = set()
    for part in ranges.split():
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found
