"""A disk that fails anywhere, and kills at any moment: a seeded sample of the campaign."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks.campaign import disk
from benchmarks.campaign.soak import soak

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


def test_a_server_that_is_never_left_alone_keeps_what_it_acknowledged() -> None:
    found = soak(3.0, seed=19, clients=6, pictures=24)
    assert found["broken_promises"] == 0, found
    assert found["catalogue_equals_replay"]
    assert found["answers"] > 0
