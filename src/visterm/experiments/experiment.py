"""An experiment of models that rank pictures for words, made of an entry of papers/.

It has rows of features (or none), and for each the models by the paper's names, as
``visterm evaluate`` writes them; where a list stands, validation pictures choose among its members.
"Ours" and ``as_published`` are the same experiment with other settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from visterm.estimator import clone
from visterm.experiments.cache import remembered
from visterm.experiments.comparison import make_model
from visterm.experiments.picture_features import BLOCKS_FOR, PictureFeatures, block_numbers
from visterm.experiments.protocol import Protocol, Source, dealt_out, protocol_of
from visterm.experiments.runs import Extracted, RankedRun, Seconds, choose, index, outcome_of
from visterm.experiments.tables import Entry
from visterm.models import Model
from visterm.progress import Progress, silent

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
