"""Blobs, SIFT and both: the model comparison of the ECML 2006 paper and its report.

The numbers are those of the report, IDIAP-RR 06-15: table 3 is what validation chose for PAMIR
(table 4 of the ECML paper), table 4 AvgP over all queries (table 3 there), table 5 all measures of
blobs and SIFT together, table 6 single-word queries.

As published, all models see Corel's tokens and SIFT at key-points, plain counts, tf·idf normalised
after blobs and SIFT are joined, and PAMIR keeps the caption margin.

D. Grangier, F. Monay and S. Bengio, A discriminative approach for the retrieval of images from
text queries, ECML 2006.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from scipy.sparse import csr_array

from visterm.evaluation import Table, measures_table
from visterm.experiments.papers.published import published
from visterm.experiments.runner.figure_cache import kept_figures
from visterm.experiments.runner.indexed_models import RankedRun
from visterm.experiments.runner.kept_runs import kept_run
from visterm.experiments.runner.picture_features import Parts, PictureFeatures
from visterm.experiments.runner.presets import make_model
from visterm.experiments.runner.protocol import Protocol, Source, corel5k
from visterm.experiments.runner.reports import Report, avgp_table, beside
from visterm.experiments.runner.runs import Extracted, Outcome, Seconds, choose, run
from visterm.experiments.runner.vector_cache import cache_file
from visterm.features.visterm_weighting import visterm_weights, weigh_visterms
from visterm.kernels import RBF
from visterm.models import KernelPamir, Model, Pamir
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
    as_published: bool = False
    """Plain tf·idf normalised after joining, the caption margin, and smaller C."""


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

KEY_POINTS = "sift(visterms=1000, root=False, rootsift=False)"
_TOKENS_AND_POINTS = f"blob-tokens+{KEY_POINTS}"
PUBLISHED_ROWS = {
    name: FeatureRow(visterms, (PamirSetting(visterms, as_published=True),))
    for name, visterms in (
        ("blobs", "blob-tokens"),
        ("SIFT", KEY_POINTS),
        ("blobs + SIFT", _TOKENS_AND_POINTS),
    )
}
"""What the paper's models see."""
_PLAIN: dict[str, dict[str, Any]] = {
    "CMRM": {"evidence": None, "power": 1.0},
    "CMTT": {"power": 1.0},
    "PLSA": {"power": 1.0},
}
"""The baselines without what we added."""
JOINED = "blobs + SIFT"

# All tables look at the same pictures and runs; a process that makes several makes them once.
_extracted: dict[tuple[Source, int], PictureFeatures] = {}
_compared: dict[tuple[Source, int, int | None, bool], dict[str, RowOutcomes]] = {}


class RowOutcomes(NamedTuple):
    """Every model on one row's features, and the validation AvgP of each way PAMIR tried."""

    outcomes: dict[str, Outcome]
    tried: dict[str, float]


def ecml_1(data: Source, seed: int = 0, progress: Progress = silent) -> Report:
    """Blobs and key-points a picture, in each part."""
    features = _corel(data, seed)
    parts = ("train", "validation", "test")
    rows: dict[str, list[float | int | str | None]] = {}
    found: dict[str, dict[str, float]] = {}
    for name, visterms in (("blobs", "blob-tokens"), ("key-points", KEY_POINTS)):
        counts = features.counts(visterms, progress=progress)
        means = [round(float(part.sum() / part.shape[0]), 2) for part in counts]
        found[name] = dict(zip(parts, means, strict=True))
        rows[f"{name} a picture, published"] = THEIRS["table 1"][name]
        rows[f"{name} a picture, ours"] = list(means)
    title = f"ECML (RR 06-15) table 1, visterms a picture ({SOURCE})"
    return Report(
        Table(title, parts, rows, plain=list(rows)),
        {"published": THEIRS["table 1"], "ours": found},
    )


def ecml_3(
    data: Source, seed: int = 0, progress: Progress = silent, as_published: bool = False
) -> Report:
    """C, iterations and the margin that validation pictures chose for PAMIR."""
    made = compared_features(data, seed, None, as_published, progress)
    margin = "caption" if as_published else "constant"
    ours = {name: {**row.outcomes["PAMIR"].chosen, "margin": margin} for name, row in made.items()}
    rows: dict[str, list[float | int | str | None]] = {}
    for name, theirs in THEIRS["table 3"].items():
        chosen = ours[name]
        rows[name] = [
            *(str(value) for value in theirs.values()),
            *(str(chosen[key]) for key in theirs),
            chosen["way"],
        ]
    keys = list(next(iter(THEIRS["table 3"].values())))
    columns = [f"{key} {who}" for who in ("published", "ours") for key in keys]
    title = f"ECML (RR 06-15) table 3, chosen on validation pictures ({SOURCE})"
    table = Table(title, [*columns, "our features"], rows)
    return Report(table, {"published": THEIRS["table 3"], "ours": ours})


def ecml_4(
    data: Source, seed: int = 0, progress: Progress = silent, as_published: bool = False
) -> Report:
    """AvgP over all test queries."""
    made = compared_features(data, seed, None, as_published, progress)
    return _report("table 4", "all", made)


def ecml_5(
    data: Source, seed: int = 0, progress: Progress = silent, as_published: bool = False
) -> Report:
    """AvgP, BEP and P@10 over all test queries, blobs and SIFT together."""
    outcomes = compared_features(data, seed, None, as_published, progress)[JOINED].outcomes
    return _all_measures("table 5", "all", outcomes)


