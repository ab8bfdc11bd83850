"""How many searches a second does the server answer, with JSON, over HTTP, on one machine?

    python -m benchmarks.serve --json [--pictures 100000] [--seconds 30] [--connections 32]

A collection is made without drawing it, ``visterm serve`` runs over it as a process of its own, and
a bounded generator keeps so many connections busy: wrk where it is installed, else a small client
in another process. Every request is a search of one to three of 300 words for 20 pictures, with
their files, sizes and captions. Memory is what the server alone holds, files that are mapped and
shared left out, sampled every second; ``memory_growth`` compares the last third with the first,
after a warm-up. ``processor_ms_a_search`` is the server's own, for machines that are busy with
other things.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit
from urllib.request import urlopen

from benchmarks.common import say, show
from benchmarks.drawn_collection import make

WORDS = 300
QUERIES = 2000
WARM_UP = 5.0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serve", description=__doc__)
    parser.add_argument("--pictures", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--k", type=int, default=20, help="pictures an answer")
    parser.add_argument("--client", choices=("wrk", "python"), help="the generator; else the best")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # A search never reads vectors: short ones save a minute.
        make(folder, arguments.pictures, words=WORDS, width=64)
        with serving(folder) as (process, url):
            show(measure(process, url, folder, arguments), as_json=arguments.json)


def measure(
    process: subprocess.Popen[str], url: str, folder: Path, arguments: argparse.Namespace
) -> dict[str, Any]:
    paths = _paths(arguments.k)
    with urlopen(url.rstrip("/") + paths[0]) as answer:
        size = len(answer.read())
    use = arguments.client or ("wrk" if shutil.which("wrk") else "python")
    load = _wrk if use == "wrk" else _python
    say(f"warming up, then {arguments.seconds:.0f} s of {arguments.connections} connections")
    load(url, paths, folder, arguments.connections, min(WARM_UP, arguments.seconds))
    before = _processor_seconds(process.pid)
    with watched(process.pid) as memory:
        found = load(url, paths, folder, arguments.connections, arguments.seconds)
    at_work = _processor_seconds(process.pid) - before
    third = max(1, len(memory) // 3)
    first, last = statistics.median(memory[:third]), statistics.median(memory[-third:])
    return {
        "pictures": arguments.pictures,
        "connections": arguments.connections,
        "client": use,
        **found,
        "processor_ms_a_search": round(1000 * at_work / max(found["searches"], 1), 2),
        "answer_bytes": size,
        "memory_mb": round(last / 1e6, 1),
        "memory_growth": round(last / first, 3),
        "load_average": round(os.getloadavg()[0], 1),
    }


@contextlib.contextmanager
def serving(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server over a folder, and its address."""
    command = ["serve", str(folder), "--as-is", "--no-browser", "--port", "0", "--json", *options]
    process = subprocess.Popen(
        [sys.executable, "-m", "visterm", *command], stdout=subprocess.PIPE, text=True
    )
    try:
        lines = ""
        while process.stdout is not None and not lines.rstrip().endswith("}"):
            line = process.stdout.readline()
            if not line:
                raise SystemExit("the server ended before it began")
            lines += line
        yield process, json.loads(lines)["url"]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=20)


@contextlib.contextmanager
def watched(pid: int) -> Iterator[list[float]]:
    """The memory that a process has to itself, in bytes, once a second."""
    sizes: list[float] = []
    done = threading.Event()

    def watch() -> None:
        while True:
            status = Path(f"/proc/{pid}/status").read_text()
            sizes.append(1024 * int(re.findall(r"RssAnon:\s+(\d+)", status)[0]))
            if done.wait(1.0):
                return

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield sizes
    finally:
        done.set()
        thread.join()


def _processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _paths(k: int) -> list[str]:
    """Searches of one to three words, the same in every run."""
    drawn = random.Random(0)
    queries = (
        " ".join(f"word{drawn.randrange(WORDS):03d}" for _ in range(drawn.choice((1, 2, 2, 3))))
        for _ in range(QUERIES)
    )
    return [f"/api/v1/search?{urlencode({'query': query, 'k': k})}" for query in queries]


def _wrk(
    url: str, paths: list[str], folder: Path, connections: int, seconds: float
) -> dict[str, Any]:
    """wrk, one thread, every connection with the next search as soon as it has its answer."""
    script = folder / "wrk.lua"
    listed = ",\n".join(json.dumps(path) for path in paths)
    script.write_text(
        f"local paths = {{\n{listed}\n}}\nlocal at = 0\n"
        "request = function()\n  at = at % #paths + 1\n"
        '  return wrk.format("GET", paths[at])\nend\n'
    )
    command = [
        "wrk",
        "-t1",
        f"-c{connections}",
        f"-d{seconds:.0f}s",
        "--latency",
        "--timeout",
        "10s",
    ]
    told = subprocess.run(
        [*command, "-s", str(script), url], capture_output=True, text=True, check=True
    ).stdout
    failed = [int(n) for n in re.findall(r"(?:connect|read|write|timeout) (\d+)", told)]
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", told)
    requests = re.search(r"(\d+) requests in ([\d.]+)s", told)
    if requests is None:
        raise SystemExit(told)
    return {
        "searches_a_second": round(int(requests[1]) / float(requests[2]), 1),
        "p50_ms": _milliseconds(told, "50%"),
        "p99_ms": _milliseconds(told, "99%"),
        "searches": int(requests[1]),
        "errors": sum(failed) + (int(refused[1]) if refused else 0),
    }


def _milliseconds(told: str, quantile: str) -> float:
    found = re.search(rf"{re.escape(quantile)}\s+([\d.]+)(us|ms|s)", told)
    if found is None:
        raise SystemExit(told)
    return round(float(found[1]) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[found[2]], 2)


def _python(
    url: str, paths: list[str], folder: Path, connections: int, seconds: float
) -> dict[str, Any]:
    """The same with plain sockets, in a process of its own."""
    at = urlsplit(url)
    command = [sys.executable, "-m", "benchmarks.serve_client"]
    told = subprocess.run(
        [*command, str(at.hostname), str(at.port), str(connections), str(seconds)],
        input="\n".join(paths),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    answered = json.loads(told)
    times = sorted(answered["times"])
    return {
        "searches_a_second": round(len(times) / answered["seconds"], 1),
        "p50_ms": round(1000 * times[len(times) // 2], 2),
        "p99_ms": round(1000 * times[int(0.99 * len(times))], 2),
        "searches": len(times),
        "errors": answered["errors"],
    }


if __name__ == "__main__":
    main()
