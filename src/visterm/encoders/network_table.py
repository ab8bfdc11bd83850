"""Networks known by name: their licence, how they see pictures, and where their file is found."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class KnownNetwork:
    """A row of ``network_table.toml``, which says what its fields mean."""

    name: str
    title: str
    licence: str
    stated: str
    bytes: int
    sha256: str
    sources: tuple[str, ...]
    preprocessor: dict[str, Any]
    tokens: str | None = None
    graph: str = "onnx/model.onnx"

    @property
    def notice(self) -> str:
        """What a person reads before anything is downloaded."""
        return (
            f"{self.name}: {self.title}, {self.bytes / 1e6:.0f} MB; licence {self.licence} "
            f"(stated by {self.stated})"
        )


TABLE = Path(__file__).with_suffix(".toml")


def known_networks() -> dict[str, KnownNetwork]:
    """Every known network by its name.

    >>> known_networks()["dinov2-small"].licence
    'Apache-2.0'
    """
    return _read(TABLE)


@cache
def _read(table: Path) -> dict[str, KnownNetwork]:
    rows = tomllib.loads(table.read_text(encoding="utf-8"))
    return {
        name: KnownNetwork(name, **{**row, "sources": tuple(row["sources"])})
        for name, row in rows.items()
    }
