"""Models on a data set by their names: features, validation, one look at the test pictures; and
several models on the same queries: means over seeds, confidence intervals, p-values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput
from visterm.evaluation import Evaluation, Table
from visterm.evaluation.significance import against_best
from visterm.experiments.picture_features import (
    BLOCKS_FOR,
    PictureFeatures,
    block_numbers,
    check_features,
)
from visterm.experiments.protocol import Protocol
from visterm.experiments.runs import Extracted, Outcome, Seconds, interval_95, percent, run
from visterm.features.notation import parse_named
from visterm.models import Model, model_of
from visterm.models.rules import PRESETS, pairs_of_a_round
from visterm.progress import Progress, silent

BEST_VIEWS = (
    "cnn(size=288) + cnn(size=256, crop=squash)"
    " + cnn(network=lite1, size=320) + cnn(network=lite1, size=288, crop=squash)"
    " + cnn(network=lite2, size=352) + cnn(network=lite2, size=288, crop=squash)"
)
"""What ranked Corel's validation pictures best: three networks' views of a picture …"""
BEST_MODEL = "kernel-ridge(alpha=(0.1, 0.3))"
"""… compared by an RBF kernel, and kernel ridge regression."""


def make_model(
    name: str, *, max_words: int | None = None, seed: int = 0, presets: bool = True
) -> Model:
    """The model of a name, with the choices that validation pictures decide.

    It ranks pictures for words, and learns again from the validation pictures. Without ``presets``
    it has nothing but its own defaults and what stands in brackets.

    >>> make_model("bitr(loss=manhattan)").loss
    'manhattan'
    """
    named = parse_named(name)
    if ":" in named.name:
        return _own_model(*named)
    kind = model_of(named.name)
    model = kind(**(PRESETS.get(kind.name, {}) if presets else {}))
    known = model.get_params()
    for parameter in named.parameters:
        if parameter not in known:
            raise BadInput(f"{kind.name} has no parameter {parameter!r}; it has {', '.join(known)}")
    wanted = {
        "max_words": max_words,
        "retrain": True,
        "random_state": seed,
        "judged_by": "words",
        "ranks": "pictures",
    }
    fitting = {key: value for key, value in wanted.items() if key in known}
    return model.set_params(**fitting | named.parameters)


def _own_model(name: str, parameters: dict[str, Any]) -> Model:
    """A model of somebody else's module, such as ``my_module:MyModel``."""
    module, _, kind = name.partition(":")
    try:
        model: Model = getattr(import_module(module), kind)(**parameters)
    except (ImportError, AttributeError, TypeError) as error:
        raise BadInput(f"the model {name} cannot be made: {error}") from None
    for method in ("fit", "transform"):
        if not callable(getattr(model, method, None)):
            raise BadInput(f"{name} has no {method}; a model has fit(X, Y) and transform(X)")
    return model


class ModelEvaluation(NamedTuple):
    """What came out, and of which model on which features."""

    model: str
    features: str
    outcome: Outcome


def evaluate_model(
    protocol: Protocol,
    model: str = "pamir",
    features: str | None = None,
    *,
    extracted: PictureFeatures | None = None,
    n_jobs: int | None = None,
    ranks: bool = False,
    progress: Progress = silent,
) -> ModelEvaluation:
    """A model by its name; without ``features`` on blocks, in the form that it takes.

    ``extracted`` holds what other models on the same pictures have had extracted already.
    """
    if features is not None:
        check_features(features)
    learner = make_model(model, max_words=protocol.max_words, seed=protocol.seed)
    takes = getattr(learner, "takes", "vectors")
    features = features or BLOCKS_FOR[takes]
    if takes == "blocks":
        fitting = {
            "block_width": block_numbers(features),
            "epoch_pairs": pairs_of_a_round(protocol.captions.nnz),
        }
        learner.set_params(**fitting | parse_named(model).parameters)
    seconds = Seconds()
    with seconds.on("features"):
        made = extracted or PictureFeatures(protocol, n_jobs=n_jobs)
        rows = (made.counts if takes == "counts" else made.vectors)(features, progress=progress)
    outcome = run(protocol, Extracted(*rows), learner, seconds, ranks=ranks, progress=progress)
    return ModelEvaluation(model, features, outcome)


def evaluate_preset(
    protocol: Protocol,
    preset: str,
    features: str | None = None,
    *,
    n_jobs: int | None = None,
    ranks: bool = False,
    progress: Progress = silent,
) -> ModelEvaluation:
    """Features and model together, by the preset's name; or its model on other features."""
    if preset != "best":
        raise BadInput(f"no preset called {preset!r}; there is best")
    made = evaluate_model(
        protocol, BEST_MODEL, features or BEST_VIEWS, n_jobs=n_jobs, ranks=ranks, progress=progress
    )
    shown = features or "cnn, two views by each of three networks"
    return made._replace(model=parse_named(BEST_MODEL).name, features=shown)


