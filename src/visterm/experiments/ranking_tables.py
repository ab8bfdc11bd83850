"""Tables of models that rank pictures for words, made of an experiment's runs.

Several tables may look at one experiment, each with a ``view`` of its own: by measure, by slice of
the queries, by features, what was chosen, and how long it took.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.evaluation import Evaluation, Table, measures_table
from visterm.evaluation.significance import against_best, resampled_means
from visterm.experiments.comparison import averaged
from visterm.experiments.experiment import ALONE, Experiment
from visterm.experiments.protocol import Source
from visterm.experiments.runs import RankedRun, percent
from visterm.experiments.tables import Entry, Report, avgp_table, table_by_model
from visterm.progress import Progress, silent
from visterm.text import Relevance

Runs = dict[str, dict[str, list[RankedRun]]]
"""By row and model, a run for each seed."""
_RESAMPLED_QUERIES = 4000
_SIGNIFICANT = 0.05


def ranking_table(
    entry: Entry,
    data: Source = None,
    seed: int = 0,
    seeds: int | None = None,
    as_published: bool = False,
    progress: Progress = silent,
) -> Report:
    """The table of an entry, by the view that it names."""
    view: Callable[[Entry, Runs, list[Experiment]], Report] = VIEWS[entry.table["view"]]
    first = Experiment(entry, data, seed, as_published)
    count = seeds or (1 if view is chosen else int(first.settings.get("seeds", 1)))
    every = [replace(first, seed=seed + number) for number in range(count)]
    runs: Runs = {}
    for experiment in every:
        for row, models in experiment.runs(progress).items():
            for name, run in models.items():
                runs.setdefault(row, {}).setdefault(name, []).append(run)
    return view(entry, runs, every)


def _part(runs: list[RankedRun], name: str) -> Evaluation:
    """A slice of the queries, averaged over the seeds; unseen queries are those of every seed."""
    whole = averaged([run.outcome.evaluation for run in runs])
    return whole if name == "all" else whole.slice(_mask(runs, name))


def _mask(runs: list[RankedRun], name: str) -> NDArray[np.bool_]:
    """Which queries are of a slice, with every seed."""
    if name == "all":
        return np.ones(len(runs[0].outcome.evaluation), bool)
    return np.logical_and.reduce([run.outcome.slices[name] for run in runs])


def _ours(runs: Mapping[str, list[RankedRun]]) -> dict[str, Any]:
    """What the models gave, with the AvgP of every seed where there are several."""
    found = {}
    for name, every in runs.items():
        found[name] = every[0].outcome.to_json()
        if len(every) > 1:
            by_seed = [percent(one.outcome.evaluation)["AvgP"] for one in every]
            parts = {part: percent(_part(every, part)) for part in every[0].outcome.slices}
            found[name] |= {**percent(_part(every, "all")), "AvgP_by_seed": by_seed}
            found[name]["slices"] = {
                part: found[name]["slices"][part] | figures for part, figures in parts.items()
            }
    return found


def _object(entry: Entry, ours: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Published figures in percent, and ours."""
    theirs = {m: {k: round(100 * v, 1) for k, v in f.items()} for m, f in entry.published.items()}
    return {"published": theirs, "ours": dict(ours), **more}


def _p_values(
    runs: Mapping[str, list[RankedRun]], experiments: list[Experiment], part: str
) -> dict[str, float]:
    """Of every model against the best one: AvgP over pictures drawn again, Holm's correction."""
    means, resampled = {}, {}
    for name, every in runs.items():
        means[name] = _part(every, part).mean()["AvgP"]
        mask = _mask(every, part)
        found = [
            resampled_means(one.rows, _some(experiment.protocol.test_relevance.take(mask)))
            for one, experiment in zip(every, experiments, strict=True)
        ]
        resampled[name] = np.mean(found, axis=0)
    return against_best(means, resampled)


