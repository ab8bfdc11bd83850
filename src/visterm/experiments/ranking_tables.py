"""Tables of models that rank pictures for words, made of their entries.

An experiment has rows of features (or none), and for each the models by the paper's names, as
``visterm evaluate`` writes them; where a list stands, validation pictures choose among its members.
"Ours" and ``as_published`` are the same experiment with other settings. Several tables may look at
one experiment, each with a ``view`` of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from visterm.estimator import clone
from visterm.evaluation import Evaluation, Table, measures_table
from visterm.experiments.cache import remembered
from visterm.experiments.comparison import averaged, make_model
from visterm.experiments.picture_features import BLOCKS_FOR, PictureFeatures, block_numbers
from visterm.experiments.protocol import Protocol, Source, dealt_out, protocol_of
from visterm.experiments.runs import (
    Extracted,
    RankedRun,
    Seconds,
    choose,
    index,
    outcome_of,
    percent,
)
from visterm.experiments.tables import Entry, Report, avgp_table, table_by_model
from visterm.models import Model
from visterm.progress import Progress, silent
from visterm.text import Relevance

Runs = dict[str, dict[str, list[RankedRun]]]
"""By row and model, a run for each seed."""
ALONE = ""
"""The name of the only row of an experiment."""


class Candidate(NamedTuple):
    """A model on some features; validation pictures may choose among several."""

    model: Model
    features: str
    form: str
    """How it takes them: "vectors", visterm "counts", or all parts as one "bag"."""
    points_per_centre: int | None

    @property
    def text(self) -> str:
        kernel = self.model.get_params().get("kernel")
        return self.features if kernel is None else f"{self.features}, {kernel}"

    def rows(self, features: PictureFeatures, progress: Progress) -> Extracted:
        points = {} if self.form == "bag" else {"points_per_centre": self.points_per_centre}
        made = getattr(features, self.form)(self.features, **points, progress=progress)
        return Extracted(*made)


@dataclass(frozen=True, eq=False)
class Experiment:
    """An entry's experiment on a data set with one seed, ours or as published."""

    entry: Entry
    data: Source
    seed: int = 0
    as_published: bool = False

    @cached_property
    def settings(self) -> dict[str, Any]:
        known = self.entry.experiment
        return {**known, **(known.get("as_published", {}) if self.as_published else {})}

    @cached_property
    def protocol(self) -> Protocol:
        """Who trains, validates and is tested, and the queries."""
        data = self.entry.dataset(self.data, self.settings["data"])
        max_words = self.settings.get("max_words")
        if "dealt_out" in self.settings:
            shares = self.settings["dealt_out"]
            return dealt_out(data, shares, seed=self.seed, max_words=max_words)
        found = protocol_of(data, seed=self.seed)
        return found if max_words is None else replace(found, max_words=max_words)

    @cached_property
    def features(self) -> PictureFeatures:
        return PictureFeatures(self.protocol, kept=True)

    @property
    def training_only(self) -> bool:
        """Whether models learn from training pictures alone, and validation pictures choose."""
        return bool(self.settings.get("learn_from", "development") == "training")

    def candidates(self) -> dict[str, dict[str, list[Candidate]]]:
        """By row and model, what validation pictures choose from."""
        rows = self.settings.get("rows") or {ALONE: self.settings}
        return {
            row: {name: self._candidates(given, one) for name, one in given["models"].items()}
            for row, given in rows.items()
        }

    def _candidates(self, row: Mapping[str, Any], given: Any) -> list[Candidate]:
        every = given if isinstance(given, list) else [given]
        return [
            self._candidate(row, {"model": one} if isinstance(one, str) else one) for one in every
        ]

    def _candidate(self, row: Mapping[str, Any], given: Mapping[str, Any]) -> Candidate:
        protocol = self.protocol
        model = make_model(
            given["model"],
            max_words=protocol.max_words,
            seed=protocol.seed,
            presets=self.settings.get("presets", True),
        )
        features = given.get("features") or row.get("features") or BLOCKS_FOR[model.takes]
        if model.takes == "blocks":
            features = given.get("features", BLOCKS_FOR["blocks"])
            model.set_params(block_width=block_numbers(features))
        form = "counts" if model.takes == "counts" else given.get("form", "vectors")
        return Candidate(model, features, form, given.get("points_per_centre"))

    def runs(self, progress: Progress = silent) -> dict[str, dict[str, RankedRun]]:
        """Every model of every row."""
        return {
            row: {name: self.run(every, progress) for name, every in models.items()}
            for row, models in self.candidates().items()
        }

    def run(self, candidates: list[Candidate], progress: Progress = silent) -> RankedRun:
        """The candidate that validation pictures like best, measured on the test pictures."""

        def made() -> dict[str, Any]:
            rows, outcome, tried = self._measured(candidates, progress)
            kept = {"chosen": outcome.chosen, "seconds": outcome.seconds.spent, "tried": tried}
            return {"rows": rows, **kept}

        about = [(c.model.name, c.model.get_params(), *c[1:]) for c in candidates]
        known = remembered("run", made, about, self.training_only, self.protocol.digest)
        seconds, chosen = Seconds(known["seconds"]), known["chosen"]
        outcome = outcome_of(self.protocol, known["rows"], seconds, chosen, self.training_only)
        return RankedRun(known["rows"], outcome, known["tried"])

    def _measured(self, candidates: list[Candidate], progress: Progress) -> RankedRun:
        choosers = [self._chooser(one, progress) for one in candidates]
        best = max(range(len(choosers)), key=lambda i: choosers[i][0].validation_)
        chooser, rows, seconds = choosers[best]
        found = index(
            self.protocol,
            rows,
            chooser,
            seconds,
            training_only=self.training_only,
            progress=progress,
        )
        tried = {c.text: made[0].validation_ for c, made in zip(candidates, choosers, strict=True)}
        if len(candidates) > 1:
            extra = _differences([one.model for one in candidates], best)
            found.outcome.chosen.update(way=candidates[best].text, **extra)
        return found._replace(tried=tried)

    def _chooser(
        self, candidate: Candidate, progress: Progress
    ) -> tuple[Model, Extracted, Seconds]:
        """A model that learnt from training pictures, by what validation pictures chose."""
        seconds = Seconds()
        with seconds.on("features"):
            rows = candidate.rows(self.features, progress)
        model = clone(candidate.model).set_params(retrain=False)
        with seconds.on("choosing"):
            choose(self.protocol, model, (rows.training, rows.validation), progress)
        return model, rows, seconds


