"""Part cluster: workers, nodes and drivers of a Ray cluster die while pictures are added, models
trained and searches answered.

Whatever dies, the collection ends up as on one machine that nothing happened to. A search may
leave shards out, if it says so.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.campaign.ledger import Ledger
from benchmarks.campaign.promise import read_state
from benchmarks.common import say
from benchmarks.ray_nodes import RayNodes, child_processes, two_nodes

_MODEL = "pamir(max_iter=20000,C=(0.001,0.01,0.1,1))"
_COMMANDS = {
    "add": ("add", "--features", "cnn"),
    "train": ("train", "--force", "--validation", "../held.tsv", "--model", _MODEL),
}
TRIALS = [
    *((name, victim) for name in _COMMANDS for victim in ("worker", "node", "driver")),
    *(("search", "replica"),) * 5,
    ("search", "node"),
]
"""What is done, and who dies; as often, one after another."""
_PICTURES = 140
_QUERIES = ("sky", "sea -tree", "boat snow")
_LATEST = 1.5
"""Seconds after the first worker's start at which somebody is killed at the latest."""
_LONGEST = 240.0


def cluster_kills(ledger: Ledger, limit: int, seed: int) -> dict[str, Any]:
    """So many kills on a cluster of two nodes, and what they broke."""
    names = [
        f"{number}/{what}/{victim}"
        for number in range(limit)
        for what, victim in [TRIALS[number % len(TRIALS)]]
    ]
    if any(name not in ledger for name in names):
        with tempfile.TemporaryDirectory(prefix="visterm-cluster-") as folder, two_nodes() as nodes:
            bench = _Bench(Path(folder), nodes)
            for name in names:
                if name not in ledger:
                    killed, broken = bench.trial(name, random.Random(f"{seed}/{name}"))
                    ledger.add(name, killed=killed, broken=broken)
                    say(f"cluster: {name}{'' if killed else ' ended before'} {' '.join(broken)}")
    found = {name: ledger.results[name] for name in names}
    killed_names = (" ".join(name.split("/")[1:]) for name, one in found.items() if one["killed"])
    return {
        "kills": sum(one["killed"] for one in found.values()),
        "too_late": sum(not one["killed"] for one in found.values()),
        "by_victim": dict(Counter(killed_names)),
        "broken_promises": sum(bool(one["broken"]) for one in found.values()),
    }


