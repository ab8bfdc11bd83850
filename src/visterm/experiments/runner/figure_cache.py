"""Figures that take minutes to measure, kept in the user's cache: what was stopped goes on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import visterm
from visterm.experiments.runner.vector_cache import cache_file
from visterm.files import write_whole

_MEASURED_BY = ("evaluation", "experiments/papers", "features", "kernels", "models", "text")


def kept_figures(what: str, recipe: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What ``make`` gives, or gave before by this recipe and the same code; it must be JSON."""
    file = cache_file(what, f"{code_digest()} {recipe}", ".json")
    with suppress(OSError, ValueError):
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return found
    made = make()
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, json.dumps(made, default=_plain).encode())
    return made


@cache
def code_digest() -> str:
    """Changes with every line of code that figures can depend on: no old figure is ever shown."""
    package = Path(visterm.__file__).parent
    files = sorted(file for room in _MEASURED_BY for file in (package / room).rglob("*.py"))
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays as Python's."""
    return value.tolist()