def _some(relevance: Relevance) -> Relevance:
    """Queries at even distances, where there are too many to draw pictures again for all."""
    step = -(-len(relevance) // _RESAMPLED_QUERIES)
    return relevance.take(np.arange(len(relevance)) % step == 0)


def _marked(
    table: Table,
    rows: Mapping[str, tuple[str, Mapping[str, list[RankedRun]]]],
    experiments: list[Experiment],
) -> Table:
    """The table with p-values over pictures, and deviations over seeds, of AvgP in its rows; each
    row names a part of the queries and the runs. Bold is what is above all others by these, too."""
    p_values: dict[tuple[str, str], float] = {}
    spread: dict[tuple[str, str], float] = {}
    bold = set(table.bold)
    for row, (part, runs) in rows.items():
        found = _p_values(runs, experiments, part)
        p_values |= {(row, f"{name} ours"): p for name, p in found.items()}
        if max(found.values(), default=1.0) >= _SIGNIFICANT:
            bold -= {(row, column) for column in table.columns}
        if len(experiments) > 1:
            for name, every in runs.items():
                means = [one.outcome.part(part).mean()["AvgP"] for one in every]
                spread[row, f"{name} ours"] = float(np.std(means, ddof=1))
    return replace(table, p_values=p_values, spread=spread, bold=sorted(bold))


def by_measure(entry: Entry, runs: Runs, every: list[Experiment]) -> Report:
    """AvgP, BEP and P@10 of the models of one row, over all queries or a slice of them."""
    shown = runs[entry.table.get("row", ALONE)]
    part = entry.table.get("slice", "all")
    ours = {name: _part(one, part) for name, one in shown.items()}
    table = measures_table(entry.titled(""), ours, entry.published)
    return Report(_marked(table, {"AvgP": (part, shown)}, every), _object(entry, _ours(shown)))


def by_slice(entry: Entry, runs: Runs, every: list[Experiment]) -> Report:
    """AvgP of the models over each slice that the paper looks at."""
    shown = runs[ALONE]
    names = list(next(iter(entry.published.values())))
    theirs = {part: {m: f[part] for m, f in entry.published.items()} for part in names}
    ours = {part: {m: _part(one, part) for m, one in shown.items()} for part in names}
    table = avgp_table(entry.titled(", AvgP"), theirs, ours)
    table = _marked(table, {part: (part, shown) for part in names}, every)
    return Report(table, _object(entry, _ours(shown)))


def by_row(entry: Entry, runs: Runs, every: list[Experiment]) -> Report:
    """AvgP by features and model, over all queries or a slice of them."""
    part = entry.table.get("slice", "all")
    ours = {
        row: {name: _part(one, part) for name, one in models.items()}
        for row, models in runs.items()
    }
    tried = {
        row: {text: round(100 * v, 2) for text, v in models["PAMIR"][0].tried.items()}
        for row, models in runs.items()
        if "PAMIR" in models
    }
    found = {row: _ours(models) for row, models in runs.items()}
    table = avgp_table(entry.titled(", AvgP"), entry.published, ours)
    table = _marked(table, {row: (part, models) for row, models in runs.items()}, every)
    return Report(table, _object(entry, found, tried_on_validation=tried))


def chosen(entry: Entry, runs: Runs, every: list[Experiment]) -> Report:
    """What validation pictures chose, by row or by model, and the settings that the paper names."""
    rows = every[0].candidates()
    known = {
        (name if row == ALONE else row): (runs[row][name][0].outcome, candidates[0].model)
        for row, models in rows.items()
        for name, candidates in models.items()
        if row == ALONE or name == "PAMIR"
    }
    ours = {}
    for name, theirs in entry.published.items():
        if (alias := entry.table.get("aliases", {}).get(name, name)) in known:
            outcome, model = known[alias]
            given = {k: v for k, v in model.get_params().items() if k in theirs}
            ours[name] = {**given, **outcome.chosen}
    cells: dict[str, list[float | int | str | None]] = {
        name: [_said(theirs), _said(ours[name]) if name in ours else None]
        for name, theirs in entry.published.items()
    }
    table = Table(entry.titled(", chosen on validation pictures"), ["published", "ours"], cells)
    return Report(table, {"published": entry.published, "ours": ours})


def _said(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items() if name != "validation")


def indexing(entry: Entry, runs: Runs, _: list[Experiment]) -> Report:
    """One training with what was chosen, and mapping the test pictures; the fastest seed's.

    Processor seconds are those of all cores together, as the paper's machine had one.
    """
    cores, wall = (
        {
            name: min(one.outcome.seconds.spent[what] for one in every)
            for name, every in runs[ALONE].items()
        }
        for what in ("indexing, processor", "indexing")
    )
    theirs = entry.published
    table = table_by_model(
        entry.titled(", indexing"),
        {
            "processor seconds": (theirs, cores),
            "times PAMIR": (_over_pamir(theirs), _over_pamir(cores)),
            "seconds by the clock": ({}, wall),
        },
    )
    ours = {m: {"processor": round(cores[m], 3), "wall": round(wall[m], 3)} for m in cores}
    ratio = round(_over_pamir(cores)["SVM"], 1)
    return Report(table, {"published": theirs, "ours": ours, "svm_over_pamir": ratio})


def _over_pamir(seconds: Mapping[str, float]) -> dict[str, float]:
    return {m: spent / seconds["PAMIR"] for m, spent in seconds.items() if "PAMIR" in seconds}


def retrieval(entry: Entry, runs: Runs, _: list[Experiment]) -> Report:
    """Scoring and sorting the test pictures for a query."""
    ours = {
        name: min(
            1e6 * one.outcome.seconds.spent["retrieval"] / len(one.outcome.evaluation)
            for one in every
        )
        for name, every in runs[ALONE].items()
    }
    rows = {"microseconds a query": (entry.published, ours)}
    found = {"published": entry.published, "ours": {m: round(v, 1) for m, v in ours.items()}}
    return Report(table_by_model(entry.titled(", retrieval"), rows), found)


VIEWS = {
    "measures": by_measure,
    "slices": by_slice,
    "rows": by_row,
    "chosen": chosen,
    "indexing": indexing,
    "retrieval": retrieval,
}


def query_statistics(
    entry: Entry, data: Source = None, seed: int = 0, progress: Progress = silent
) -> Report:
    """Sizes of a benchmark and of its queries: what the protocol must give before anything else."""
    protocol = Experiment(entry, data, seed).protocol
    train, held = protocol.split
    parts = {
        "test": protocol.test_relevance,
        "train": protocol.relevance_of(train),
        "validation": protocol.relevance_of(held),
    }
    ours: dict[str, float] = {"vocabulary": len(protocol.vocabulary)}
    for part, relevance in parts.items():
        for key, value in _counted(relevance).items():
            plain = part == "test" and key not in ("queries", "pictures")
            ours[key if plain else f"{part}_{key}"] = value
    ours["p10_ceiling"] = round(100 * p10_ceiling(parts["test"]), 1)
    ours["unseen_in_training"] = int((~protocol.seen_in_training).sum())
    ours["unseen_in_development"] = int((~protocol.seen_queries).sum())
    rows = {
        name.replace("_", " "): [entry.published.get(name), str(value)]
        for name, value in ours.items()
    }
    return Report(Table(entry.titled(f", {protocol.name}"), ["published", "ours"], rows), ours)


def p10_ceiling(relevance: Relevance) -> float:
    """P@10 of a ranker that is always right: few queries have ten relevant pictures.

    >>> from scipy.sparse import csr_array
    >>> p10_ceiling(Relevance(csr_array([[1.0]]), csr_array([[1.0, 1.0, 0.0]])))
    0.2
    """
    return float(np.minimum(relevance.relevant_per_query, 10).mean() / 10)


def _counted(relevance: Relevance) -> dict[str, float]:
    words, relevant = relevance.words_per_query, relevance.relevant_per_query
    return {
        "pictures": int(relevance.pictures.shape[1]),
        "queries": len(relevance),
        "single": int((words == 1).sum()),
        "multi": int((words > 1).sum()),
        "easy": int((relevant >= 3).sum()),
        "difficult": int((relevant < 3).sum()),
        "mean_relevant": round(float(relevant.mean()), 2),
        "mean_words": round(float(words.mean()), 2),
    }
