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
    has_ended: bool = False
    """Whether the command has ended, and said so, before it happens."""

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
        last = len(changes) + 1
        yield from (Point(scenario, one, last, True) for one in FAULTS if one.needs_journal)


def sweep(bench: Bench, ledger: Ledger, limit: int | None, seed: int) -> dict[str, Any]:
    """Try all points, or as many as the limit says, drawn by the seed."""
    every = list(points(bench))
    chosen = every if limit is None else drawn(every, limit, seed)
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
        "after_the_end": sum(point.has_ended for point in chosen),
        "by_command": _counts(name.split("/")[0] for name in names),
        "by_fault": _counts(name.split("/")[1] for name in names),
        "broken_promises": sum(bool(ledger.results[name]["broken"]) for name in names),
    }


def drawn(every: Sequence[Point], limit: int, seed: int) -> list[Point]:
    """So many points, of which a tenth, or all that there are, come after the end of a command."""
    dice = random.Random(seed)
    ended, others = ([one for one in every if one.has_ended is kind] for kind in (True, False))
    few = dice.sample(ended, min(limit // 10, len(ended)))
    return few + dice.sample(others, min(limit - len(few), len(others)))


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
