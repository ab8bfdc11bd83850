"""Table 1 of the report: visterms a picture."""

from __future__ import annotations

from visterm.evaluation import Table
from visterm.experiments.experiment import Experiment
from visterm.experiments.protocol import Source
from visterm.experiments.tables import Entry, Report
from visterm.progress import Progress, silent


def ecml_1(entry: Entry, data: Source = None, seed: int = 0, progress: Progress = silent) -> Report:
    """Blobs and key-points a picture, in each part."""
    features = Experiment(entry, data, seed).features
    parts = ("train", "validation", "test")
    rows: dict[str, list[float | int | str | None]] = {}
    found: dict[str, dict[str, float]] = {}
    for name, visterms in entry.table["features"].items():
        counts = features.counts(visterms, progress=progress)
        means = [round(float(part.sum() / part.shape[0]), 2) for part in counts]
        found[name] = dict(zip(parts, means, strict=True))
        rows[f"{name} a picture, published"] = entry.published[name]
        rows[f"{name} a picture, ours"] = list(means)
    table = Table(entry.titled(", visterms a picture"), parts, rows, plain=list(rows))
    return Report(table, {"published": entry.published, "ours": found})
