"""The output of a command: text or one JSON object on stdout, a progress bar on stderr."""

from __future__ import annotations

import json as json_text
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from visterm.progress import Progress, silent


def print_json(found: Any) -> None:
    """One object, one line per level, on stdout; a figure that there is none of is null."""
    print(json_text.dumps(_finite(found), indent=2, ensure_ascii=False, allow_nan=False))


def show(found: Any, *lines: str, json: bool) -> None:
    """What a command found: lines for a person, or one object where ``json`` is asked for."""
    if json:
        print_json(found)
    else:
        print(*lines, sep="\n", end="\n" if lines else "")


def _finite(found: Any) -> Any:
    """The same without NaN and infinity, which JSON does not have.

    >>> _finite({"single": [0.4, float("nan")]})
    {'single': [0.4, None]}
    """
    if isinstance(found, dict):
        return {name: _finite(value) for name, value in found.items()}
    if isinstance(found, list | tuple):
        return [_finite(value) for value in found]
    return None if isinstance(found, float) and not math.isfinite(found) else found


@contextmanager
def progress_bar(*, hidden: bool = False) -> Iterator[Progress]:
    """A bar for each kind of work, drawn on stderr when that is a terminal.

    What stands behind a dot in the middle (``adding pictures · 2 nodes``) is shown beside its rate.
    """
    if hidden or not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeRemainingColumn,
    )
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