class _Bench:
    """Collections as one machine makes them, and the same work on a cluster that is dying."""

    def __init__(self, folder: Path, nodes: RayNodes) -> None:
        from visterm.datasets.scenes import draw_scenes

        self.folder, self.nodes, self.root = folder, nodes, folder / "trial"
        drawn = draw_scenes(folder / "none", 10, size=(48, 32))
        for number in range(_PICTURES):
            path = folder / "none" / f"more-{number:03}.jpg"
            path.write_bytes(drawn[number % 10][0].read_bytes() + number.to_bytes(2, "big"))
        self._made("add", "none")
        table = self._captions(folder / "none" / "captions.tsv")
        self._made("captioned", "add", "caption", "--from", str(table))
        self._made("train", "captioned", *_COMMANDS["train"])

    def _made(self, name: str, before: str, *words: str) -> None:
        shutil.copytree(self.folder / before, self.folder / name)
        _finished(_begun(self.folder / name, *(words or _COMMANDS[name])))

    def _captions(self, drawn: Path) -> Path:
        """Captions for all pictures, and for some of them a table apart, to choose C by."""
        texts = [line.partition("\t")[2] for line in drawn.read_text().splitlines()]
        rows = [f"more-{n:03}.jpg\t{texts[n % len(texts)]}\n" for n in range(_PICTURES)]
        drawn.unlink()
        (self.folder / "held.tsv").write_text("".join(rows[::5]))
        table = self.folder / "captions.tsv"
        table.write_text("".join(rows))
        return table

    def trial(self, name: str, dice: random.Random) -> tuple[bool, list[str]]:
        """Whether the kill came in time, and which promises it broke."""
        _, what, victim = name.split("/")
        shutil.rmtree(self.root, ignore_errors=True)
        before = {"add": "none", "train": "captioned", "search": "train"}[what]
        shutil.copytree(self.folder / before, self.root)
        try:
            if what == "search":
                return self._search(victim, dice)
            return self._command(what, victim, dice)
        finally:
            if victim == "node":
                self.nodes.bring_back()

    def _command(self, what: str, victim: str, dice: random.Random) -> tuple[bool, list[str]]:
        words = (*_COMMANDS[what], "--ray", self.nodes.address)
        running = _begun(self.root, *words)
        until = time.monotonic() + _LONGEST
        while not _processes(b"ray::_") and running.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(dice.uniform(0, _LATEST))
        in_time = running.poll() is None
        if victim == "node":
            self.nodes.kill_second()
        elif victim == "driver":
            running.kill()
        else:
            in_time = _kill_one(_processes(b"ray::_"), dice) and in_time
        broken = _finished(running, may_die=victim == "driver")
        if victim == "driver":
            broken += _finished(_begun(self.root, *words))
        return in_time, broken or self._differences(what)

    def _differences(self, what: str) -> list[str]:
        from visterm.collection import Collection

        now, expected = read_state(self.root), read_state(self.folder / what)
        broken = list(now.problems)
        if not now.same(expected):
            broken.append("the collection is not what one machine makes")
        with Collection.open(self.root) as one, Collection.open(self.folder / what) as other:
            broken += one.check().problems
            like = self.root / "more-003.jpg", self.folder / what / "more-003.jpg"
            found = [
                c.search("", like=path, k=50) for c, path in zip((one, other), like, strict=True)
            ]
            if _scores(found[0]) != _scores(found[1]):
                broken.append("like pictures are others than on one machine")
        return broken

    def _search(self, victim: str, dice: random.Random) -> tuple[bool, list[str]]:
        """Kill somebody while shards answer; every answer is right, or says that it is partial."""
        from visterm.collection import Collection, searching_on

        with Collection.open(self.root) as one:
            expected = {query: _scores(one.search(query, k=50)) for query in _QUERIES}
        broken: list[str] = []
        store = self.root / ".visterm"
        with (
            searching_on(self.nodes.address, store, shards=2, replicas=2) as shared,
            Collection.open(self.root, shared=shared) as several,
        ):
            killed = victim == "node" or _kill_one(_processes(b"ray::ServeReplica:visterm-"), dice)
            if victim == "node":
                self.nodes.kill_second()
            until = time.monotonic() + _LONGEST
            whole: set[str] = set()
            while len(whole) < len(_QUERIES) and time.monotonic() < until:
                query = dice.choice([one for one in _QUERIES if one not in whole])
                found = several.search(query, k=50)
                if found.partial is None:
                    whole.add(query)
                    if _scores(found) != expected[query]:
                        broken.append(f"{query} is answered otherwise, and not called partial")
            if len(whole) < len(_QUERIES):
                broken.append("answers stay partial")
        return killed, broken


def _begun(root: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "visterm", *words],
        cwd=root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _finished(running: subprocess.Popen[str], *, may_die: bool = False) -> list[str]:
    """What is wrong with how a command ended."""
    try:
        _, said = running.communicate(timeout=_LONGEST)
    except subprocess.TimeoutExpired:
        running.kill()
        running.communicate()
        return [f"it did not end in {_LONGEST:.0f} s"]
    if running.returncode == 0 or (may_die and running.returncode == -signal.SIGKILL):
        return []
    return [f"it ended with {running.returncode}: {said[-300:]}"]


def _processes(begin: bytes) -> list[int]:
    """Processes of the cluster whose names begin so."""

    def found() -> Iterator[int]:
        for process in child_processes(os.getpid()):
            with contextlib.suppress(OSError):
                if Path(f"/proc/{process}/cmdline").read_bytes().startswith(begin):
                    yield process

    return sorted(found())


def _kill_one(processes: list[int], dice: random.Random) -> bool:
    """Kill one of them, if there is one."""
    with contextlib.suppress(ProcessLookupError):
        if processes:
            os.kill(dice.choice(processes), signal.SIGKILL)
            return True
    return False


def _scores(found: Any) -> list[tuple[int, float]]:
    return [(one.picture, round(one.score, 4)) for one in found.results]
