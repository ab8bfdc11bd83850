"""What the papers published, from the file of figures beside each paper's tables."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def published(paper: str) -> dict[str, Any]:
    """A paper's tables and figures by their numbers, and under "source" where it appeared.

    >>> published("tpami")["table 9"]["PAMIR"]["AvgP"]
    0.263
    """
    file = Path(__file__).with_name(paper) / "published.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))
