"""What is written down of an installed encoder: the file that gives it its name."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from visterm.errors import BadInput
from visterm.files import write_whole

FORMAT = 2
PROMPTS = ("{}", "a photo of {}", "a picture that shows {}")
"""Texts around a word, whose mean vector is the word's; the encoders learnt from such texts."""


@dataclass(frozen=True)
class Manifest:
    """An encoder by its name: where it came from, its files, and what running it showed."""

    name: str
    source: str
    folder: str
    """Which holds the files, beside the manifest."""
    digest: str
    """Of all files; vectors of other ones cannot be compared."""
    files: dict[str, list[Any]]
    """By path below the folder: SHA-256 and size."""
    dimensions: int
    precision: str
    reads_texts: bool
    """Whether it has a text side; else it is for pictures alone."""
    prompts: tuple[str, ...] = PROMPTS
    licence: str | None = None
    """What was stated for a network that is known by name."""
    format: int = field(default=FORMAT)

    @property
    def size(self) -> int:
        return sum(int(size) for _, size in self.files.values())

    def write(self, path: Path) -> None:
        """Write it whole, in place of the one before."""
        text = json.dumps(asdict(self), indent=1, ensure_ascii=False)
        write_whole(path, text.encode())


def read_manifest(path: Path) -> Manifest:
    """Read what `Manifest.write` wrote."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        if said["format"] != FORMAT:
            raise ValueError(f"its format is {said['format']}, not {FORMAT}")
        return Manifest(**{**said, "prompts": tuple(said["prompts"])})
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadInput(f"{path} is damaged ({error}); add the encoder again") from None


def checked_prompts(prompts: tuple[str, ...]) -> tuple[str, ...]:
    """Prompts that have a place for the word.

    >>> checked_prompts(("a drawing of {}",))
    ('a drawing of {}',)
    """
    for prompt in prompts:
        if prompt.count("{}") != 1:
            raise BadInput(f"a prompt has one place for the word, {{}}, unlike {prompt!r}")
    return prompts
