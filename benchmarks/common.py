"""What every benchmark does the same way: time calls, and print one object."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any


def median_ms(calls: Iterable[Callable[[], object]]) -> float:
    """The median time of some calls, in milliseconds."""
    times = []
    for call in calls:
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return 1000 * statistics.median(times)


def say(line: str) -> None:
    """Tell the person at the terminal what is going on; stdout is for the result."""
    print(line, file=sys.stderr, flush=True)


def show(result: Mapping[str, Any], *, as_json: bool) -> None:
    """Print the result: one JSON object, or one line a key."""
    if as_json:
        print(json.dumps(result, indent=1))
        return
    for key, value in result.items():
        print(f"{key}: {value}")
