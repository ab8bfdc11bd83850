"""What is written down of an installed encoder, in the folder that holds its files."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from visterm.errors import BadInput
from visterm.files import write_whole

FILE = "encoder.json"
FORMAT = 1
PROMPTS = ("{}", "a photo of {}", "a picture that shows {}")
"""Texts around a word, whose mean vector is the word's; the encoders learnt from such texts."""


@dataclass(frozen=True)
class Manifest:
    """An encoder by its name: where it came from, its files, and what running it showed."""

    name: str
    source: str
    digest: str
    """Of all files; vectors of other ones cannot be compared."""
    files: dict[str, list[Any]]
    """By path below the folder: SHA-256 and size."""
    dimensions: int
    precision: str
    prompts: tuple[str, ...] = PROMPTS
    format: int = field(default=FORMAT)

    @property
    def size(self) -> int:
        return sum(int(size) for _, size in self.files.values())

    def write(self, folder: Path) -> None:
        text = json.dumps(asdict(self), indent=1, ensure_ascii=False)
        write_whole(folder / FILE, text.encode())


def read_manifest(folder: Path) -> Manifest:
    """Read what `Manifest.write` wrote."""
    try:
        said = json.loads((folder / FILE).read_text(encoding="utf-8"))
        if said["format"] != FORMAT:
            raise ValueError(f"its format is {said['format']}, not {FORMAT}")
        return Manifest(**{**said, "prompts": tuple(said["prompts"])})
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadInput(
            f"{folder / FILE} is damaged ({error}); remove the encoder and add it again"
        ) from None


def checked_prompts(prompts: tuple[str, ...]) -> tuple[str, ...]:
    """Prompts that have a place for the word.

    >>> checked_prompts(("a drawing of {}",))
    ('a drawing of {}',)
    """
    for prompt in prompts:
        if prompt.count("{}") != 1:
            raise BadInput(f"a prompt has one place for the word, {{}}, unlike {prompt!r}")
    return prompts
