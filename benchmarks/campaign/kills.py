"""Part kills: SIGKILL from outside, at seeded moments of every command."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from benchmarks.campaign.ledger import Ledger
from benchmarks.campaign.scenarios import SCENARIOS, scenario
from benchmarks.campaign.trials import Bench
from benchmarks.common import say

_TOO_LATE = 0.85
"""A command that ended before its kill is struck earlier the next time, by so much."""


def kill_trials(bench: Bench, ledger: Ledger, limit: int, seed: int) -> dict[str, Any]:
    """Kill commands until so many kills came in time; each is one trial."""
    lasts: dict[str, float] = {}
    number = 0
    while (done := _in_time(ledger)) < limit and number < 4 * limit:
        chosen = SCENARIOS[number % len(SCENARIOS)]
        lasts.setdefault(chosen.name, bench.expected(chosen).seconds)
        moment = random.Random(f"{seed}/{number}").random() * lasts[chosen.name]
        trial = f"{number}/{chosen.name}"
        if trial not in ledger:
            killed, broken = bench.kill(chosen, moment)
            ledger.add(trial, killed=killed, broken=broken, after=round(moment, 4))
            lasts[chosen.name] *= 1.0 if killed else _TOO_LATE
            if broken:
                say(f"broken: {broken[0]}\n  {_command(chosen.name, moment)}")
        number += 1
        if number % 200 == 0:
            say(f"kills: {done:,} of {limit:,}")
    killed_commands = (name.split("/")[1] for name, one in ledger.results.items() if one["killed"])
    return {
        "kills": _in_time(ledger),
        "too_late": sum(not one["killed"] for one in ledger.results.values()),
        "by_command": dict(Counter(killed_commands)),
        "broken_promises": sum(1 for _ in ledger.broken()),
    }


def one_kill(bench: Bench, named: str) -> list[str]:
    """Repeat one, ``train/0.0431``: seconds that it computed, so it may take a few tries."""
    name, _, after = named.partition("/")
    return bench.kill(scenario(name), float(after))[1]


def _command(name: str, moment: float) -> str:
    return f"python -m benchmarks.campaign --part kills --point {name}/{moment:.4f}"


def _in_time(ledger: Ledger) -> int:
    return sum(bool(one["killed"]) for one in ledger.results.values())
