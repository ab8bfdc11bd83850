"""Reports: a table to read and the same as an object; one run in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from visterm.evaluation import Evaluation, Table, best_of
from visterm.experiments.runs import Outcome


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


def table_by_model(
    title: str,
    rows: Mapping[str, tuple[Mapping[str, float], Mapping[str, float]]],
    *,
    bold: Sequence[tuple[str, str]] = (),
    plain: bool = True,
) -> Table:
    """A table of published and our figures of each model, from the two of each row."""
    models = list(dict.fromkeys(m for pair in rows.values() for part in pair for m in part))
    columns = [f"{model} {who}" for model in models for who in ("published", "ours")]
    cells = {
        name: [side.get(model) for model in models for side in pair] for name, pair in rows.items()
    }
    return Table(title, columns, cells, bold=bold, plain=list(cells) if plain else ())


def avgp_table(
    title: str,
    theirs: Mapping[str, Mapping[str, float]],
    ours: Mapping[str, Mapping[str, Evaluation]],
) -> Table:
    """AvgP by row and model, published and ours; bold is significantly above our others."""
    rows = {
        name: (theirs.get(name, {}), {m: one.mean()["AvgP"] for m, one in row.items()})
        for name, row in ours.items()
    }
    best = {name: best_of(row, "AvgP") for name, row in ours.items()}
    bold = [(name, f"{model} ours") for name, model in best.items() if model is not None]
    return table_by_model(title, rows, bold=bold, plain=False)


def outcome_text(title: str, outcome: Outcome) -> str:
    """All queries and every slice as a table, then where the time went."""
    parts = {name: outcome.part(name) for name in ("all", *outcome.slices)}
    names = list(outcome.evaluation.per_query)
    rows: dict[str, list[float | int | str | None]] = {
        name: [str(len(part)), *(part.mean()[measure] for measure in names)]
        for name, part in parts.items()
    }
    table = Table(title, ["queries", *names], rows)
    spent = ", ".join(f"{what} {s:.1f} s" for what, s in outcome.seconds.to_json().items())
    chosen = ", ".join(f"{name} {value}" for name, value in outcome.chosen.items())
    return f"{table.to_text()}\n\nchosen on validation pictures: {chosen}\nspent: {spent}"
