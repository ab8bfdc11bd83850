"""Lines on stderr: warnings, skipped files, and a summary of what was added."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from visterm.collection import Added, Url


def say(line: str) -> None:
    """One line on stderr."""
    print(f"visterm: {line}", file=sys.stderr)


def skipping(path: str, reason: str) -> None:
    """One line for each file that cannot be used."""
    print(f"skipping {path}: {reason}", file=sys.stderr)


def shown(path: Path | Url) -> str:
    """A path as somebody standing here would type it; a URL as it is."""
    if isinstance(path, str):
        return path
    relative = os.path.relpath(path)
    return str(path) if relative.startswith(os.path.join("..", "..")) else relative


def counted(count: int, one: str, many: str = "") -> str:
    """So many of something.

    >>> counted(1, "node"), counted(2000, "node"), counted(0, "retry", "retries")
    ('1 node', '2,000 nodes', '0 retries')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def clock(seconds: float) -> str:
    """A time in a video.

    >>> clock(72.5), clock(3661)
    ('1:12', '1:01:01')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def summary(report: Added) -> str:
    """What an ``add`` did, in one line."""
    names = ("new", "changed", "moved", "duplicates", "returned", "vanished")
    counts = {name: getattr(report, name) for name in names} | {"skipped": len(report.skipped)}
    found = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
    return found or "nothing new"
