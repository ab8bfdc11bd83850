"""What a command prints: an answer on stdout, progress and warnings on stderr."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from visterm.progress import Progress, silent

if TYPE_CHECKING:
    from visterm.collection import Added, Url


def show(answer: object, lines: Iterable[str] | str = (), *, json: bool) -> None:
    """Print an answer: lines for a person, or one JSON object where ``json`` is asked for."""
    if json:
        from visterm.json_text import json_text

        print(json_text(answer, indent=2))
        return
    for line in [lines] if isinstance(lines, str) else lines:
        print(line)


def say(line: str) -> None:
    """One line on stderr."""
    print(f"visterm: {line}", file=sys.stderr)


def skipping(path: str, reason: str) -> None:
    """One line on stderr for each file that cannot be used."""
    print(f"skipping {path}: {reason}", file=sys.stderr)


def short_path(path: Path | Url) -> str:
    """A path as somebody standing here would type it; a URL as it is."""
    if isinstance(path, str):
        return path
    relative = os.path.relpath(path)
    return str(path) if relative.startswith(os.path.join("..", "..")) else relative


def counted(count: int, noun: str, plural: str = "") -> str:
    """So many of something.

    >>> counted(1, "node"), counted(2000, "node"), counted(0, "retry", "retries")
    ('1 node', '2,000 nodes', '0 retries')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def percent(probability: float) -> str:
    """A probability as people read it.

    >>> percent(0.743), percent(0.0004), percent(0.9999)
    ('74 %', '< 1 %', '> 99 %')
    """
    if probability < 0.005:
        return "< 1 %"
    return "> 99 %" if probability > 0.995 else f"{100 * probability:.0f} %"


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
    if counts["duplicates"] == 1:
        counts = {name.replace("duplicates", "duplicate"): n for name, n in counts.items()}
    return ", ".join(f"{n:,} {name}" for name, n in counts.items() if n) or "nothing new"


def lines_now_and_then(seconds: float = 30.0) -> Progress:
    """Progress as lines on stderr, one in so many seconds, for logs and pipes.

    >>> import contextlib
    >>> with contextlib.redirect_stderr(sys.stdout):
    ...     lines_now_and_then(0)("training", 1_000, 20_000)
    training: 1,000 of 20,000
    """
    last = time.monotonic()

    def report(what: str, done: int, total: int) -> None:
        nonlocal last
        if (now := time.monotonic()) - last >= seconds:
            last = now
            print(f"{what}: {done:,} of {total:,}", file=sys.stderr, flush=True)

    return report


@contextmanager
def progress_bar(*, hidden: bool = False) -> Iterator[Progress]:
    """A bar for each kind of work on stderr; a line now and then where that is no terminal.

    What stands behind a dot in the middle (``adding pictures · 2 nodes``) is shown beside its rate.
    """
    if hidden or not sys.stderr.isatty():
        yield silent if hidden else lines_now_and_then()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description:<20}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=Console(stderr=True)) as bars:
        tasks: dict[str, Any] = {}

        def report(what: str, done: int, total: int) -> None:
            kind, _, beside = what.partition(" · ")
            if kind not in tasks:
                tasks[kind] = bars.add_task(kind, total=total, rate="")
            speed = bars.tasks[tasks[kind]].speed
            rate = ", ".join(filter(None, [speed and f"{speed:,.0f} a second", beside]))
            bars.update(tasks[kind], completed=done, total=total, rate=rate)

        yield report
