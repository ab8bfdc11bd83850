"""The model comparison of the TPAMI paper: tables 7 to 12, made from one run of every model.

D. Grangier and S. Bengio, IEEE TPAMI 30(8), 2008.
"""

from __future__ import annotations

from collections.abc import Mapping

from visterm.errors import BadInput
from visterm.estimator import clone
from visterm.evaluation import Evaluation, Table, measures_table
from visterm.experiments.papers.published import published
from visterm.experiments.runner.indexed_models import IndexedModel, RankedRun, choose_and_index
from visterm.experiments.runner.presets import make_extractor, make_model
from visterm.experiments.runner.protocol import Protocol, Source, corel5k
from visterm.experiments.runner.reports import Report, avgp_table, beside, table_by_model
from visterm.experiments.runner.runs import Extracted, Seconds, extract
from visterm.features import Blocks
from visterm.progress import Progress, silent

THEIRS = published("tpami")
SOURCE = THEIRS["source"]
MODELS = {
    "CMRM": "cmrm",
    "CMTT": "cmtt",
    "PLSA": "plsa",
    "SVM": "concept_svm",
    "PAMIR": "pamir",
}
"""The paper's names of the models, in its order, and ours."""

# All six tables look at the same run; a command that prints several makes it once.
_made: dict[tuple[Source, int], Mapping[str, RankedRun]] = {}


def compare_models(
    protocol: Protocol,
    extractor: Blocks,
    *,
    models: Mapping[str, str] = MODELS,
    progress: Progress = silent,
) -> dict[str, IndexedModel]:
    """Every model on the same block visterms and split, parameters chosen on validation pictures.

    The generative models take the visterms' counts, the others their weighted vectors.
    """
    shared = Seconds()
    counting = clone(extractor).set_params(weighting="counts")
    with shared.on("features"):
        counts = extract(protocol, counting, progress=progress)
        weigh = counting.weigh
        vectors = Extracted(weigh(counts.training), weigh(counts.validation), weigh(counts.test))
    made = {}
    for shown, name in models.items():
        model = make_model(name, max_words=protocol.max_words, seed=protocol.seed)
        taken = counts if model.takes == "counts" else vectors
        spent = Seconds(dict(shared.spent))
        made[shown] = choose_and_index(protocol, taken, model, spent, progress=progress)
    return made


def corel_models(
    data: Source, seed: int, progress: Progress, as_published: bool = False
) -> Mapping[str, RankedRun]:
    """The comparison on Corel, made once for all tables of a command."""
    if as_published:
        from visterm.experiments.papers.tpami.published_settings import published_models

        return published_models(corel5k(data, seed=seed), progress=progress)
    if (data, seed) not in _made:
        extractor = make_extractor("blocks", seed=seed)
        if not isinstance(extractor, Blocks):
            raise BadInput("the TPAMI tables are made with block features")
        _made.clear()
        _made[data, seed] = compare_models(corel5k(data, seed=seed), extractor, progress=progress)
    return _made[data, seed]


def tpami_7(
    data: Source, seed: int = 0, progress: Progress = silent, as_published: bool = False
) -> Report:
    """Indexing: one training with what was chosen, and mapping the test pictures.

    Processor seconds are those of all cores together, as the paper's machine had one.
    """
    made = corel_models(data, seed, progress, as_published)
    cores = {m: one.outcome.seconds.spent["indexing, processor"] for m, one in made.items()}
    wall = {m: one.outcome.seconds.spent["indexing"] for m, one in made.items()}
    ours = {m: {"processor": round(cores[m], 3), "wall": round(wall[m], 3)} for m in made}
    found = {
        "published": THEIRS["table 7"],
        "ours": ours,
        "svm_over_pamir": round(_over_pamir(cores)["SVM"], 1),
    }
    return Report(indexing_table(cores, wall), found)


def tpami_8(
    data: Source, seed: int = 0, progress: Progress = silent, as_published: bool = False
) -> Report:
    """Retrieval: scoring and sorting the test pictures for a query."""
    made = corel_models(data, seed, progress, as_published)
    ours = {
        m: 1e6 * one.outcome.seconds.spent["retrieval"] / len(one.outcome.evaluation)
        for m, one in made.items()
    }
    found = {"published": THEIRS["table 8"], "ours": {m: round(v, 1) for m, v in ours.items()}}
    return Report(retrieval_table(ours), found)


def indexing_table(cores: Mapping[str, float], wall: Mapping[str, float]) -> Table:
    """Seconds of indexing by model, of all cores together and by the clock."""
    theirs = THEIRS["table 7"]
    return table_by_model(
        f"TPAMI table 7, indexing ({SOURCE})",
        {
            "processor seconds": (theirs, cores),
            "times PAMIR": (_over_pamir(theirs), _over_pamir(cores)),
            "seconds by the clock": ({}, wall),
        },
    )


def retrieval_table(ours: Mapping[str, float]) -> Table:
    """Microseconds a query by model."""
    title = f"TPAMI table 8, retrieval ({SOURCE})"
    return table_by_model(title, {"microseconds a query": (THEIRS["table 8"], ours)})


def tpami_9(
    data: Source, seed: int = 0, progress: Progress = silent, as_published: bool = False
) -> Report:
    """AvgP, BEP and P@10 over all Corel test queries."""
    made = corel_models(data, seed, progress, as_published)
    return _measures("table 9", made, {m: one.outcome.evaluation for m, one in made.items()})


def tpami_10(
    data: Source, seed: int = 0, progress: Progress = silent, as_published: bool = False
) -> Report:
    """AvgP over easy and difficult queries."""
    return _by_slice("table 10", corel_models(data, seed, progress, as_published))


def tpami_11(
    data: Source, seed: int = 0, progress: Progress = silent, as_published: bool = False
) -> Report:
    """AvgP over single-word and multi-word queries."""
    return _by_slice("table 11", corel_models(data, seed, progress, as_published))


def tpami_12(
    data: Source, seed: int = 0, progress: Progress = silent, as_published: bool = False
) -> Report:
    """AvgP, BEP and P@10 over queries that no development picture answers."""
    made = corel_models(data, seed, progress, as_published)
    return _measures("table 12", made, {m: one.outcome.part("unseen") for m, one in made.items()})


def _measures(table: str, made: Mapping[str, RankedRun], ours: Mapping[str, Evaluation]) -> Report:
    shown = measures_table(f"TPAMI {table} ({SOURCE})", ours, THEIRS[table])
    return Report(shown, beside(THEIRS[table], {m: one.outcome for m, one in made.items()}))


def _by_slice(table: str, made: Mapping[str, RankedRun]) -> Report:
    outcomes = {name: one.outcome for name, one in made.items()}
    slices = next(iter(THEIRS[table].values()))
    theirs = {name: {m: figures[name] for m, figures in THEIRS[table].items()} for name in slices}
    ours = {name: {m: one.part(name) for m, one in outcomes.items()} for name in slices}
    shown = avgp_table(f"TPAMI {table}, AvgP ({SOURCE})", theirs, ours)
    return Report(shown, beside(THEIRS[table], outcomes))


def _over_pamir(seconds: Mapping[str, float]) -> dict[str, float]:
    return {m: spent / seconds["PAMIR"] for m, spent in seconds.items() if "PAMIR" in seconds}
