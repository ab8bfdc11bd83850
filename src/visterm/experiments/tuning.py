"""Search for the settings that rank validation pictures best, as an optuna study.

TPE proposes the next trial around what ranked well; a search with time enough tries everything,
each setting once. With several fits a trial, one whose first fits stay below the median of the
others is pruned. The study lies in a SQLite file, so a search that was stopped, or killed, goes
on from there. Test pictures are neither decoded nor ranked.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from visterm.compute import cluster, map_items
from visterm.errors import BadInput, MissingExtra, VistermError
from visterm.evaluation import Table
from visterm.experiments.cache import data_digest
from visterm.experiments.picture_features import Parts, PictureFeatures, check_features
from visterm.experiments.protocol import Protocol
from visterm.experiments.runs import choose
from visterm.features.notation import parse_named
from visterm.kernels import KERNELS, Kernel
from visterm.models import KernelPamir, Pamir
from visterm.progress import Progress, silent

if TYPE_CHECKING:
    import optuna

NAME = "visterm tune"
LINEAR = "linear"
OBJECTIVES: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "averaged": {"averaged": True},
    "hardest": {"negatives": 5},
    "warp": {"negatives": 20, "warp": True},
}
"""What PAMIR makes small, by name; parameters in brackets change or add to these."""
_OBJECTIVE_PARAMETERS = ("averaged", "least_margin", "margin", "negatives", "warp")


class TrialSettings(NamedTuple):
    """One setting of everything that is searched."""

    features: str
    kernel: str
    objective: str
    C: float


@dataclass(frozen=True)
class SearchSpace:
    """All settings to try, and how long and often PAMIR learns for each.

    Attributes
    ----------
    features : tuple of str
        As ``visterm evaluate --features`` takes them.
    kernels : tuple of str
        "linear" is PAMIR itself; others are kernel PAMIR, such as "rbf(gamma=2)".
    objectives : tuple of str
        Names of `OBJECTIVES`, with parameters in brackets: "warp(negatives=10, averaged=True)".
    C : tuple of float
    max_iter : int
        Most triplets of a fit; the best moment on validation pictures counts.
    repeats : int
        Fits of a trial with seeds of their own, whose AvgP is averaged.

    Examples
    --------
    >>> space = SearchSpace(("cnn", "blocks"), ("linear",), ("plain", "averaged"), (0.1,))
    >>> len(space.trials())
    4
    >>> space.trials()[0]
    TrialSettings(features='cnn', kernel='linear', objective='plain', C=0.1)
    """

    features: tuple[str, ...] = ("cnn", "blocks", "cnn+blocks")
    kernels: tuple[str, ...] = (LINEAR, "rbf(gamma=2)")
    objectives: tuple[str, ...] = tuple(OBJECTIVES)
    C: tuple[float, ...] = (0.1, 0.3, 1.0)
    max_iter: int = 3_000_000
    repeats: int = 1

    def trials(self) -> list[TrialSettings]:
        """Every combination, the last setting changing fastest."""
        return [TrialSettings(*settings) for settings in product(*self.choices().values())]

    def choices(self) -> dict[str, tuple[Any, ...]]:
        """What there is to choose from, by the names of a trial's settings."""
        every = (self.features, self.kernels, self.objectives, self.C)
        return dict(zip(TrialSettings._fields, every, strict=True))

    def check(self) -> None:
        """Refuse what does not exist before anything is computed."""
        for name, given in self.to_json().items():
            if isinstance(given, list) and (not given or len(set(given)) < len(given)):
                raise BadInput(f"{name} must be named, each once; these are {given}")
            if isinstance(given, int) and given < 1:
                raise BadInput(f"{name} must be at least 1, not {given}")
        for features in self.features:
            check_features(features)
        for trial in self.trials():
            self.learner(trial)
        for c in self.C:
            if not c > 0:
                raise BadInput(f"C must be positive, not {c}")

    def learner(
        self, trial: TrialSettings, *, max_words: int | None = None, seed: int = 0
    ) -> Pamir | KernelPamir:
        """The model of a trial, ready to fit with validation pictures."""
        shared = {
            "C": trial.C,
            "max_iter": self.max_iter,
            "max_words": max_words,
            "random_state": seed,
            **objective_parameters(trial.objective),
        }
        kernel = make_kernel(trial.kernel)
        return Pamir(**shared) if kernel is None else KernelPamir(kernel=kernel, **shared)

    def to_json(self) -> dict[str, Any]:
        """Plain values, by which one space differs from another."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}


def make_kernel(text: str) -> Kernel | None:
    """The kernel of a line; None is linear, which PAMIR needs no kernel for.

    >>> make_kernel("rbf(gamma=0.5)")
    RBF(gamma=0.5, relative=True)
    """
    name, parameters = parse_named(text)
    if name == LINEAR and not parameters:
        return None
    if name not in KERNELS:
        raise BadInput(f"no kernel called {name!r}; there are {', '.join(KERNELS)}")
    try:
        return KERNELS[name](**parameters)
    except TypeError:
        given = ", ".join(parameters) or "nothing"
        raise BadInput(f"the kernel {name!r} cannot be made of {given}") from None


def objective_parameters(text: str) -> dict[str, Any]:
    """What an objective says of PAMIR's parameters.

    >>> objective_parameters("warp(negatives=10)")
    {'negatives': 10, 'warp': True}
    """
    name, parameters = parse_named(text)
    if name not in OBJECTIVES:
        raise BadInput(f"no objective called {name!r}; there are {', '.join(OBJECTIVES)}")
    for parameter in parameters:
        if parameter not in _OBJECTIVE_PARAMETERS:
            known = ", ".join(_OBJECTIVE_PARAMETERS)
            raise BadInput(f"an objective has no parameter {parameter!r}; it has {known}")
    return {**OBJECTIVES[name], **parameters}


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


@dataclass(frozen=True)
class Tuned:
    """Results, best first, and whether the whole space was tried."""

    results: list[TrialResult]
    trials: int
    seconds: float

    @property
    def best(self) -> TrialResult | None:
        """The best trial, if any succeeded."""
        return self.results[0] if self.results and self.results[0].avgp else None

    @property
    def finished(self) -> bool:
        return len(self.results) == self.trials

    def table(self, title: str) -> Table:
        """Trials down, best first; failed ones last, with the reason."""
        columns = ["AvgP", "±", "features", "kernel", "objective", "C", "triplets", "seconds"]
        rows: dict[str, list[float | int | str | None]] = {}
        for place, one in enumerate(self.results, start=1):
            *settings, C = one.trial
            rows[str(place)] = [
                one.mean if one.avgp else None,
                (max(one.avgp) - min(one.avgp)) / 2 if len(one.avgp) > 1 else None,
                *settings,
                f"{C:g}",
                max(one.n_iter) if one.n_iter else f"failed: {one.failed}",
                f"{one.seconds:.1f}",
            ]
        return Table(title, columns, rows)

    def to_json(self) -> dict[str, Any]:
        return {
            "best": self.best.to_json() if self.best else None,
            "trials": [one.to_json() for one in self.results],
            "tried": len(self.results),
            "of": self.trials,
            "finished": self.finished,
            "seconds": round(self.seconds, 2),
        }


def tune(
    protocol: Protocol,
    space: SearchSpace,
    *,
    seconds: float = 600.0,
    study: Path | None = None,
    n_jobs: int | None = None,
    progress: Progress = silent,
) -> Tuned:
    """Search a space on validation pictures for so many seconds, going on where a study ends.

    Parameters
    ----------
    protocol : Protocol
    space : SearchSpace
    seconds : float
        No trial begins later; the one under way is finished.
    study : Path, optional
        The SQLite file of the study; in memory without one. A search that was stopped goes on
        from there, with the trial that was interrupted; one that failed is tried again. Features
        of pictures are then kept in the user's cache, so that going on extracts none twice.
    n_jobs : int, optional
        Processes that extract features; all cores by default.
    """
    space.check()
    began = time.monotonic()
    trials = space.trials()
    features = PictureFeatures(protocol, test=False, n_jobs=n_jobs, kept=study is not None)
    about = {"space": space.to_json(), "data": fingerprint(protocol)}
    with opened_study(study, about, protocol.seed) as kept:
        results = results_of(kept)
        waiting = [one for one in trials if one not in results or results[one].failed is not None]
        progress("trials", len(trials) - len(waiting), len(trials))
        where = cluster()
        while waiting and time.monotonic() - began < seconds:
            proposed = []
            for _ in range(min(len(waiting), 1 if where is None else where.cores)):
                proposed.append(_next_trial(kept, space, waiting))
                waiting.remove(proposed[-1][1])
            wanted = dict.fromkeys(setting.features for _, setting in proposed)
            vectors = {name: _vectors(features, name, progress) for name in wanted}
            fit = _FitTrial(protocol, space, vectors)
            if where is None:  # one whose first fits stay below the others' is pruned
                trial, setting = proposed[0]
                found = [fit(setting, trial, progress)]
            else:
                found = map_items(fit, [setting for _, setting in proposed])
            for (trial, setting), result in zip(proposed, found, strict=True):
                _tell(kept, trial, result, space)
                results[setting] = result
            progress("trials", len(trials) - len(waiting), len(trials))
    # Stable: of equals, the one that the space names first.
    tried = [results[one] for one in trials if one in results]
    return Tuned(sorted(tried, key=lambda one: -one.mean), len(trials), time.monotonic() - began)


@contextmanager
def opened_study(path: Path | None, about: Mapping[str, Any], seed: int) -> Iterator[optuna.Study]:
    """The study of a file, begun where there is none; one of another search is refused."""
    try:
        import optuna
        from sqlalchemy.exc import SQLAlchemyError
    except ImportError:
        raise MissingExtra("tune needs optuna: pip install 'visterm[research]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = None
    try:
        if path is not None:
            storage = optuna.storages.RDBStorage(f"sqlite:///{path}")
        study = optuna.create_study(
            storage=storage,
            study_name=NAME,
            sampler=optuna.samplers.TPESampler(seed=seed),
            pruner=optuna.pruners.MedianPruner(n_startup_trials=3),
            direction="maximize",
            load_if_exists=True,
        )
        known = study.user_attrs.get("about")
        if known is None:
            study.set_user_attr("about", about)
        elif other := [
            name
            for group, values in about.items()
            for name in values
            if known[group].get(name) != values[name]
        ]:
            raise BadInput(
                f"{path} is the study of another search: {', '.join(other)} differ; give another "
                "--study, or delete this one"
            )
        for interrupted in study.get_trials(states=[optuna.trial.TrialState.RUNNING]):
            study.tell(interrupted.number, state=optuna.trial.TrialState.FAIL)
        yield study
    except (SQLAlchemyError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise BadInput(
            f"{path} is no study of visterm tune ({reason}); give another --study"
        ) from None
    finally:
        if storage is not None:
            storage.engine.dispose()


def results_of(study: optuna.Study) -> dict[TrialSettings, TrialResult]:
    """What a study holds of finished trials, by their settings."""
    found = {}
    for one in study.get_trials(deepcopy=False):
        if (kept := one.user_attrs.get("result")) is not None:
            setting = TrialSettings(**one.params)
            lists = {name: tuple(kept[name]) for name in ("avgp", "n_iter")}
            found[setting] = TrialResult(**{**kept, **lists, "trial": setting})
    return found


def fingerprint(protocol: Protocol) -> dict[str, Any]:
    """What identifies a set of pictures, captions and split, wherever it lies."""
    return {
        "dataset": protocol.name,
        "pictures": len(protocol.development),
        "held_out": protocol.held_out,
        "seed": protocol.seed,
        "sha256": data_digest(protocol.development.paths, protocol.development.words),
    }


def _next_trial(
    study: optuna.Study, space: SearchSpace, waiting: list[TrialSettings]
) -> tuple[optuna.Trial, TrialSettings]:
    """What TPE proposes; where that was tried before, the first setting that was not."""
    from optuna.distributions import BaseDistribution, CategoricalDistribution
    from optuna.trial import TrialState

    choices: dict[str, BaseDistribution] = {
        name: CategoricalDistribution(values) for name, values in space.choices().items()
    }
    trial = study.ask(choices)
    if TrialSettings(**trial.params) not in waiting:
        study.tell(trial, state=TrialState.FAIL)
        study.enqueue_trial(waiting[0]._asdict())
        trial = study.ask(choices)
    return trial, TrialSettings(**trial.params)


def _vectors(features: PictureFeatures, name: str, progress: Progress) -> Parts | VistermError:
    """Vectors of the pictures, or why there are none: the search goes on without them."""
    try:
        return features.vectors(name, progress=progress)
    except VistermError as error:
        return error


@dataclass(frozen=True)
class _FitTrial:
    """Fits as often as asked for; a trial that cannot be fitted says why."""

    protocol: Protocol
    space: SearchSpace
    vectors: Mapping[str, Parts | VistermError]

    def __call__(
        self,
        setting: TrialSettings,
        trial: optuna.Trial | None = None,
        progress: Progress = silent,
    ) -> TrialResult:
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
                choose(self.protocol, model, vectors, progress)
                avgp.append(model.validation_)
                n_iter.append(model.n_iter_)
                if trial is not None:
                    trial.report(sum(avgp) / len(avgp), repeat)
                    if trial.should_prune() and repeat + 1 < self.space.repeats:
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
