"""The command of the campaign: all its parts one after another, or one of them.

A part that was stopped goes on where it was, as long as the sources are the same: artefacts/
campaign keeps what was found. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.campaign import disk
from benchmarks.campaign.ledger import Ledger, sources
from benchmarks.common import say

KEPT = Path("artefacts", "campaign")
_SIZES = {"faults": None, "kills": 3000, "hostile": 10_000, "cluster": 12, "soak": 30 * 60}
"""How much a part is without --limit: points, kills, files, kills, seconds."""


def main(given: list[str] | None = None) -> int:
    options = _parser().parse_args(given)
    if options.part == "all":
        found = {part: _in_a_process(part, options) for part in _SIZES}
        if options.report:
            from benchmarks.campaign.report import write_report

            write_report(options.report, found)
    else:
        found = {options.part: _PARTS[options.part](options) | {"sources": sources()[:12]}}
    print(json.dumps({**_summary(found), "parts": found}))
    return 1 if _summary(found)["broken_promises"] else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.campaign", description=__doc__)
    parser.add_argument("--part", choices=[*_SIZES, "all"], default="all")
    parser.add_argument("--limit", type=int, help="fewer points, kills, files or seconds")
    parser.add_argument("--points", type=int, help="so many fault points, drawn by the seed")
    parser.add_argument("--seconds", type=int, help="so many seconds of the soak")
    parser.add_argument("--point", help="repeat one, as a finding names it")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--report", type=Path, help="write the report into this Markdown file")
    parser.add_argument("--kept", type=Path, help="where results are kept; else nowhere")
    parser.add_argument("--json", action="store_true", help="as always: one object, last")
    return parser


def _in_a_process(part: str, options: argparse.Namespace) -> dict[str, Any]:
    """A part on its own, so that none has the memory or the disk of another."""
    words = [*("--part", part, "--seed", str(options.seed))]
    words += ["--kept", str(options.kept or KEPT)]
    limit = options.limit or {"faults": options.points, "soak": options.seconds}.get(part)
    if limit is not None:
        words += ["--limit", str(limit)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.campaign", *words], stdout=subprocess.PIPE, text=True
    )
    if not done.stdout.strip():
        raise SystemExit(f"part {part} ended with {done.returncode} and no result")
    return dict(json.loads(done.stdout.splitlines()[-1])["parts"][part])


def _ledger(options: argparse.Namespace, *own: str) -> Ledger:
    """Where results of a part are kept; ``own`` are modules that no other part's results need."""
    if options.kept is None:
        return Ledger(None)
    sources = b"".join(Path(__file__).with_name(f"{name}.py").read_bytes() for name in own)
    version = f"-{hashlib.sha256(sources).hexdigest()[:8]}" if own else ""
    return Ledger(options.kept / f"{options.part}-{options.seed}{version}.jsonl")


def _with_bench(
    part: str, options: argparse.Namespace, work: Callable[[Any], dict[str, Any]]
) -> dict[str, Any]:
    if disk.compiler() is None:
        raise SystemExit("faults need Linux and a C compiler (cc)")
    disk.load()
    from benchmarks.campaign.trials import Bench, preload

    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(
        prefix=f"visterm-{part}-", dir=memory if memory.is_dir() else None
    ) as folder:
        bench = Bench(Path(folder))
        preload(bench)
        return work(bench)


def _faults(options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks.campaign.faults import one_point, sweep

    def work(bench: Any) -> dict[str, Any]:
        if options.point is None:
            return sweep(bench, _ledger(options), options.limit, options.seed)
        point = one_point(options.point)
        broken = bench.fault(point.scenario, point.fault, point.at, seed=options.seed + point.at)
        return {"fault_points": 1, "broken_promises": len(broken), "broken": broken}

    return _with_bench("faults", options, work)


def _kills(options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks.campaign.kills import kill_trials, one_kill

    def work(bench: Any) -> dict[str, Any]:
        if options.point is None:
            return kill_trials(bench, _ledger(options), _size(options), options.seed)
        broken = one_kill(bench, options.point)
        return {"kills": 1, "broken_promises": len(broken), "broken": broken}

    return _with_bench("kills", options, work)


def _hostile(options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks.campaign.hostile import hostile_files

    ledger = _ledger(options)
    return hostile_files(ledger, _size(options), options.seed, options.point)


def _cluster(options: argparse.Namespace) -> dict[str, Any]:
    if find_spec("ray") is None:
        raise SystemExit("kills of a cluster need Ray: pip install 'visterm[cluster]'")
    from benchmarks.campaign.cluster import cluster_kills

    return cluster_kills(_ledger(options, "cluster"), _size(options), options.seed)


def _soak(options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks.campaign.soak import soak

    ledger, name = _ledger(options, "soak", "people"), f"{_size(options)}/{options.seed}"
    if name not in ledger:
        ledger.add(name, **soak(_size(options), options.seed))
    return ledger.results[name]


def _size(options: argparse.Namespace) -> int:
    return int(options.limit or _SIZES[options.part] or 0)


_PARTS = {
    "faults": _faults,
    "kills": _kills,
    "hostile": _hostile,
    "cluster": _cluster,
    "soak": _soak,
}


def _summary(found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What every run says: how much was tried, and how many promises were broken."""
    return {
        "fault_points": found.get("faults", {}).get("fault_points", 0),
        "kills": found.get("kills", {}).get("kills", 0),
        "hostile_files": found.get("hostile", {}).get("hostile_files", 0),
        "cluster_kills": found.get("cluster", {}).get("kills", 0),
        "broken_promises": sum(one["broken_promises"] for one in found.values()),
        "soak": found.get("soak"),
    }


if __name__ == "__main__":
    say("campaign: what is found is repeated by the command beside it")
    sys.exit(main())
