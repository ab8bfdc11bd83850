"""Part hostile: thousands of damaged and grammar-made files, read by somebody who is watched.

No file may end the reader, take more than ten seconds or 500 MB, or be refused without a reason.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.campaign.hostile_files import Kind, kinds
from benchmarks.campaign.ledger import Ledger
from benchmarks.common import say

MOST_MEMORY = 500_000_000
LONGEST = 10.0
_TOGETHER = 500


def hostile_files(
    ledger: Ledger, limit: int, seed: int, point: str | None = None
) -> dict[str, Any]:
    """Make and read so many files, or the one of this name."""
    every = kinds(seed)
    names = [point] if point else list(_names(every, limit))
    for first in range(0, len(names), _TOGETHER):
        some = [name for name in names[first : first + _TOGETHER] if name not in ledger]
        if some:
            _read_together(some, every, seed, ledger)
            say(f"hostile: {min(first + _TOGETHER, len(names)):,} of {len(names):,} files")
    results = {name: ledger.results[name] for name in names}
    outcomes = Counter((name.split("-")[1], one["word"]) for name, one in results.items())
    return {
        "hostile_files": len(names),
        "by_kind": {kind: _of_kind(outcomes, kind) for kind in every},
        "largest_mb": round(max(one["memory"] for one in results.values()) / 1e6),
        "slowest_s": round(max(one["seconds"] for one in results.values()), 2),
        "broken_promises": sum(bool(one["broken"]) for one in results.values()),
    }


def _of_kind(outcomes: Counter[tuple[str, str]], kind: str) -> dict[str, int]:
    return {word: outcomes[kind, word] for word in ("read", "refused", "broken")}


def _names(every: dict[str, Kind], limit: int) -> Iterator[str]:
    shares = [kind for kind, about in every.items() for _ in range(about.share)]
    for number in range(limit):
        # Coprime steps, so that a few files are of many kinds.
        kind = shares[(number * 37) % len(shares)]
        yield f"{number:06d}-{kind}"


def _read_together(names: list[str], every: dict[str, Kind], seed: int, ledger: Ledger) -> None:
    with tempfile.TemporaryDirectory(prefix="visterm-hostile-") as folder:
        files: dict[str, str] = {}
        for name in names:
            number, kind = int(name.split("-")[0]), name.split("-")[1]
            _, data = every[kind].make(number, np.random.default_rng([seed, number]))
            path = Path(folder, f"{name}{every[kind].ending}")
            path.write_bytes(data)
            files[path.name] = name
        waiting = sorted(files)
        while waiting:
            waiting = _watched(Path(folder), waiting, files, seed, ledger)


def _watched(
    folder: Path, waiting: list[str], files: dict[str, str], seed: int, ledger: Ledger
) -> list[str]:
    """Let a reader begin with the first that waits; returns those after one that ended it."""
    command = [sys.executable, "-m", "benchmarks.campaign.hostile_reader", str(folder), waiting[0]]
    reading, began = waiting[0], time.monotonic()

    def keep(word: str, memory: int, reason: str) -> None:
        seconds = time.monotonic() - began
        broken = [reason] if word == "broken" else []
        broken += [f"{memory / 1e6:.0f} MB"] if memory > MOST_MEMORY else []
        broken += [f"{seconds:.1f} s"] if seconds > LONGEST else []
        about = {"word": word, "memory": memory, "seconds": round(seconds, 3), "broken": broken}
        ledger.add(files[reading], **about)
        if broken:
            again = f"--part hostile --point {files[reading]} --seed {seed}"
            say(f"broken: {broken[0]}\n  python -m benchmarks.campaign {again}")

    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=dict(os.environ)
    ) as child:
        try:
            for line in _lines(child, 2 * LONGEST + 20):
                word, _, rest = line.partition("\t")
                if word == "reading":
                    reading, began = rest, time.monotonic()
                elif word in ("read", "refused", "broken"):  # others are what libraries print
                    memory, _, reason = rest.partition("\t")
                    keep(word, int(memory), reason)
        except TimeoutError:
            keep("broken", 0, "no answer")
        finally:
            child.kill()
            child.wait()
    if files[reading] not in ledger:
        keep("broken", 0, f"the reader ended with {child.returncode}")
    return [name for name in waiting if name > reading and name in files]


def _lines(child: subprocess.Popen[bytes], patience: float) -> Iterator[str]:
    assert child.stdout is not None
    rest = b""
    while True:
        if not select.select([child.stdout], [], [], patience)[0]:
            raise TimeoutError
        got = child.stdout.read1(65_536)  # type: ignore[attr-defined]
        *whole, rest = (rest + got).split(b"\n")
        yield from (line.decode(errors="replace") for line in whole)
        if not got:
            return
