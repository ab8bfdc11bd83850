"""Tables 5 and 6 of the TPAMI paper: what validation pictures chose for each model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from visterm.evaluation import Table
from visterm.experiments.papers.published import published
from visterm.experiments.papers.tpami.model_comparison import corel_models
from visterm.experiments.runner.protocol import Source
from visterm.experiments.runner.reports import Report
from visterm.progress import Progress, silent

THEIRS = published("tpami")


def tpami_5(data: Source, seed: int = 0, progress: Progress = silent) -> Report:
    """PAMIR's aggressiveness and number of iterations."""
    chosen = corel_models(data, seed, progress)["PAMIR"].outcome.chosen
    return _report("table 5", THEIRS["table 5"], {"Corel": chosen})


def tpami_6(data: Source, seed: int = 0, progress: Progress = silent) -> Report:
    """The parameters of the other models; ours see the same six channels of blocks."""
    made = corel_models(data, seed, progress)
    theirs = {name: one for name, one in THEIRS["table 6"].items() if name != "PAMIR"}
    return _report("table 6", theirs, {name: made[name].outcome.chosen for name in theirs})


def _report(
    table: str, theirs: Mapping[str, Mapping[str, Any]], ours: Mapping[str, Mapping[str, Any]]
) -> Report:
    rows: dict[str, list[float | int | str | None]] = {}
    for name, published_ones in theirs.items():
        rows[name] = [_said(published_ones), _said(ours[name]) if name in ours else None]
    title = f"TPAMI {table}, chosen on validation pictures ({THEIRS['source']})"
    found = {"published": theirs, "ours": {name: dict(one) for name, one in ours.items()}}
    return Report(Table(title, ["published", "ours"], rows), found)


def _said(chosen: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in chosen.items() if name != "validation")