@dataclass(frozen=True)
class ModelComparison:
    """What each model gave, a run for each seed, all on the same test queries.

    The 95 % interval of mean AvgP, and the p-values of models against the best one, with Holm's
    correction, come from drawing the test pictures again: queries share them, and are no
    independent observations.
    """

    runs: dict[str, list[ModelEvaluation]]

    @property
    def evaluations(self) -> dict[str, Evaluation]:
        """Each model's results query by query, averaged over its seeds."""
        return {
            name: averaged([run.outcome.evaluation for run in runs])
            for name, runs in self.runs.items()
        }

    @property
    def resampled(self) -> dict[str, NDArray[np.float64]]:
        """Each model's mean AvgP on pictures drawn again, averaged over its seeds."""
        return {
            name: np.mean(
                [run.outcome.resampled for run in runs if run.outcome.resampled is not None], axis=0
            )
            for name, runs in self.runs.items()
        }

    def p_values(self) -> dict[str, float]:
        """Of every model but the best one, against that one."""
        means = {name: one.mean()["AvgP"] for name, one in self.evaluations.items()}
        return against_best(means, self.resampled)

    def to_json(self) -> dict[str, Any]:
        ours, means, p_values = self.evaluations, self.resampled, self.p_values()
        found = {}
        for name, mean in ours.items():
            runs = self.runs[name]
            found[name] = {
                "features": runs[0].features,
                **percent(mean),
                "interval_95": interval_95(mean, means[name]),
                "AvgP_by_seed": [percent(run.outcome.evaluation)["AvgP"] for run in runs],
                "p_value": p_values.get(name),
                "runs": [run.outcome.to_json() for run in runs],
            }
        return {"best": _ahead(ours), "significant": _is_above(p_values), "models": found}

    def table(self, title: str) -> Table:
        """Models down, the best AvgP bold where it is significantly above all others."""
        ours, means, p_values = self.evaluations, self.resampled, self.p_values()
        ahead = _ahead(ours)
        measures = list(ours[ahead].per_query)
        ranks = list(self.runs[ahead][0].outcome.ranks or ())
        rows: dict[str, list[float | int | str | None]] = {}
        for name, mean in ours.items():
            low, high = interval_95(mean, means[name])
            both_ways = [one.outcome.ranks or {} for one in self.runs[name]]
            rows[name] = [
                *(mean.mean()[measure] for measure in measures),
                f"{low:.1f}–{high:.1f}",
                *(float(np.mean([found[rank] for found in both_ways])) for rank in ranks),
            ]
        deviations = {(name, "AvgP"): _deviation(runs) for name, runs in self.runs.items()}
        return Table(
            title,
            [*measures, "AvgP, 95 %", *ranks],
            rows,
            bold=[(ahead, "AvgP")] if _is_above(p_values) else [],
            plain=ranks,
            heading="model",
            spread={cell: one for cell, one in deviations.items() if one is not None},
            p_values={(name, "AvgP"): p for name, p in p_values.items()},
        )


def compare_models_by_name(
    protocol: Protocol,
    models: Sequence[str],
    features: str | None = None,
    *,
    seeds: int = 1,
    n_jobs: int | None = None,
    ranks: bool = False,
    progress: Progress = silent,
) -> ModelComparison:
    """Run every model with every seed. Test pictures stay the same; seeds decide the rest."""
    if seeds < 1:
        raise BadInput(f"there is at least one seed, not {seeds}")
    runs: dict[str, list[ModelEvaluation]] = {name: [] for name in models}
    for seed in range(protocol.seed, protocol.seed + seeds):
        seeded = replace(protocol, seed=seed)
        extracted = PictureFeatures(seeded, n_jobs=n_jobs)
        for name, done in runs.items():
            found = evaluate_model(
                seeded, name, features, extracted=extracted, ranks=ranks, progress=progress
            )
            done.append(found)
    return ModelComparison(runs)


def averaged(parts: Sequence[Evaluation]) -> Evaluation:
    """Results query by query, averaged over runs on the same queries."""
    per_query = {
        name: np.mean([part.per_query[name] for part in parts], axis=0)
        for name in parts[0].per_query
    }
    return replace(parts[0], per_query=per_query)


def _is_above(p_values: dict[str, float]) -> bool:
    return bool(p_values) and max(p_values.values()) < 0.05


def _ahead(ours: dict[str, Evaluation]) -> str:
    return max(ours, key=lambda name: ours[name].mean()["AvgP"])


def _deviation(runs: Sequence[ModelEvaluation]) -> float | None:
    means = [run.outcome.evaluation.mean()["AvgP"] for run in runs]
    return float(np.std(means, ddof=1)) if len(means) > 1 else None
