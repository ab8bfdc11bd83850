"""The papers' tables: entries of papers/ in a checkout, which one runner makes.

``papers/NAME/tables.toml`` holds the entries of a paper. One that names an ``experiment`` is made
by `ranking_tables` of what stands there; one that names ``code`` by a function of papers/.

A `Report` is a table to read and the same as an object.
"""

from __future__ import annotations

import sys
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from inspect import signature
from json import dumps, loads
from pathlib import Path
from typing import Any

import visterm
from visterm.datasets import DATASETS, CaptionedDataset, data_folder
from visterm.errors import BadInput
from visterm.evaluation import Evaluation, Table, best_of
from visterm.experiments.cache import code_digest
from visterm.experiments.protocol import Source
from visterm.experiments.runs import Outcome
from visterm.files import write_whole
from visterm.progress import Progress, silent


@dataclass(frozen=True)
class Report:
    """A table to read, the same as an object, and a page to look at where pictures say more."""

    table: Table
    found: dict[str, Any]
    page: bytes | None = None

    def to_json(self) -> dict[str, Any]:
        """What was found, which cells of the table are marked, and p-values, by row and column."""
        marked = [list(cell) for cell in self.table.bold]
        p_values = [[*cell, round(p, 5)] for cell, p in self.table.p_values.items()]
        more = {"significant": marked, "p_values": p_values}
        return {**self.found, **{name: one for name, one in more.items() if one}}


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


RESULTS = "results.json"


@dataclass(frozen=True)
class Entry:
    """A table of a paper: what is to be made, and the file that describes the paper's tables."""

    name: str
    table: Mapping[str, Any]
    paper: Mapping[str, Any]
    folder: Path

    @property
    def source(self) -> str:
        """Where the paper appeared."""
        return str(self.paper.get("source", ""))

    @property
    def published(self) -> Any:
        """The paper's figures, as fractions."""
        return self.table.get("published", {})

    @property
    def experiment(self) -> dict[str, Any]:
        """What is run for the table; some are ``like`` another but for a few settings."""
        every = self.paper.get("experiments", {})
        known = every.get(self.table.get("experiment"), {})
        return {**every.get(known.get("like"), {}), **known}

    def titled(self, text: str) -> str:
        """A title that names the table and the paper."""
        return f"{self.table['title']}{text} ({self.source})" if self.source else text

    def dataset(self, data: Source, name: str | None = None) -> CaptionedDataset:
        """The data set of the entry, from its folder; or the one that is given in its place."""
        return (
            data
            if isinstance(data, CaptionedDataset)
            else read_named(name or self.table["data"], data)
        )


def read_named(name: str, data: Path | None) -> CaptionedDataset:
    """A public data set by its name, from its folder or the one above it."""
    return DATASETS[name](data_folder(name, data).resolve())


def papers_folder() -> Path:
    """The folder of the papers, which lies in a checkout and not in the installed package."""
    for root in (Path(visterm.__file__).parents[2], Path.cwd()):
        if (root / "papers" / "tpami2008" / "tables.toml").is_file():
            return root / "papers"
    raise BadInput(
        "the papers' tables are not installed with visterm; get its repository (the folder papers/ "
        "is in it, and in the source archive on PyPI), and run the command in there"
    )


@cache
def entries() -> dict[str, Entry]:
    """All tables by their names."""
    found = {}
    for file in sorted(papers_folder().glob("*/tables.toml")):
        paper = tomllib.loads(file.read_text(encoding="utf-8"))
        for name, table in paper["tables"].items():
            found[name] = Entry(name, table, paper, file.parent)
    return found


def entry(table: str) -> Entry:
    """The entry of this name."""
    known = entries()
    if table not in known:
        raise BadInput(f"no table called {table!r}; there are {', '.join(known)}")
    return known[table]


def maker_of(table: Entry) -> Callable[..., Report]:
    """What makes a table: called with (entry, data, seed=…, progress=…)."""
    root = str(table.folder.parents[1])
    if root not in sys.path:
        sys.path.append(root)  # papers/ is a package of the checkout
    code = table.table.get("code", "visterm.experiments.ranking_tables:ranking_table")
    module, _, name = code.partition(":")
    made: Callable[..., Report] = getattr(import_module(module), name)
    return made


def reproduce(
    table: str,
    data: Source = None,
    *,
    seed: int = 0,
    seeds: int | None = None,
    partitions: int | None = None,
    as_published: bool = False,
    features: str | None = None,
    progress: Progress = silent,
) -> Report:
    """Make the table of this name; partitions and seeds are for the tables that have several.

    ``as_published`` takes the paper's own settings instead of ours; ``features`` are networks that
    look at the pictures in place of the light one, by name, and the report holds their hashes.
    """
    wanted = entry(table)
    maker = maker_of(wanted)
    taken = signature(maker).parameters
    options: dict[str, object] = {}
    if partitions is not None:
        if "partitions" not in taken:
            raise BadInput(f"{table} has one set of test pictures; leave partitions out")
        options["partitions"] = partitions
    if seeds is not None:
        if "seeds" not in taken:
            raise BadInput(f"{table} is made with one seed; leave seeds out")
        options["seeds"] = seeds
    if as_published:
        if not wanted.table.get("as_published", "as_published" in wanted.experiment):
            raise BadInput(f"{table} has no settings of the paper's own; leave as-published out")
        options["as_published"] = True
    if features is None:
        return maker(wanted, data, seed=seed, progress=progress, **options)
    if "features" not in taken:
        raise BadInput(f"{table} names its own features; leave features out")
    report = maker(wanted, data, seed=seed, progress=progress, features=features, **options)
    known = replace(report.table, title=f"{report.table.title}; {features}")
    return replace(report, table=known, found=report.found | {"networks": hashes_of(features)})


def hashes_of(features: str) -> dict[str, str]:
    """The SHA-256 over the files of each installed network that features name."""
    from visterm.encoders import installed

    names = {part.partition("(")[0].rpartition("*")[2] for part in features.split("+")}
    return {one.name: one.digest for one in installed() if one.name in names}


def keep_results(table: str, report: Report, options: Mapping[str, Any], began: float) -> Path:
    """Write what a command found into the paper's ``results.json``, which the docs are made of."""
    file = results_file(entry(table))
    known = loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    given = {name: one for name, one in options.items() if one is not None and one is not False}
    known[result_key(table, given)] = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "source": code_digest()[:16],
        "seconds": round(time.monotonic() - began),
        "options": given,
        "table": report.table.to_markdown(),
        # A page's figures may quote captions, which belong to whoever owns the data.
        "found": {} if report.page is not None else report.to_json(),
    }
    text = dumps(dict(sorted(known.items())), indent=1, ensure_ascii=False, default=str)
    write_whole(file, f"{text}\n".encode())
    return file


def results_file(table: Entry) -> Path:
    """Where the results of a paper's commands are kept."""
    return table.folder / RESULTS


def result_key(table: str, options: Mapping[str, Any]) -> str:
    """What a command is kept under: the table, then the options that differ from the usual ones.

    >>> result_key("bitr-2", {"seed": 0, "partitions": 0, "as_published": True})
    'bitr-2 --partitions 0 --as-published'
    """
    words = [table]
    for name, value in options.items():
        if name == "seed" and value == 0:
            continue
        words.append(f"--{name.replace('_', '-')}" + ("" if value is True else f" {value}"))
    return " ".join(words)
