"""Do probabilities hold, and where do good matches end? Captions judge that nobody was shown.

    python -m benchmarks.calibration --data DATA --json

DATA holds ``corel5k``, ``flickr8k`` and ``iaprtc12``, or is one of them. A collection learns from
the training pictures as ``visterm train`` does (of Flickr8k one caption each, and five as a
variant), and is asked for words of the test pictures' captions, one, two and three at a time. A
picture answers when its captions, all five of Flickr8k's, hold all words asked for. ``ece`` is the
expected calibration error in percent, over ten bins of equal mass of each query's first twenty
pictures; ``f1_ratio_fixed`` the mean F1 of the cut-off as a multiple of that of the best fixed
number of pictures, which is chosen on the test queries themselves; ``starter_f1`` that of the
starter alone on Corel's, in percent; ``empty_though_answered`` the part of Flickr8k's queries of
two words whose set of good matches is empty though one of the first five pictures answers.

``--compare`` puts other ways from values to probabilities beside the collection's own one, each
learnt from the same held-out pictures (`benchmarks.calibration_links`); it is for ``--validation``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.calibration_links import WAYS, HeldOut
from benchmarks.calibration_measures import Asked, best_fixed, ece, empty_though_answered, f1
from benchmarks.calibration_measures import reliability as reliability_of
from benchmarks.calibration_trials import Trial, Words, answered, named_folders, read_trials
from benchmarks.common import say, show
from benchmarks.vector_collection import put
from visterm.calibration.calibration import Calibration
from visterm.calibration.estimation import mention_rate
from visterm.collection import Collection
from visterm.collection.feedback.guard import guard_of
from visterm.collection.store.versions import MODEL, current
from visterm.errors import VistermError
from visterm.models import load_model
from visterm.starter import load_starter

ITERATIONS = 600_000
BARS = {"ece": 3.0, "f1_ratio_fixed": 1.15, "starter_f1": {"1": 30.0, "2": 18.0, "3": 12.0}}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="the folder of data sets, or one of them")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--vectors", type=Path, help="a folder with NAME.npy and NAME.json")
    parser.add_argument("--iterations", type=int, default=ITERATIONS, help="triplets of a fit")
    parser.add_argument("--validation", action="store_true", help="never look at test pictures")
    parser.add_argument("--figure", type=Path, help="draw reliability diagrams into this file")
    parser.add_argument("--compare", action="store_true", help="other links beside the one kept")
    given = parser.parse_args()
    measured: dict[str, dict[str, Any]] = {}
    starter: dict[str, float] = {}
    links: dict[str, dict[str, Any]] = {}
    try:
        for name, folder in named_folders(given.data).items():
            for trial in read_trials(name, folder, given.vectors, validation=given.validation):
                learnt = learn(trial, given.iterations)
                measured[trial.name] = learnt.measured()
                say(f"{trial.name}: {measured[trial.name]['ece']}")
                if given.compare:
                    links[trial.name] = learnt.compared()
                if name == "corel5k":
                    starter = starter_alone(trial)
    except VistermError as error:
        say(f"benchmarks.calibration: {error}")
        return 1
    if given.figure is not None:
        draw({name: one["reliability"] for name, one in measured.items()}, given.figure)
    keys = ("ece", "f1_ratio_fixed", "empty_though_answered", "mean_f1", "fixed_f1", "reliability")
    found: dict[str, Any] = {
        key: {name: one[key] for name, one in measured.items()} for key in keys
    }
    empty = measured.get("flickr8k", {}).get("empty_though_answered")
    found |= {"starter_f1": starter, "empty_though_answered": empty, "bars": BARS}
    show(found | ({"links": links} if given.compare else {}), as_json=given.json)
    return 0


@dataclass(frozen=True, eq=False)
class Learnt:
    """What a collection that learnt from a trial's captions says of the other pictures."""

    trial: Trial
    calibration: Calibration
    words: Words
    values: NDArray[np.float32]
    held: HeldOut | None

    def measured(self) -> dict[str, Any]:
        rows = self.calibration.link.rows(self.values)
        return summary(answered(self.trial, self.words, self.calibration, rows))

    def compared(self) -> dict[str, Any]:
        """Errors and F1 of every way from values to probabilities."""
        found: dict[str, Any] = {}
        if self.held is None:
            return found
        for name, way in WAYS.items():
            rows = way(self.held, self.values)
            about = summary(answered(self.trial, self.words, self.calibration, rows))
            found[name] = {key: about[key] for key in ("ece", "mean_f1", "f1_ratio_fixed")}
            say(f"{self.trial.name}, {name}: {found[name]}")
        return found


