"""Do shards on a Ray cluster answer as one index does, how fast, and whatever dies?

    python -m benchmarks.cluster_search --json [--shards 4] [--pictures 2500000] [--seconds 60]

A collection of drawn vectors (:mod:`benchmarks.drawn_collection`) of ``--pictures`` a shard, 256
words and 64-dimensional rows, is searched by this process and by ``--replicas`` of every shard on a
cluster of two nodes. ``exact`` is whether ``--queries`` random queries of one to five words, some
unwanted, some weighted, half of them under filters, after clicks, have the same answers, scores and
all; ``ratio_latency`` is the median time over shards over that of one process, in turns. Then
``visterm serve --ray`` answers ``--connections`` connections for ``--seconds``, while one replica
is killed by SIGKILL every ``--every`` seconds: ``errors``, ``wrong`` answers that do not say they
are partial, and the fraction of ``partial`` ones. ``replica_mb`` is the memory that a replica has
to itself, mapped files left out, and ``begin_s`` what it took until all shards answered.
``--folder`` keeps the collection.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import random
import re
import shutil
import signal
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from benchmarks.common import say, show
from benchmarks.drawn_collection import IN_A_FOLDER, make
from benchmarks.ray_nodes import child_processes, two_nodes
from benchmarks.serve import serving
from visterm.collection import Collection, SearchRequest, searching_on

FOLDERS = 8
"""Folders that filters name."""
CLICKS = 4
ASKED = 200
"""Different searches under load."""


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cluster_search", description=__doc__
    )
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--pictures", type=int, default=2_500_000, help="of a shard")
    parser.add_argument("--words", type=int, default=256)
    parser.add_argument("--width", type=int, default=64, help="numbers of a vector")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60.0, help="of load, 0 for none")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--every", type=float, default=10.0, help="seconds between two kills")
    parser.add_argument("--folder", type=Path, help="where the collection is kept, or was")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    given = parser.parse_args()
    with collection_folder(given) as folder, two_nodes() as nodes:
        show(measure(folder, nodes.address, given), as_json=given.json)


@contextlib.contextmanager
def collection_folder(given: argparse.Namespace) -> Iterator[Path]:
    """The folder of the collection, with a few clicks."""
    folder = given.folder or Path(tempfile.mkdtemp(prefix="visterm-cluster-"))
    try:
        if not (folder / ".visterm").exists():
            folder.mkdir(exist_ok=True)
            make(folder, given.shards * given.pictures, words=given.words, width=given.width)
            with Collection.open(folder) as collection:
                for number in range(CLICKS):
                    collection.judge(f"word{number:03d}", 3 * number + 1, number % 2 == 0)
        yield folder
    finally:
        if given.folder is None:
            shutil.rmtree(folder, ignore_errors=True)


def measure(folder: Path, address: str, given: argparse.Namespace) -> dict[str, Any]:
    about: dict[str, Any] = {
        "shards": given.shards,
        "replicas": given.replicas,
        "pictures": given.pictures,
    }
    requests = drawn_requests(given)
    store = folder / ".visterm"
    began = time.perf_counter()
    with searching_on(address, store, shards=given.shards, replicas=given.replicas) as shared:
        about["begin_s"] = round(time.perf_counter() - began, 1)
        say(f"{given.shards} shards began in {about['begin_s']} s")
        with Collection.open(folder) as one, Collection.open(folder, shared=shared) as several:
            one.prepare_searches()
            about |= compare(one, several, requests)
            say(f"over shards {about['ratio_latency']} times as long as one process")
            expected = {}
            for request in requests[:ASKED]:
                found = one.search(request).results
                expected[path_of(request)] = [(result.picture, result.score) for result in found]
        sizes = [private_megabytes(process) for process in replica_processes()]
        about["replica_mb"] = round(statistics.median(sizes)) if sizes else None
    if given.seconds:
        ray = ("--ray", address, "--shards", str(given.shards), "--replicas", str(given.replicas))
        with serving(folder, *ray) as (_, url):
            about |= asyncio.run(load(url, expected, given))
    return about


def drawn_requests(given: argparse.Namespace) -> list[SearchRequest]:
    """Queries of one to five words, some unwanted, some weighted, every other under a filter."""
    drawn = random.Random(0)
    total = given.shards * given.pictures
    folders = [drawn.randrange(1, total) // IN_A_FOLDER for _ in range(FOLDERS)]
    filters = [*(f"in:folder-{n:05d}" for n in folders), "captioned:yes"]
    found = []
    for number in range(given.queries):
        chosen = drawn.sample(range(given.words), drawn.randint(1, 5))
        signs = ["", *drawn.choices(["", "-"], [3, 1], k=len(chosen) - 1)]
        weights = drawn.choices(["", ":2", ":0.5"], [2, 1, 1], k=len(chosen))
        words = [f"{s}word{n:03d}{w}" for s, n, w in zip(signs, chosen, weights, strict=True)]
        if number % 2:
            words.append(drawn.choice(filters))
        found.append(SearchRequest(" ".join(words), k=20))
    return found


def compare(one: Collection, several: Collection, requests: list[SearchRequest]) -> dict[str, Any]:
    """Answers and times, in turns."""
    for request in requests[:50]:  # what is loaded or sent once
        one.search(request), several.search(request)
    times: dict[str, list[float]] = {"one": [], "several": []}
    same = 0
    for request in requests:
        found = []
        for name, collection in (("one", one), ("several", several)):
            began = time.perf_counter()
            found.append(collection.search(request))
            times[name].append(time.perf_counter() - began)
        same += found[0] == found[1]
    middle = {name: 1000 * statistics.median(some) for name, some in times.items()}
    return {
        "queries": len(requests),
        "exact": same == len(requests),
        "same": same,
        "latency_ms_one": round(middle["one"], 2),
        "latency_ms_shards": round(middle["several"], 2),
        "ratio_latency": round(middle["several"] / middle["one"], 2),
    }


def path_of(request: SearchRequest) -> str:
    return f"/api/v1/search?{urlencode({'query': request.text, 'k': request.k})}"


async def load(url: str, expected: dict[str, Any], given: argparse.Namespace) -> dict[str, Any]:
    """Ask until the time is up, while replicas die."""
    at = urlsplit(url)
    turn = itertools.cycle(expected)
    times: list[float] = []
    counts = {"errors": 0, "wrong": 0, "partial": 0}
    until = time.perf_counter() + given.seconds

    async def ask() -> None:
        reader, writer = await asyncio.open_connection(at.hostname, at.port)
        while (sent := time.perf_counter()) < until:
            path = next(turn)
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {at.netloc}\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                int(line[15:])
                for line in head.lower().split(b"\r\n")
                if line[:15] == b"content-length:"
            )
            body = await reader.readexactly(length)
            times.append(time.perf_counter() - sent)
            if kind := judged(head, body, expected[path]):
                counts[kind] += 1
        writer.close()

    deaths: list[int] = []

    async def kill() -> None:
        while time.perf_counter() + given.every < until:
            await asyncio.sleep(given.every)
            deaths.extend(kill_a_replica())

    await asyncio.gather(kill(), *(ask() for _ in range(given.connections)))
    answers = max(len(times), 1)
    return {
        "connections": given.connections,
        "seconds": given.seconds,
        "killed": len(deaths),
        "answers": len(times),
        "p50_ms": round(1000 * statistics.median(times), 1),
        "p99_ms": round(1000 * sorted(times)[int(0.99 * answers)], 1),
        **counts,
        "partial": round(counts["partial"] / answers, 5),
    }


def judged(head: bytes, body: bytes, expected: list[tuple[int, float]]) -> str | None:
    """What is the matter with an answer; nothing where it is right."""
    if head.split(b" ", 2)[1] != b"200":
        say(body.decode()[:200])
        return "errors"
    answer = json.loads(body)
    if answer["partial"] is not None:
        return "partial"
    found = [(one["picture"], one["score"]) for one in answer["results"]]
    return None if found == expected else "wrong"


def replica_processes() -> list[int]:
    """The processes that search."""
    found = []
    for process in child_processes(os.getpid()):
        with contextlib.suppress(OSError):
            name = Path(f"/proc/{process}/cmdline").read_bytes()
            found += [process] if name.startswith(b"ray::ServeReplica:visterm-") else []
    return found


def private_megabytes(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.findall(r"RssAnon:\s+(\d+)", status)[0]) / 1000


def kill_a_replica() -> list[int]:
    """SIGKILL to one of the processes that search."""
    found = replica_processes()
    if not found:
        return []
    chosen = random.choice(found)
    os.kill(chosen, signal.SIGKILL)
    say(f"killed one of {len(found)} replicas")
    return [chosen]


if __name__ == "__main__":
    main()
