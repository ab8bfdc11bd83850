"""Part soak: a server, 32 people who search, click, caption, add and train, and kills on the way.

Nothing but declared answers may come; what was acknowledged, and nothing else, is in the catalogue
afterwards: these are promises. Latency and memory are compared with those of the same server when
it was quiet, and have limits, of which those that were missed are told.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.campaign.people import API, Person, Talk
from benchmarks.common import say

Floats = NDArray[np.float64]
CLIENTS = 32
PICTURES = 192
_CHILDREN = {"job": "jobs_killed", "change": "changes_killed", "decoder": "decoders_killed"}
"""Work that processes do for a server, and what kills of them are counted as."""
_WRITER, _DECODER = "web.writer", "pictures.sandbox"
_AT_A_CHANGE = 5
"""By so much a writer is nicer than its server; at a job, by more."""
_KILL_EVERY = (5.0, 40.0)
"""Seconds between two kills: some jobs come to their end, too."""
_LOOK_EVERY = 5.0
_QUIET_SHARE = 0.1
_WARM_UP = 0.2
"""Share of the time after which memory is compared: caches and threads are there by then."""
LIMITS = {"p99_ratio": 3.0, "memory_ratio": 1.1}
"""How many times the p99 of the quiet server, and its memory once warm, it may take."""


def soak(
    seconds: float, seed: int, clients: int = CLIENTS, pictures: int = PICTURES
) -> dict[str, Any]:
    """Keep a server busy for so long; returns what was seen."""
    from visterm.collection import Collection
    from visterm.datasets.scenes import draw_scenes

    with tempfile.TemporaryDirectory(prefix="visterm-soak-") as folder:
        root = Path(folder, "pictures")
        draw_scenes(root, pictures, size=(96, 64))
        table = shutil.move(root / "captions.tsv", folder)
        with Collection.open(root) as collection:
            collection.add(features="blocks")
            collection.caption_from(table)
            collection.train()
            clicked = {(one.query, one.picture): one.relevant for one in collection.judgements()}
            said = {number: collection.captions(number) for number in range(1, pictures + 1)}
        with Serving(root, pictures) as server:
            quiet = _talk(server, 1, max(3.0, seconds * _QUIET_SHARE), seed)
            at_rest = server.memory()
            memory: list[int] = []
            kills: Counter[str] = Counter()
            busy = _talk(server, clients, seconds, seed + 1, memory, kills)
        talks = [*quiet, *busy]
        wrong = _lost(root, talks, said, clicked)
    errors: Counter[str] = Counter()
    for talk in talks:
        errors.update(talk.undeclared)
    times = [np.concatenate([talk.times for talk in some]) for some in (quiet, busy)]
    before, after = _early_and_late(memory)
    p99 = [float(np.percentile(one, 99)) * 1000 for one in times]
    ratios = {"p99_ratio": round(p99[1] / p99[0], 2), "memory_ratio": round(after / before, 3)}
    return {
        "seconds": round(seconds),
        "clients": clients,
        "answers": int(sum(one.size for one in times)),
        "declared_refusals": sum(talk.refused for talk in talks),
        **{name: kills[child] for child, name in _CHILDREN.items()},
        "captions": sum(len(talk.captions) for talk in talks),
        "clicks": sum(len(talk.clicks) for talk in talks),
        "quiet_p99_ms": round(p99[0], 1),
        "p99_ms": round(p99[1], 1),
        "p99_ms_by_sixth": _by_sixth(np.concatenate([talk.began for talk in busy]), times[1]),
        "quiet_memory_mb": round(at_rest / 1e6),
        "memory_mb": [round(before / 1e6), round(after / 1e6)],
        **ratios,
        "missed": missed(ratios),
        "undeclared": dict(errors),
        "catalogue_equals_replay": not wrong,
        "lost": wrong[:5],
        "broken_promises": sum(errors.values()) + len(wrong),
    }


def missed(ratios: dict[str, float]) -> list[str]:
    """The limits that a soak did not keep.

    >>> missed({"p99_ratio": 3.59, "memory_ratio": 0.98})
    ['p99_ratio']
    """
    return [name for name, limit in LIMITS.items() if not ratios[name] <= limit]


class Serving:
    """``visterm serve`` in a process of its own."""

    def __init__(self, root: Path, pictures: int) -> None:
        self.root, self.pictures = root, pictures
        self._decoders: list[int] = []

    def __enter__(self) -> Serving:
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "visterm", "serve", str(self.root), "--port", "0"),
                *("--no-browser", "--as-is", "--json"),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        line = ""
        while not line.rstrip().endswith("}"):
            more = self.process.stdout.readline()
            if not more:
                raise SystemExit("the server did not start")
            line += more
        self.host, _, port = json.loads(line)["url"].split("/")[2].partition(":")
        self.port = int(port)
        return self

    def __exit__(self, *raised: object) -> None:
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def memory(self) -> int:
        """Bytes that the server, its writer and its decoders have in memory now.

        Those of a writer at a job are not among them: it takes what that takes, and then ends. A
        decoder that was killed counts as it last was: it comes back when a picture needs it.
        """
        sizes: dict[str, list[int]] = {name: [] for name in _CHILDREN}
        for child, name in self.children():
            sizes[name].append(_resident(child))
        decoders = sizes["decoder"]
        self._decoders = decoders + self._decoders[len(decoders) :]
        return sum([_resident(self.process.pid), *sizes["change"], *self._decoders])

    def kill_a_child(self, dice: random.Random, kills: Counter[str]) -> str | None:
        """Kill one of those that work for the server now, and say which; None: nobody does.

        One of a kind that was killed least: most of them would be decoders.
        """
        children = self.children()
        if not children:
            return None
        child, name = min(children, key=lambda one: (kills[one[1]], dice.random()))
        try:
            os.kill(child, signal.SIGKILL)
        except ProcessLookupError:
            return None
        return name

    def children(self) -> list[tuple[int, str]]:
        """Whoever works for the server now: the process, and what it does."""
        pid = self.process.pid
        working = []
        for task in Path(f"/proc/{pid}/task").iterdir():  # whichever of its threads began them
            for child in map(int, _read(task / "children").split()):
                command = _read(Path(f"/proc/{child}/cmdline"))
                if _DECODER in command:
                    working.append((child, "decoder"))
                elif _WRITER in command:
                    is_at_job = _niceness(child) - _niceness(pid) > _AT_A_CHANGE
                    working.append((child, "job" if is_at_job else "change"))
        return working


def _resident(pid: int) -> int:
    """Bytes that a process has in memory; none, if it has ended."""
    size = _read(Path(f"/proc/{pid}/status")).partition("VmRSS:")[2].split()
    return int(size[0]) * 1024 if size else 0


def _niceness(pid: int) -> int:
    """How far a process stands back; 0, if it has ended."""
    fields = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return int(fields[16]) if fields else 0


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # that process, or thread, has ended
        return ""


def _talk(
    server: Serving,
    clients: int,
    seconds: float,
    seed: int,
    memory: list[int] | None = None,
    kills: Counter[str] | None = None,
) -> list[Talk]:
    """Let people talk to the server; where ``kills`` are counted, its children are killed, too."""
    until = time.monotonic() + seconds
    people = [
        Person(server.host, server.port, server.root, number, clients, server.pictures, seed)
        for number in range(clients)
    ]
    threads = [threading.Thread(target=person.talk, args=(until,)) for person in people]
    for thread in threads:
        thread.start()
    dice, reported = random.Random(seed), time.monotonic()
    kill_at = reported + dice.uniform(*_KILL_EVERY)
    while (now := time.monotonic()) < until:
        time.sleep(min(_LOOK_EVERY * dice.random() * 2, until - now))
        if memory is not None:
            memory.append(server.memory())
        if kills is not None and now > kill_at and (killed := server.kill_a_child(dice, kills)):
            kills[killed] += 1
            kill_at = now + dice.uniform(*_KILL_EVERY)
        if now - reported > 60:
            reported = now
            say(f"soak: {until - now:.0f} s to go, {server.memory() / 1e6:.0f} MB")
    for thread in threads:
        thread.join()
    return [person.said for person in people]


def _by_sixth(began: Floats, seconds: Floats) -> list[float]:
    """The p99 in milliseconds of each sixth of the time: what grows with a collection shows."""
    edges = np.linspace(began.min(), began.max(), 7)[1:-1]
    sixth = np.searchsorted(edges, began)
    every = (seconds[sixth == number] for number in range(6))
    return [round(float(np.percentile(some, 99)) * 1000, 1) for some in every if some.size]


def _early_and_late(memory: list[int]) -> tuple[int, int]:
    """The most that the server had in a tenth of the time once it was warm, and in the last tenth.

    Not what it usually had: a writer that was killed begins small.

    >>> _early_and_late([900, 10, 50, 7, 20, 20, 20, 20, 20, 55])
    (50, 55)
    """
    begin = int(len(memory) * _WARM_UP)
    some = max(1, len(memory) // 10)
    return max(memory[begin : begin + some]), max(memory[-some:])


def _lost(
    root: Path,
    talks: list[Talk],
    said: dict[int, dict[str, str]],
    clicked: dict[tuple[str, int], bool],
) -> list[str]:
    """Where the catalogue is not what a replay of the acknowledged calls would give."""
    from visterm.collection import Collection

    captions = {number: {texts.get("person", "")} for number, texts in said.items()}
    clicks: dict[tuple[str, int], set[bool | None]] = {key: {v} for key, v in clicked.items()}
    for talk in talks:
        for picture, text, sure in talk.captions:
            captions[picture] = {text} if sure else captions[picture] | {text}
        for query, picture, answer, sure in talk.clicks:
            known = clicks.get((query, picture), {None})
            clicks[query, picture] = {answer} if sure else known | {answer}
    wrong = []
    with Collection.open(root) as collection:
        collection.apply_waiting()  # as any command or search would: what waited for a killed job
        for picture, texts in captions.items():
            now = collection.captions(picture).get("person", "")
            if now not in texts:
                wrong.append(f"picture {picture} is captioned {now!r}, not one of {texts}")
        found = {(one.query, one.picture): one.relevant for one in collection.judgements()}
        for key, answers in clicks.items():
            if found.get(key) not in answers:
                wrong.append(f"{key} was answered {answers}, and is {found.get(key)}")
        wrong += [f"{key} was never said" for key in found.keys() - clicks.keys()]
        wrong += collection.check().problems
    return wrong


__all__ = ["API", "soak"]