def ecml_6(
    data: Source, seed: int = 0, progress: Progress = silent, as_published: bool = False
) -> Report:
    """AvgP over single-word test queries, of models that learnt from single-word queries only."""
    made = compared_features(data, seed, 1, as_published, progress)
    return _report("table 6", "single", made)


def ecml_6_measures(
    data: Source, seed: int = 0, progress: Progress = silent, as_published: bool = False
) -> Report:
    """AvgP, BEP and P@10 over single-word queries, blobs and SIFT together."""
    outcomes = compared_features(data, seed, 1, as_published, progress)[JOINED].outcomes
    return _all_measures("table 6, measures", "single", outcomes)


def _all_measures(table: str, part: str, outcomes: Mapping[str, Outcome]) -> Report:
    ours = {name: one.part(part) for name, one in outcomes.items()}
    shown = measures_table(f"ECML {table}, {JOINED} ({SOURCE})", ours, THEIRS[table])
    return Report(shown, beside(THEIRS[table], outcomes))


def compared_features(
    data: Source, seed: int, max_words: int | None, as_published: bool, progress: Progress
) -> dict[str, RowOutcomes]:
    """The comparison on Corel, made once for all tables of a command."""
    key = data, seed, max_words, as_published
    if key not in _compared:
        rows = PUBLISHED_ROWS if as_published else ROWS
        features = _corel(data, seed)
        _compared[key] = compare_features(features, rows, max_words=max_words, progress=progress)
    return _compared[key]


def _corel(data: Source, seed: int) -> PictureFeatures:
    if (data, seed) not in _extracted:
        _extracted.clear()
        protocol = corel5k(data, seed=seed)
        pictures = f"{protocol.development.paths} {protocol.test.paths}"
        kept = cache_file("features", pictures, ".folder")
        _extracted[data, seed] = PictureFeatures(protocol, seed=seed, kept=kept)
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
            if row.ways[0].as_published:
                model.set_params(**_PLAIN[shown])
            counts = partial(descriptions.counts, row.visterms, progress=progress)
            outcomes[shown] = _kept(protocol, row.visterms, model, counts, progress)
        tried = _tried(descriptions, row, max_words, progress)
        way = max(row.ways, key=lambda one: tried.get(_said(one), 0.0))
        learner = _pamir(way, max_words, protocol.seed)
        vectors = partial(_vectors, descriptions, way, progress)
        outcome = _kept(protocol, repr(way), learner, vectors, progress)
        outcomes["PAMIR"] = replace(outcome, chosen={"way": _said(way), **outcome.chosen})
        reached = tried or {_said(way): outcome.chosen["validation"]}
        made[name] = RowOutcomes(outcomes, {one: round(100 * v, 2) for one, v in reached.items()})
    return made


def _kept(
    protocol: Protocol, seen: str, model: Model, parts: Callable[[], Parts], progress: Progress
) -> Outcome:
    """A model that learns from what it sees of pictures; what was made before is not made again."""

    def made() -> RankedRun:
        seconds = Seconds()
        with seconds.on("features"):
            rows = Extracted(*parts())
        outcome = run(protocol, rows, model, seconds, progress=progress)
        return RankedRun(model.transform(rows.test), outcome)

    return kept_run(protocol, f"{seen} {model.name} {model.get_params()}", made).outcome


def _tried(
    descriptions: PictureFeatures,
    row: FeatureRow,
    max_words: int | None,
    progress: Progress,
) -> dict[str, float]:
    """AvgP of PAMIR on validation pictures, in each way; nothing where there is only one."""
    protocol = descriptions.protocol
    found: dict[str, float] = {}
    for way in row.ways if len(row.ways) > 1 else ():
        model = _pamir(way, max_words, protocol.seed).set_params(retrain=False)

        def reached(way: PamirSetting = way, model: Pamir | KernelPamir = model) -> dict[str, Any]:
            vectors = _vectors(descriptions, way, progress)
            return {"AvgP": choose(protocol, model, vectors, progress).validation_}

        recipe = f"{way} {model.get_params()} {protocol.seed} {protocol.development.paths}"
        found[_said(way)] = kept_figures("way", recipe, reached)["AvgP"]
    return found


def _vectors(descriptions: PictureFeatures, way: PamirSetting, progress: Progress) -> Parts:
    """As PAMIR sees pictures; as published, blobs and SIFT are one bag, normalised as a whole."""
    if not way.as_published:
        return descriptions.vectors(way.features, progress=progress)
    counts = [csr_array(part) for part in descriptions.counts(way.features, progress=progress)]
    idf = visterm_weights(counts[0])
    return tuple(weigh_visterms(part, idf, root=False) for part in counts)


def _pamir(way: PamirSetting, max_words: int | None, seed: int) -> Pamir | KernelPamir:
    shared: dict[str, Any] = {
        "C": (0.03, 0.1, 0.3),
        "max_iter": 4_000_000,
        "averaged": True,
        "max_words": max_words,
        "retrain": True,
        "random_state": seed,
    }
    if way.as_published:
        plain = {"C": (0.001, 0.01, 0.1), "max_iter": 20_000_000, "averaged": False}
        return Pamir(**shared | plain, margin="caption")
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