def _differences(models: list[Model], best: int) -> dict[str, Any]:
    """Parameters of the best model in which others of its kind differ from it."""
    ours = models[best].get_params()
    others = [one.get_params() for one in models if type(one) is type(models[best])]
    return {name: value for name, value in ours.items() if any(o[name] != value for o in others)}


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
    masks = [run.outcome.slices.get(name) for run in runs]
    whole = averaged([run.outcome.evaluation for run in runs])
    common = [mask for mask in masks if mask is not None]
    return whole if name == "all" else whole.slice(np.logical_and.reduce(common))


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


def _ranges(runs: Mapping[str, list[RankedRun]], part: str) -> dict[str, str]:
    """The lowest and highest AvgP over seeds, by model."""
    found = {}
    for name, every in runs.items():
        means = [100 * one.outcome.part(part).mean()["AvgP"] for one in every]
        found[name] = f"{min(means):.1f}–{max(means):.1f}"
    return found


def _with_ranges(table: Table, part: str, runs: Mapping[str, list[RankedRun]]) -> Table:
    """The table with a row of AvgP's range over seeds, where there are several."""
    seeds = len(next(iter(runs.values())))
    if seeds == 1:
        return table
    ranges = {f"{name} ours": text for name, text in _ranges(runs, part).items()}
    name = f"AvgP of {part} queries, over {seeds} seeds"
    return replace(table, rows={**table.rows, name: [ranges.get(c) for c in table.columns]})


def by_measure(entry: Entry, runs: Runs, _: list[Experiment]) -> Report:
    """AvgP, BEP and P@10 of the models of one row, over all queries or a slice of them."""
    shown = runs[entry.table.get("row", ALONE)]
    part = entry.table.get("slice", "all")
    ours = {name: _part(every, part) for name, every in shown.items()}
    table = measures_table(entry.titled(""), ours, entry.published)
    return Report(_with_ranges(table, part, shown), _object(entry, _ours(shown)))


def by_slice(entry: Entry, runs: Runs, _: list[Experiment]) -> Report:
    """AvgP of the models over each slice that the paper looks at."""
    shown = runs[ALONE]
    names = list(next(iter(entry.published.values())))
    theirs = {part: {m: f[part] for m, f in entry.published.items()} for part in names}
    ours = {part: {m: _part(every, part) for m, every in shown.items()} for part in names}
    table = avgp_table(entry.titled(", AvgP"), theirs, ours)
    for part in names:
        table = _with_ranges(table, part, shown)
    return Report(table, _object(entry, _ours(shown)))


def by_row(entry: Entry, runs: Runs, _: list[Experiment]) -> Report:
    """AvgP by features and model, over all queries or a slice of them."""
    part = entry.table.get("slice", "all")
    ours = {
        row: {name: _part(every, part) for name, every in models.items()}
        for row, models in runs.items()
    }
    tried = {
        row: {text: round(100 * v, 2) for text, v in models["PAMIR"][0].tried.items()}
        for row, models in runs.items()
        if "PAMIR" in models
    }
    found = {row: _ours(models) for row, models in runs.items()}
    table = avgp_table(entry.titled(", AvgP"), entry.published, ours)
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