def learn(trial: Trial, iterations: int) -> Learnt:
    """Train a collection on a trial's captions."""
    with TemporaryDirectory() as folder, Collection.open(Path(folder)) as collection:
        captions = {number: text for number, text in enumerate(trial.captions, start=1) if text}
        put(collection, trial.vectors, captions)
        collection.train(model="pamir", max_iter=iterations, force=True)
        version = current(collection.catalogue)
        assert version is not None
        calibration = version.calibration()
        assert isinstance(calibration, Calibration)
        vocabulary = version.vocabulary()
        counts = vocabulary.counts(trial.captions)
        covered = np.bincount(counts.indices, minlength=len(vocabulary)) > 0
        words = trial.words_of(vocabulary, vocabulary.number, covered)
        values = load_model(version.folder / MODEL).transform(trial.judged_vectors)
        guard, held = guard_of(collection.catalogue, version), None
        if guard is not None:
            mentions = np.zeros(guard.rows.shape, bool)
            for row, some in enumerate(guard.words):
                mentions[row, list(some)] = True
            rate = mention_rate(list(captions.values()))
            held = HeldOut(guard.rows, mentions, rate, calibration)
    return Learnt(trial, calibration, words, values, held)


def summary(asked: Sequence[Asked]) -> dict[str, Any]:
    """All measures, by words in the query where that says more."""
    by_words = {str(n): [one for one in asked if one.words == n] for n in (1, 2, 3)}
    fixed, count = best_fixed(asked)
    return {
        "queries": {n: len(some) for n, some in by_words.items()},
        "ece": {n: round(100 * ece(some), 2) for n, some in by_words.items()},
        "mean_f1": {n: round(100 * f1(some), 2) for n, some in by_words.items()},
        "fixed_f1": {n: round(100 * best_fixed(some)[0], 2) for n, some in by_words.items()},
        "f1_ratio_fixed": round(f1(asked) / fixed, 3),
        "fixed_number": count,
        "empty_though_answered": round(empty_though_answered(by_words["2"]), 4),
        "reliability": {n: reliability_of(some) for n, some in by_words.items()},
    }


def starter_alone(trial: Trial) -> dict[str, float]:
    """Mean F1 of the starter's cut-off, for queries whose words it knows."""
    starter = load_starter()
    calibration = starter.calibration()
    rows = calibration.link.rows(starter.model().transform(trial.judged_vectors))
    every = np.ones(len(starter.vocabulary), bool)
    words = trial.words_of(starter.vocabulary, starter.find, every)
    asked = answered(trial, words, calibration, rows)
    return {str(n): round(100 * f1([one for one in asked if one.words == n]), 2) for n in (1, 2, 3)}


def draw(found: dict[str, dict[str, list[list[float]]]], path: Path) -> None:
    """Reliability diagrams: what was predicted, and what was true, for each number of words."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.2 * len(found), 3.2), layout="constrained")
    for place, (name, by_words) in enumerate(found.items(), start=1):
        axes = figure.add_subplot(1, len(found), place)
        axes.plot([0, 100], [0, 100], color="0.8", linewidth=1)
        for words, bins in by_words.items():
            predicted, true = np.array(bins).reshape(-1, 2).T
            label = f"{words} word{'s' if words != '1' else ''}"
            axes.plot(predicted, true, marker="o", markersize=3, linewidth=1, label=label)
        axes.set(title=name, xlabel="predicted, %", ylabel="true, %", xlim=(0, 100), ylim=(0, 100))
        axes.set_aspect("equal")
        axes.legend(fontsize=7)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90)


if __name__ == "__main__":
    raise SystemExit(main())
