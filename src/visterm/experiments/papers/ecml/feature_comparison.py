"""Blobs, SIFT and both: the model comparison of the ECML 2006 paper and its report.

The numbers are those of the report, IDIAP-RR 06-15: table 4 is AvgP over all queries (table 3 of
the ECML paper), table 6 over single-word queries.

D. Grangier, F. Monay and S. Bengio, A discriminative approach for the retrieval of images from
text queries, ECML 2006.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from visterm.experiments.papers.published import published
from visterm.experiments.runner.picture_features import PictureFeatures
from visterm.experiments.runner.presets import make_model
from visterm.experiments.runner.protocol import Source, corel5k
from visterm.experiments.runner.reports import Report, avgp_table, beside
from visterm.experiments.runner.runs import Extracted, Outcome, Seconds, choose, run
from visterm.kernels import RBF
from visterm.models import KernelPamir, Pamir
from visterm.progress import Progress, silent

THEIRS = published("ecml")
SOURCE = THEIRS["source"]
_GRID = "dense-sift(visterms=1000, pyramid=(whole, quarters))"
_POINTS = "sift(visterms=1000, pyramid=(whole, thirds, quarters))"
_REGIONS = "blobs(nearest=5)"
_BASELINES = {"CMRM": "cmrm", "CMTT": "cmtt", "PLSA": "plsa"}


class PamirSetting(NamedTuple):
    """One way for PAMIR to see pictures; validation pictures choose among several."""

    features: str
    gamma: float | None = None
    """Of an RBF kernel; linear without one."""


@dataclass(frozen=True)
class FeatureRow:
    """A row of the table: visterms for the baselines, and PAMIR's ways."""

    visterms: str
    ways: tuple[PamirSetting, ...]


ROWS = {
    "blobs": FeatureRow(
        "blob-tokens",
        (
            PamirSetting("blob-tokens"),
            PamirSetting("blob-tokens", gamma=2.0),
            PamirSetting("blob-tokens(latent=100)", gamma=2.0),
        ),
    ),
    "SIFT": FeatureRow(_GRID, (PamirSetting(_GRID), PamirSetting(f"{_POINTS}+{_GRID}"))),
    "blobs + SIFT": FeatureRow(
        f"{_REGIONS}+{_GRID}",
        (PamirSetting(f"{_REGIONS}+{_GRID}"), PamirSetting(f"{_REGIONS}+{_POINTS}+{_GRID}")),
    ),
}
"""The paper's blobs are Corel's own tokens; beside SIFT stand regions that we cut ourselves."""


# Both tables look at the same pictures; a process that makes both extracts their features once.
_extracted: dict[tuple[Source, int], PictureFeatures] = {}


class RowOutcomes(NamedTuple):
    """Every model on one row's features, and the validation AvgP of each way PAMIR tried."""

    outcomes: dict[str, Outcome]
    tried: dict[str, float]


def ecml_4(data: Source, seed: int = 0, progress: Progress = silent) -> Report:
    """AvgP over all test queries."""
    made = compare_features(_corel(data, seed), ROWS, progress=progress)
    return _report("table 4", "all", made)


def ecml_6(data: Source, seed: int = 0, progress: Progress = silent) -> Report:
    """AvgP over single-word test queries, of models that learnt from single-word queries only."""
    made = compare_features(_corel(data, seed), ROWS, max_words=1, progress=progress)
    return _report("table 6", "single", made)


def _corel(data: Source, seed: int) -> PictureFeatures:
    if (data, seed) not in _extracted:
        _extracted.clear()
        _extracted[data, seed] = PictureFeatures(corel5k(data, seed=seed), seed=seed)
    return _extracted[data, seed]


def compare_features(
    descriptions: PictureFeatures,
    rows: Mapping[str, FeatureRow],
    *,
    max_words: int | None = None,
    progress: Progress = silent,
) -> dict[str, RowOutcomes]:
    """Every row: baselines on its visterms, PAMIR in the way that validation pictures prefer."""
    protocol = descriptions.protocol
    made = {}
    for name, row in rows.items():
        outcomes = {}
        for shown, baseline in _BASELINES.items():
            model = make_model(baseline, max_words=max_words, seed=protocol.seed)
            seconds = Seconds()
            with seconds.on("features"):
                counts = Extracted(*descriptions.counts(row.visterms, progress=progress))
            outcomes[shown] = run(protocol, counts, model, seconds, progress=progress)
        way, tried = _preferred(descriptions, row, max_words, progress)
        vectors = Extracted(*descriptions.vectors(way.features, progress=progress))
        learner = _pamir(way, max_words, protocol.seed)
        outcome = run(protocol, vectors, learner, Seconds(), progress=progress)
        outcomes["PAMIR"] = replace(outcome, chosen={"way": _said(way), **outcome.chosen})
        made[name] = RowOutcomes(outcomes, tried)
    return made


def _preferred(
    descriptions: PictureFeatures,
    row: FeatureRow,
    max_words: int | None,
    progress: Progress,
) -> tuple[PamirSetting, dict[str, float]]:
    """The way with the best AvgP on validation pictures, and that of each."""
    protocol = descriptions.protocol
    found: dict[PamirSetting, float] = {}
    for way in row.ways:
        vectors = descriptions.vectors(way.features, progress=progress)
        model = _pamir(way, max_words, protocol.seed).set_params(retrain=False)
        found[way] = choose(protocol, model, vectors, progress).validation_
    best = max(row.ways, key=found.__getitem__)
    return best, {_said(way): round(100 * avgp, 2) for way, avgp in found.items()}


def _pamir(way: PamirSetting, max_words: int | None, seed: int) -> Pamir | KernelPamir:
    shared: dict[str, Any] = {
        "C": (0.03, 0.1, 0.3),
        "max_iter": 4_000_000,
        "averaged": True,
        "max_words": max_words,
        "retrain": True,
        "random_state": seed,
    }
    if way.gamma is None:
        return Pamir(**shared)
    return KernelPamir(kernel=RBF(way.gamma), **shared)


def _said(way: PamirSetting) -> str:
    return way.features if way.gamma is None else f"{way.features}, rbf({way.gamma:g})"


def _report(table: str, part: str, made: Mapping[str, RowOutcomes]) -> Report:
    ours = {
        name: {model: one.part(part) for model, one in row.outcomes.items()}
        for name, row in made.items()
    }
    shown = avgp_table(f"ECML (RR 06-15) {table}, AvgP ({SOURCE})", THEIRS[table], ours)
    found = {
        **beside(THEIRS[table], {}),
        "ours": {
            name: {model: one.to_json() for model, one in row.outcomes.items()}
            for name, row in made.items()
        },
        "tried_on_validation": {name: row.tried for name, row in made.items()},
    }
    return Report(shown, found)
