"""Model selection: trials on validation pictures, the most promising next, until time is up.

The next trial is the untried one that differs from the best so far in the fewest settings. So one
setting after another is tried around what works, and a search with time enough tries everything.
Test pictures are neither described nor ranked.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from visterm.errors import VistermError
from visterm.evaluation import Table
from visterm.experiments.runner.picture_features import PictureFeatures
from visterm.experiments.runner.protocol import Protocol
from visterm.experiments.tuning.search_space import SearchSpace, Trial
from visterm.experiments.tuning.trial_log import TrialLog, TrialResult
from visterm.progress import Progress, silent


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
            settings = [one.trial.features, one.trial.kernel, one.trial.objective]
            spread = (max(one.avgp) - min(one.avgp)) / 2 if len(one.avgp) > 1 else None
            rows[str(place)] = [
                one.mean if one.avgp else None,
                spread,
                *settings,
                f"{one.trial.C:g}",
                max(one.iterations) if one.iterations else f"failed: {one.failed}",
                f"{one.seconds:.1f}",
            ]
        return Table(title, columns, rows)

    def to_json(self) -> dict[str, Any]:
        return {
            "best": _told(self.best) if self.best else None,
            "trials": [_told(one) for one in self.results],
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
    log: Path | None = None,
    workers: int | None = None,
    progress: Progress = silent,
) -> Tuned:
    """Search a space on validation pictures for so many seconds, going on where a log ends.

    Parameters
    ----------
    protocol : Protocol
    space : SearchSpace
    seconds : float
        No trial begins later; the one under way is finished.
    log : Path, optional
        Where results are kept. A search that was stopped goes on from there, with the trial that
        was interrupted; one that failed is tried again. Beside it, in a folder that ends in
        ``.vectors``, described pictures are kept, so that going on describes none twice; it may
        be deleted.
    workers : int, optional
        Processes that describe pictures; all cores by default.
    """
    space.check()
    began = time.monotonic()
    trials = space.trials()
    data = fingerprint(protocol)
    known = TrialLog(log, {"space": space.to_json(), "data": data})
    descriptions = PictureFeatures(
        protocol,
        test=False,
        workers=workers,
        seed=protocol.seed,
        kept=None if log is None else log.with_name(f"{log.stem}.vectors"),
        about=repr(data),
    )
    waiting = [trial for trial in trials if not _done(known.results.get(trial))]
    progress("trials", len(trials) - len(waiting), len(trials))
    while waiting and time.monotonic() - began < seconds:
        trial = next_trial(waiting, known.results)
        known.add(_run(trial, space, descriptions, progress))
        waiting.remove(trial)
        progress("trials", len(trials) - len(waiting), len(trials))
    # Stable: of equals, the one that the space names first.
    found = [known.results[trial] for trial in trials if trial in known.results]
    best_first = sorted(found, key=lambda one: -one.mean)
    return Tuned(best_first, len(trials), time.monotonic() - began)


def next_trial(waiting: list[Trial], results: Mapping[Trial, TrialResult]) -> Trial:
    """The untried trial nearest to the best so far; of equals, the first in the space.

    >>> near, far = Trial("cnn", "rbf", "plain", 0.1), Trial("cnn", "rbf", "warp", 0.3)
    >>> best = Trial("cnn", "linear", "plain", 0.1)
    >>> next_trial([far, near], {best: TrialResult(best, avgp=(0.4,))}) == near
    True
    """
    tried = [one for one in results.values() if one.avgp]
    if not tried:
        return waiting[0]
    best = max(tried, key=lambda one: one.mean).trial
    return min(waiting, key=best.differs)


def fingerprint(protocol: Protocol) -> dict[str, Any]:
    """What tells one set of pictures, captions and split from another, wherever it lies."""
    told = hashlib.sha256()
    for path, caption in protocol.development:
        size = path.stat().st_size if path.exists() else -1
        told.update(f"{path.name}\t{size}\t{caption}\n".encode())
    return {
        "dataset": protocol.name,
        "pictures": len(protocol.development),
        "held_out": protocol.held_out,
        "seed": protocol.seed,
        "sha256": told.hexdigest(),
    }


def _run(
    trial: Trial, space: SearchSpace, descriptions: PictureFeatures, progress: Progress
) -> TrialResult:
    """Fit as often as asked for; what cannot be done is told, and the search goes on."""
    protocol = descriptions.protocol
    train, valid = protocol.split
    began = time.monotonic()
    avgp: list[float] = []
    iterations: list[int] = []
    try:
        vectors = descriptions.vectors(trial.features, progress=progress)
        held = (vectors[1], protocol.captions[valid])
        for repeat in range(space.repeats):
            seed = protocol.seed + repeat
            model = space.learner(trial, max_words=protocol.max_words, seed=seed)
            model.fit(vectors[0], protocol.captions[train], validation=held, progress=progress)
            avgp.append(model.validation_)
            iterations.append(model.n_iter_)
    except VistermError as error:
        return TrialResult(trial, seconds=time.monotonic() - began, failed=str(error))
    return TrialResult(trial, tuple(avgp), tuple(iterations), time.monotonic() - began)


def _done(result: TrialResult | None) -> bool:
    return result is not None and result.failed is None


def _told(result: TrialResult) -> dict[str, Any]:
    """A result in percent, as other commands print them."""
    return {
        **result.trial._asdict(),
        "AvgP": round(100 * result.mean, 2) if result.avgp else None,
        "AvgP_by_seed": [round(100 * value, 2) for value in result.avgp],
        "iterations": list(result.iterations),
        "seconds": round(result.seconds, 2),
        "failed": result.failed,
    }
