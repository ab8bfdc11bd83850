"""Tables of the papers beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from visterm.errors import BadInput
from visterm.evaluation import Evaluation, Table, best_of, measures_table
from visterm.experiments import published
from visterm.experiments.presets import make_extractor, make_model
from visterm.experiments.protocol import Protocol, corel5k
from visterm.experiments.runs import Described, Outcome, Seconds, describe, run
from visterm.features import Blocks
from visterm.models import MODELS
from visterm.progress import Progress, silent
from visterm.text import Relevance

# The papers' names of models, in the papers' order; those that exist are run.
_TPAMI_MODELS = {
    "CMRM": "cmrm",
    "CMTT": "cmtt",
    "PLSA": "plsa",
    "SVM": "concept_svm",
    "PAMIR": "pamir",
}


@dataclass(frozen=True)
class Report:
    """A table to read, and the same as an object."""

    table: Table
    found: dict[str, Any]


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


def tpami_outcomes(
    data: Path | None, seed: int, progress: Progress
) -> tuple[Protocol, dict[str, Outcome]]:
    """Every model of the TPAMI tables that exists, on the same block visterms and split."""
    protocol = corel5k(data, seed=seed)
    extractor = make_extractor("blocks", seed=seed).set_params(weighting="counts")
    if not isinstance(extractor, Blocks):
        raise BadInput("the TPAMI tables are made with block features")
    shared = Seconds()
    with shared.on("features"):
        counts = describe(protocol, extractor, progress=progress)
        weigh = extractor.weigh
        vectors = Described(weigh(counts.training), weigh(counts.validation), weigh(counts.test))
    outcomes = {}
    for shown, name in _TPAMI_MODELS.items():
        if name in MODELS:
            model = make_model(name, max_words=protocol.max_words, seed=seed)
            taken = counts if model.takes == "counts" else vectors
            outcomes[shown] = run(
                protocol, taken, model, Seconds(dict(shared.spent)), progress=progress
            )
    return protocol, outcomes


def tpami_9(data: Path | None, seed: int = 0, progress: Progress = silent) -> Report:
    """AvgP, BEP and P@10 over all Corel test queries."""
    _, outcomes = tpami_outcomes(data, seed, progress)
    ours = {name: outcome.evaluation for name, outcome in outcomes.items()}
    table = measures_table(f"TPAMI table 9 ({published.TPAMI})", ours, published.TPAMI_9)
    return Report(table, _objects(outcomes, published.TPAMI_9))


def tpami_12(data: Path | None, seed: int = 0, progress: Progress = silent) -> Report:
    """The same over queries that no development picture answers."""
    _, outcomes = tpami_outcomes(data, seed, progress)
    ours = {name: o.evaluation.slice(o.slices["unseen"]) for name, o in outcomes.items()}
    table = measures_table(f"TPAMI table 12 ({published.TPAMI})", ours, published.TPAMI_12)
    return Report(table, _objects(outcomes, published.TPAMI_12))


def tpami_10(data: Path | None, seed: int = 0, progress: Progress = silent) -> Report:
    """AvgP over easy and difficult queries."""
    return _by_slice("10", published.TPAMI_10, data, seed, progress)


def tpami_11(data: Path | None, seed: int = 0, progress: Progress = silent) -> Report:
    """AvgP over single-word and multi-word queries."""
    return _by_slice("11", published.TPAMI_11, data, seed, progress)


def _by_slice(
    number: str,
    theirs: Mapping[str, Mapping[str, float]],
    data: Path | None,
    seed: int,
    progress: Progress,
) -> Report:
    _, outcomes = tpami_outcomes(data, seed, progress)
    names = list(next(iter(theirs.values())))
    columns = [f"{model} {who}" for model in theirs for who in ("published", "ours")]
    rows, bold = {}, []
    for name in names:
        ours = {m: o.evaluation.slice(o.slices[name]) for m, o in outcomes.items()}
        cells: list[float | None] = []
        for model in theirs:
            mine = ours[model].mean()["AvgP"] if model in ours else None
            cells += [theirs[model][name], mine]
        rows[name] = cells
        best = best_of(ours, "AvgP")
        if best is not None:
            bold.append((name, f"{best} ours"))
    title = f"TPAMI table {number}, AvgP ({published.TPAMI})"
    return Report(Table(title, columns, rows, bold=bold), _objects(outcomes, theirs))


def _objects(
    outcomes: Mapping[str, Outcome], theirs: Mapping[str, Mapping[str, float]]
) -> dict[str, Any]:
    shown = {m: {k: round(100 * v, 1) for k, v in f.items()} for m, f in theirs.items()}
    return {"published": shown, "ours": {name: o.to_json() for name, o in outcomes.items()}}


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
