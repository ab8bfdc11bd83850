"""Reports: a table to read and the same as an object; one run in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from visterm.evaluation import Evaluation, Table
from visterm.experiments.runner.runs import Outcome


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
