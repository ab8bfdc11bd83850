"""Several models on the same test queries: means over seeds, confidence intervals, p-values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from visterm.errors import BadInput
from visterm.evaluation import Evaluation, Table, best_of, compare
from visterm.experiments.runner.model_evaluation import ModelEvaluation, evaluate_model
from visterm.experiments.runner.picture_features import PictureFeatures
from visterm.experiments.runner.protocol import Protocol
from visterm.experiments.runner.runs import percent
from visterm.progress import Progress, silent

_NORMAL_95 = 1.96


@dataclass(frozen=True)
class ModelComparison:
    """What each model gave, a run for each seed, all on the same test queries.

    The 95 % interval is that of the mean over queries; p is of Wilcoxon's signed-rank test of a
    model against the best one, over queries whose AvgP is averaged over the seeds.
    """

    runs: dict[str, list[ModelEvaluation]]

    @property
    def evaluations(self) -> dict[str, Evaluation]:
        """Each model's results query by query, averaged over its seeds."""
        return {name: _averaged(runs) for name, runs in self.runs.items()}

    def to_json(self) -> dict[str, Any]:
        ours = self.evaluations
        ahead = _ahead(ours)
        found = {}
        for name, mean in ours.items():
            low, high = interval(mean)
            runs = self.runs[name]
            found[name] = {
                "features": runs[0].features,
                **percent(mean),
                "interval_95": [round(100 * low, 2), round(100 * high, 2)],
                "AvgP_by_seed": [percent(run.outcome.evaluation)["AvgP"] for run in runs],
                "p_value": None if name == ahead else compare(mean, ours[ahead]).p_value,
                "runs": [run.outcome.to_json() for run in runs],
            }
        return {"best": ahead, "significant": best_of(ours, "AvgP") == ahead, "models": found}

    def table(self, title: str) -> Table:
        """Models down, the best AvgP bold where it is significantly above all others."""
        ours = self.evaluations
        ahead, above = _ahead(ours), best_of(ours, "AvgP")
        measures = list(ours[ahead].per_query)
        ranks = list(self.runs[ahead][0].outcome.ranks or ())
        seeds = len(self.runs[ahead])
        rows: dict[str, list[float | int | str | None]] = {}
        for name, mean in ours.items():
            low, high = interval(mean)
            p = None if name == ahead else compare(mean, ours[ahead]).p_value
            rows[name] = [
                *(mean.mean()[measure] for measure in measures),
                f"{100 * low:.1f}–{100 * high:.1f}",
                _deviation(self.runs[name]),
                None if p is None else ("< 0.001" if p < 0.001 else f"{p:.3f}"),
                *(
                    float(np.mean([(run.outcome.ranks or {})[one] for run in self.runs[name]]))
                    for one in ranks
                ),
            ]
        columns = [*measures, "AvgP, 95 %", f"± over {seeds} seeds", "p to the best", *ranks]
        bold = [] if above is None else [(above, "AvgP")]
        return Table(title, columns, rows, bold=bold, plain=ranks, heading="model")


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
        extracted = PictureFeatures(seeded, n_jobs=n_jobs, seed=seed)
        for name, done in runs.items():
            found = evaluate_model(
                seeded, name, features, extracted=extracted, ranks=ranks, progress=progress
            )
            done.append(found)
    return ModelComparison(runs)


def interval(evaluation: Evaluation) -> tuple[float, float]:
    """The 95 % confidence interval of mean AvgP, its queries drawn from many.

    >>> each = np.array([0.2, 0.4, 0.6])
    >>> low, high = interval(Evaluation({"AvgP": each}, np.ones(3), np.ones(3)))
    >>> round(low, 3), round(high, 3)
    (0.174, 0.626)
    """
    values = evaluation.per_query["AvgP"][evaluation.measured]
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return float(values.mean() - _NORMAL_95 * error), float(values.mean() + _NORMAL_95 * error)


def _averaged(runs: Sequence[ModelEvaluation]) -> Evaluation:
    parts = [run.outcome.evaluation for run in runs]
    per_query = {
        name: np.mean([part.per_query[name] for part in parts], axis=0)
        for name in parts[0].per_query
    }
    return replace(parts[0], per_query=per_query)


def _ahead(ours: dict[str, Evaluation]) -> str:
    return max(ours, key=lambda name: ours[name].mean()["AvgP"])


def _deviation(runs: Sequence[ModelEvaluation]) -> float | None:
    means = [run.outcome.evaluation.mean()["AvgP"] for run in runs]
    return float(np.std(means, ddof=1)) if len(means) > 1 else None
