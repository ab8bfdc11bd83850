"""Reports: a table to read and the same as an object; the sizes of Corel; one run in words."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from visterm.evaluation import Evaluation, Table
from visterm.experiments import published
from visterm.experiments.protocol import corel5k
from visterm.experiments.runs import Outcome
from visterm.progress import Progress, silent
from visterm.text import Relevance


@dataclass(frozen=True)
class Report:
    """A table to read, the same as an object, and a page to look at where pictures say more."""

    table: Table
    found: dict[str, Any]
    page: bytes | None = None

    def to_json(self) -> dict[str, Any]:
        """What was found, and which cells of the table are marked: row and column of each."""
        marked = [list(cell) for cell in self.table.bold]
        return {**self.found, "significant": marked} if marked else self.found


def corel_statistics(data: Path | None, seed: int = 0, progress: Progress = silent) -> Report:
    """Sizes of the Corel benchmark: what the protocol must give before anything is measured."""
    protocol = corel5k(data, seed=seed)
    train, valid = protocol.split
    ours = {"vocabulary": len(protocol.vocabulary)} | {
        _name(name, key): value
        for name, relevance in (
            ("test", protocol.test_relevance),
            ("train", protocol.relevance_of(train)),
            ("validation", protocol.relevance_of(valid)),
        )
        for key, value in _query_statistics(relevance).items()
    }
    rows = {
        name.replace("_", " "): [published.COREL_STATISTICS.get(name), str(value)]
        for name, value in ours.items()
    }
    table = Table("Corel statistics", ["published", "ours"], rows)
    return Report(table, ours)


def _name(part: str, key: str) -> str:
    """Test figures go by their plain names, as the papers give them."""
    return key if part == "test" and key != "queries" else f"{part}_{key}"


def _query_statistics(relevance: Relevance) -> dict[str, float]:
    words, relevant = relevance.words_per_query, relevance.relevant_per_query
    return {
        "queries": len(relevance),
        "single": int((words == 1).sum()),
        "multi": int((words > 1).sum()),
        "easy": int((relevant >= 3).sum()),
        "difficult": int((relevant < 3).sum()),
        "mean_relevant": round(float(relevant.mean()), 2),
        "mean_words": round(float(words.mean()), 2),
    }


def outcome_text(title: str, outcome: Outcome) -> str:
    """All queries and every slice as a table, then where the time went."""
    parts: dict[str, Evaluation] = {"all": outcome.evaluation} | {
        name: outcome.evaluation.slice(mask) for name, mask in outcome.slices.items()
    }
    names = list(outcome.evaluation.per_query)
    rows: dict[str, list[float | int | str | None]] = {
        name: [str(len(part)), *(part.mean()[measure] for measure in names)]
        for name, part in parts.items()
    }
    table = Table(title, ["queries", *names], rows)
    spent = ", ".join(f"{what} {s:.1f} s" for what, s in outcome.seconds.to_json().items())
    chosen = ", ".join(f"{name} {value}" for name, value in outcome.chosen.items())
    return f"{table.to_text()}\n\nchosen on validation pictures: {chosen}\nspent: {spent}"
