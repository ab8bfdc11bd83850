"""Search for the settings that rank validation pictures best, as an optuna study.

TPE proposes the next trial around what ranked well; a search with time enough tries everything,
each setting once. With several fits a trial, one whose first fits stay below the median of the
others is pruned. The study lies in a SQLite file, so a search that was stopped, or killed, goes
on from there. Test pictures are neither decoded nor ranked.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from visterm.compute import cluster
from visterm.errors import BadInput, MissingExtra
from visterm.evaluation import Table
from visterm.experiments.runner.picture_features import PictureFeatures
from visterm.experiments.runner.protocol import Protocol
from visterm.experiments.tuning.search_space import SearchSpace, TrialSettings
from visterm.experiments.tuning.trial_runs import TrialResult, run_in_turn, run_side_by_side
from visterm.progress import Progress, silent

if TYPE_CHECKING:
    import optuna

NAME = "visterm tune"


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
            spread = (max(one.avgp) - min(one.avgp)) / 2 if len(one.avgp) > 1 else None
            rows[str(place)] = [
                one.mean if one.avgp else None,
                spread,
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
        from there, with the trial that was interrupted; one that failed is tried again. Beside
        it, in a folder that ends in ``.vectors``, features of pictures are kept, so that going on
        extracts none twice; it may be deleted.
    n_jobs : int, optional
        Processes that extract features; all cores by default.
    """
    space.check()
    began = time.monotonic()
    trials, data = space.trials(), fingerprint(protocol)
    features = PictureFeatures(
        protocol,
        test=False,
        n_jobs=n_jobs,
        seed=protocol.seed,
        kept=None if study is None else study.with_name(f"{study.stem}.vectors"),
        about=repr(data),
    )
    with opened_study(study, {"space": space.to_json(), "data": data}, protocol.seed) as kept:
        results = results_of(kept)
        waiting = [one for one in trials if one not in results or results[one].failed is not None]
        progress("trials", len(trials) - len(waiting), len(trials))
        where = cluster()
        while waiting and time.monotonic() - began < seconds:
            proposed = []
            for _ in range(min(len(waiting), 1 if where is None else where.cores)):
                trial, setting = _next_trial(kept, space, waiting)
                proposed.append((trial, setting))
                waiting.remove(setting)
            run = run_in_turn if where is None else run_side_by_side
            results |= run(kept, proposed, space, features, progress)
            progress("trials", len(trials) - len(waiting), len(trials))
    # Stable: of equals, the one that the space names first.
    found = [results[one] for one in trials if one in results]
    return Tuned(sorted(found, key=lambda one: -one.mean), len(trials), time.monotonic() - began)


@contextmanager
def opened_study(path: Path | None, about: Mapping[str, Any], seed: int) -> Iterator[optuna.Study]:
    """The study of a file, begun where there is none; one of another search is refused."""
    try:
        import optuna
        from sqlalchemy.exc import SQLAlchemyError
    except ImportError:
        raise MissingExtra("tune needs optuna: pip install 'visterm[research]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=seed)
    pruner = optuna.pruners.MedianPruner(n_startup_trials=3)
    storage = None
    try:
        if path is not None:
            storage = optuna.storages.RDBStorage(f"sqlite:///{path}")
        study = optuna.create_study(
            storage=storage,
            study_name=NAME,
            sampler=sampler,
            pruner=pruner,
            direction="maximize",
            load_if_exists=True,
        )
        known = study.user_attrs.get("about")
        if known is None:
            study.set_user_attr("about", about)
        elif other := _differences(known, about):
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
    content = hashlib.sha256()
    for path, words in zip(protocol.development.paths, protocol.development.words, strict=True):
        size = path.stat().st_size if path.exists() else -1
        content.update(f"{path.name}\t{size}\t{words}\n".encode())
    return {
        "dataset": protocol.name,
        "pictures": len(protocol.development),
        "held_out": protocol.held_out,
        "seed": protocol.seed,
        "sha256": content.hexdigest(),
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


def _differences(known: Mapping[str, Any], expected: Mapping[str, Any]) -> list[str]:
    """What is not the same, inner names where there are some."""
    names: list[str] = []
    for name in dict.fromkeys([*expected, *known]):
        ours, theirs = expected.get(name), known.get(name)
        if isinstance(ours, dict) and isinstance(theirs, dict):
            names += _differences(theirs, ours)
        elif ours != theirs:
            names.append(name)
    return names
