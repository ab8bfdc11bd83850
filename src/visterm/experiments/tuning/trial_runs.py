"""Trials of a search: fitted one after another, or side by side on a cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from visterm.compute import map_items
from visterm.errors import VistermError
from visterm.experiments.runner.picture_features import Parts, PictureFeatures
from visterm.experiments.runner.protocol import Protocol
from visterm.experiments.runner.runs import choose
from visterm.experiments.tuning.search_space import SearchSpace, TrialSettings
from visterm.progress import Progress, silent

if TYPE_CHECKING:
    import optuna


@dataclass(frozen=True)
class TrialResult:
    """What a trial gave: AvgP for each seed, or why it failed."""

    trial: TrialSettings
    avgp: tuple[float, ...] = ()
    n_iter: tuple[int, ...] = ()
    seconds: float = 0.0
    failed: str | None = None

    @property
    def mean(self) -> float:
        """Mean AvgP; below every other where there is none."""
        return sum(self.avgp) / len(self.avgp) if self.avgp else -1.0

    def to_json(self) -> dict[str, Any]:
        """In percent, as other commands print them."""
        return {
            **self.trial._asdict(),
            "AvgP": round(100 * self.mean, 2) if self.avgp else None,
            "AvgP_by_seed": [round(100 * value, 2) for value in self.avgp],
            "n_iter": list(self.n_iter),
            "seconds": round(self.seconds, 2),
            "failed": self.failed,
        }


Proposed = list[tuple["optuna.Trial", TrialSettings]]


def run_in_turn(
    study: optuna.Study,
    proposed: Proposed,
    space: SearchSpace,
    features: PictureFeatures,
    progress: Progress,
) -> dict[TrialSettings, TrialResult]:
    """Fit one after another; one whose first fits stay below the others' is pruned."""
    found = {}
    for trial, setting in proposed:

        def prune(repeat: int, mean: float, trial: optuna.Trial = trial) -> bool:
            trial.report(mean, repeat)
            return trial.should_prune()

        vectors = _vectors(features, setting, progress)
        fit = _FitTrial(features.protocol, space, {setting.features: vectors}, prune, progress)
        found[setting] = fit(setting)
        _tell(study, trial, found[setting], space)
    return found


def run_side_by_side(
    study: optuna.Study,
    proposed: Proposed,
    space: SearchSpace,
    features: PictureFeatures,
    progress: Progress,
) -> dict[TrialSettings, TrialResult]:
    """Fit all on the cluster at once; none is pruned."""
    settings = [setting for _, setting in proposed]
    vectors = {one.features: _vectors(features, one, progress) for one in settings}
    fit = _FitTrial(features.protocol, space, vectors, lambda repeat, mean: False)
    found = dict(zip(settings, map_items(fit, settings), strict=True))
    for trial, setting in proposed:
        _tell(study, trial, found[setting], space)
    return found


def _vectors(
    features: PictureFeatures, setting: TrialSettings, progress: Progress
) -> Parts | VistermError:
    """Vectors of the pictures, or why there are none: the search goes on without them."""
    try:
        return features.vectors(setting.features, progress=progress)
    except VistermError as error:
        return error


@dataclass(frozen=True)
class _FitTrial:
    """Fits as often as asked for; a trial that cannot be fitted says why."""

    protocol: Protocol
    space: SearchSpace
    vectors: Mapping[str, Parts | VistermError]
    prune: Callable[[int, float], bool]
    progress: Progress = silent

    def __call__(self, setting: TrialSettings) -> TrialResult:
        began = time.monotonic()
        avgp: list[float] = []
        n_iter: list[int] = []
        failed: str | None = None
        vectors = self.vectors[setting.features]
        try:
            if isinstance(vectors, VistermError):
                raise vectors
            for repeat in range(self.space.repeats):
                seed = self.protocol.seed + repeat
                model = self.space.learner(setting, max_words=self.protocol.max_words, seed=seed)
                choose(self.protocol, model, vectors, self.progress)
                avgp.append(model.validation_)
                n_iter.append(model.n_iter_)
                last = repeat + 1 == self.space.repeats
                if self.prune(repeat, sum(avgp) / len(avgp)) and not last:
                    break
        except VistermError as error:
            failed, avgp, n_iter = str(error), [], []
        return TrialResult(setting, tuple(avgp), tuple(n_iter), time.monotonic() - began, failed)


def _tell(
    study: optuna.Study, trial: optuna.Trial, result: TrialResult, space: SearchSpace
) -> None:
    from optuna.trial import TrialState

    state = TrialState.COMPLETE if len(result.avgp) == space.repeats else TrialState.PRUNED
    if result.failed is not None:
        state = TrialState.FAIL
    trial.set_user_attr("result", asdict(result) | {"trial": None})
    study.tell(trial, result.mean if state == TrialState.COMPLETE else None, state)
