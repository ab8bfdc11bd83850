"""A campaign's results, kept line by line, so that a run that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_SOURCES = Path(__file__).parents[2]
_WITHOUT_TRIALS = ("__main__.py", "cluster.py", "people.py", "report.py", "soak.py")
"""What no trial that is kept runs in: it may change between parts of one campaign."""


class Ledger:
    """Results of one part by the name of a trial; those of other sources do not count.

    Parameters
    ----------
    path
        The file; without one nothing outlives the program.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.results: dict[str, dict[str, Any]] = {}
        if path is None:
            return
        header = json.dumps({"sources": sources()})
        lines = path.read_text().splitlines() if path.exists() else []
        if not lines or lines[0] != header:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(header + "\n")
        for line in lines[1:] if lines and lines[0] == header else []:
            if line.endswith("}"):  # the last one may be half
                kept = json.loads(line)
                self.results[kept.pop("trial")] = kept

    def __contains__(self, trial: str) -> bool:
        return trial in self.results

    def add(self, trial: str, **result: Any) -> None:
        self.results[trial] = result
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps({"trial": trial, **result}) + "\n")

    def broken(self) -> Iterator[tuple[str, list[str]]]:
        """Trials after which a promise was broken, and which."""
        return ((name, one["broken"]) for name, one in self.results.items() if one.get("broken"))


def sources() -> str:
    """A hash of the program under trial, and of what tries it."""
    digest = hashlib.sha256()
    for folder in (_SOURCES / "src" / "visterm", Path(__file__).parent):
        for path in sorted(folder.rglob("*")):
            is_kept_out = path.parent == Path(__file__).parent and path.name in _WITHOUT_TRIALS
            if path.suffix in (".py", ".c") and not is_kept_out:
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
