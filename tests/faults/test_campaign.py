"""A disk that fails anywhere, and kills at any moment: a seeded sample of the campaign."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks.campaign import disk
from benchmarks.campaign import soak as part
from benchmarks.campaign.people import is_declared
from benchmarks.campaign.report import write_report
from benchmarks.campaign.soak import LIMITS, Serving, missed, soak

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(disk.compiler() is None, reason="needs Linux and a C compiler")


def campaign(*words: str) -> dict[str, Any]:
    """A part of the campaign in a process of its own, which begins with the shim."""
    path = os.pathsep.join([str(ROOT), *sys.path])
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.campaign", *words, "--json"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.stdout, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]), said=done.stderr)


def test_a_sample_of_all_faults_at_all_changes_of_all_commands_breaks_no_promise() -> None:
    found = campaign("--part", "faults", "--limit", "25", "--seed", "19")
    assert found["broken_promises"] == 0, found["said"]
    assert found["fault_points"] == 25
    assert found["parts"]["faults"]["after_the_end"] == 2, "what was acknowledged, and then lost"
    assert found["parts"]["faults"]["of"] > 3000


def test_kills_at_seeded_moments_break_no_promise() -> None:
    found = campaign("--part", "kills", "--limit", "8", "--seed", "19")
    assert found["broken_promises"] == 0, found["said"]
    assert found["kills"] == 8


def test_hostile_files_of_every_kind_give_something_or_a_reason() -> None:
    found = campaign("--part", "hostile", "--limit", "120", "--seed", "19")
    assert found["broken_promises"] == 0, found["said"]
    by_kind = found["parts"]["hostile"]["by_kind"]
    assert len(by_kind) >= 20
    assert sum(one["refused"] for one in by_kind.values()) > 40
    assert sum(one["read"] for one in by_kind.values()) > 10
    for kind in ("xmp", "column"):
        assert by_kind[kind]["read"], f"what reads a {kind} was never met: all were refused before"


def test_the_page_of_the_docs_is_all_written_by_the_campaign(tmp_path: Path) -> None:
    told = set()
    for limits in ([], ["p99_ratio"], ["memory_ratio"], [*LIMITS]):
        write_report(tmp_path / "page.md", _found(limits))
        told |= set(_sentences(tmp_path / "page.md"))
    others = _found([]) | {"soak": _found([])["soak"] | {"sources": "others"}}
    write_report(tmp_path / "page.md", others)
    told |= set(_sentences(tmp_path / "page.md"))
    assert set(_sentences(ROOT / "docs/results/campaign.md")) <= told


def _sentences(page: Path) -> list[str]:
    """What a page says besides figures and their tables."""
    lines = [line for line in page.read_text().splitlines() if not line.startswith("|")]
    return [re.sub(r"[\d.,]+(?!\w)", "0", line) for line in lines]


def _found(limits: list[str]) -> dict[str, dict[str, Any]]:
    """Results of all parts, of which nothing was tried."""
    none = {"broken_promises": 0, "by_command": {}, "too_late": 0, "kills": 0}
    counts = ("seconds", "clients", "answers", "captions", "clicks", "declared_refusals")
    kills = ("jobs_killed", "changes_killed", "decoders_killed")
    figures = (*kills, "quiet_p99_ms", "p99_ms", "p99_ratio", "memory_ratio")
    return {
        "faults": none | {"fault_points": 0, "of": 0, "by_fault": {}},
        "kills": none,
        "hostile": none | {"hostile_files": 0, "by_kind": {}, "slowest_s": 0, "largest_mb": 0},
        "cluster": none | {"by_victim": {}},
        "soak": none
        | dict.fromkeys(counts + figures, 0)
        | {"quiet_memory_mb": 0, "memory_mb": [0, 0], "undeclared": {}}
        | {"catalogue_equals_replay": True, "missed": limits},
    }


class Working(Serving):
    """A server that has jobs and a decoder to be killed, whatever its people happen to ask for."""

    def __enter__(self) -> Serving:
        super().__enter__()
        urlopen(f"{self.address}/pictures/1/thumbnail").close()
        return self

    @property
    def address(self) -> str:
        return f"http://{self.host}:{self.port}{part.API}"

    def kill_a_child(self, dice: random.Random, kills: Counter[str]) -> str | None:
        killed = super().kill_a_child(dice, kills)
        if kills["job"] < 3:  # the next look finds it: a job takes longer than to begin
            asked = Request(self.address + "/train", b"{}", {"Content-Type": "application/json"})
            with suppress(OSError):  # one of them has begun another
                urlopen(asked).close()
        return killed


def test_a_server_that_is_never_left_alone_keeps_what_it_acknowledged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(part, "Serving", Working)
    monkeypatch.setattr(part, "_KILL_EVERY", (0.0, 0.6))
    monkeypatch.setattr(part, "_LOOK_EVERY", 0.1)
    monkeypatch.setitem(LIMITS, "p99_ratio", 0.0)
    monkeypatch.setitem(LIMITS, "memory_ratio", float("inf"))
    found = soak(3.0, seed=19, clients=6, pictures=24)
    assert found["broken_promises"] == 0, found
    assert found["catalogue_equals_replay"]
    assert found["answers"] > 0
    assert found["jobs_killed"] >= 1
    assert found["changes_killed"] >= 1
    assert found["decoders_killed"] >= 1
    assert found["missed"] == ["p99_ratio"], "no server answers in no time"


def test_a_soak_names_the_limits_that_it_missed() -> None:
    assert missed({"p99_ratio": 3.0, "memory_ratio": 1.1}) == []
    assert missed({"p99_ratio": 3.01, "memory_ratio": 1.0}) == ["p99_ratio"]
    assert missed({"p99_ratio": float("nan"), "memory_ratio": 1.2}) == [*LIMITS]


def test_the_memory_of_a_server_is_that_of_its_processes_but_jobs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(part, "_resident", lambda pid: 1)
    begin = (
        "import subprocess, sys\n"
        "for name in sys.argv[1:]:\n"
        "    nice = ['nice', '-n', '10' if name == 'job' else '5']\n"
        "    named = 'pictures.sandbox' if name == 'decoder' else 'web.writer'\n"
        "    subprocess.Popen([*nice, 'sh', '-c', 'echo; read line', named])\n"
        "sys.stdin.read()"
    )
    names = ("job", "change", "decoder", "decoder")
    server, pipe = Serving(Path(), 0), subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", begin, *names], stdin=pipe, stdout=pipe, text=True
    ) as server.process:
        assert server.process.stdout is not None
        for _ in names:  # once it has begun, each writes a line
            server.process.stdout.readline()
        assert sorted(name for _, name in server.children()) == sorted(names)
        assert server.memory() == 4
        kills = Counter(job=1, change=1)
        assert server.kill_a_child(random.Random(1), kills) == "decoder"
        assert server.memory() == 4, "it comes back when a picture needs it"


def test_of_404s_only_those_of_killed_decoders_are_declared() -> None:
    assert is_declared(404, b'{"error": "it crashes the decoder"}')
    assert not is_declared(404, b'{"error": "its JPEG data are damaged"}')
    assert not is_declared(500, b"it crashes the decoder")
