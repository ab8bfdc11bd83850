"""Part faults: every command again and again, each time with a disk that fails somewhere else."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.campaign.disk import Fault
from benchmarks.campaign.ledger import Ledger
from benchmarks.campaign.scenarios import SCENARIOS, Scenario
from benchmarks.campaign.trials import Bench
from benchmarks.common import say

FAULTS = [fault for fault in Fault if fault is not Fault.COUNT]


@dataclass(frozen=True)
class Point:
    """A fault at the n-th change of a command."""

    scenario: Scenario
    fault: Fault
    at: int

    @property
    def name(self) -> str:
        return f"{self.scenario.name}/{self.fault.name.lower()}/{self.at}"

    @property
    def command(self) -> str:
        """What repeats it alone."""
        return f"python -m benchmarks.campaign --part faults --point {self.name}"


def points(bench: Bench, scenarios: Sequence[Scenario] = SCENARIOS) -> Iterator[Point]:
    """Every fault at every change of every command, and a power cut after it has ended."""
    for scenario in scenarios:
        changes = bench.expected(scenario).changes
        for number, change in enumerate(changes, 1):
            yield from (Point(scenario, one, number) for one in FAULTS if one.matters(change))
        yield from (Point(scenario, one, len(changes) + 1) for one in FAULTS if one.needs_journal)


def sweep(bench: Bench, ledger: Ledger, limit: int | None, seed: int) -> dict[str, Any]:
    """Try all points, or as many as the limit says, drawn by the seed."""
    every = list(points(bench))
    chosen = every if limit is None else random.Random(seed).sample(every, min(limit, len(every)))
    say(f"faults: {len(chosen):,} of {len(every):,} points, seed {seed}")
    for number, point in enumerate(chosen, 1):
        if point.name not in ledger:
            broken = bench.fault(point.scenario, point.fault, point.at, seed=seed + point.at)
            ledger.add(point.name, broken=broken)
            if broken:
                say(f"broken: {broken[0]}\n  {point.command} --seed {seed}")
        if number % 200 == 0:
            say(f"faults: {number:,} of {len(chosen):,}")
    names = [point.name for point in chosen]
    return {
        "fault_points": len(names),
        "of": len(every),
        "by_command": _counts(name.split("/")[0] for name in names),
        "by_fault": _counts(name.split("/")[1] for name in names),
        "broken_promises": sum(bool(ledger.results[name]["broken"]) for name in names),
    }


def one_point(name: str) -> Point:
    """A point by its name."""
    command, fault, at = name.split("/")
    found = next((one for one in SCENARIOS if one.name == command), None)
    if found is None or fault.upper() not in Fault.__members__ or not at.isdigit():
        raise SystemExit(f"there is no fault point {name}; one is train/kill/17")
    return Point(found, Fault[fault.upper()], int(at))


def _counts(names: Iterator[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name in names:
        found[name] = found.get(name, 0) + 1
    return found
