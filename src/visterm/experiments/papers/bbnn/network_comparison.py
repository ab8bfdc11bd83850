"""Tables 2 and 3 of the BBNN report: the network beside the models that look at visterms.

D. Grangier and S. Bengio, A neural network to retrieve images from text queries, ICANN 2006
(IDIAP-RR 06-33). The report takes the others' figures from the ECML paper (blobs and SIFT); ours
look at the visterms of blocks, so that every model sees texture and colour of squares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from visterm.errors import BadInput
from visterm.evaluation import measures_table
from visterm.experiments.papers.published import published
from visterm.experiments.papers.tpami.model_comparison import compare_models
from visterm.experiments.runner.indexed_models import (
    IndexedModel,
    RankedRun,
    choose_and_index,
)
from visterm.experiments.runner.kept_runs import kept_run
from visterm.experiments.runner.picture_features import BLOCKS_FOR
from visterm.experiments.runner.presets import make_extractor, make_model
from visterm.experiments.runner.protocol import Protocol, Source, corel5k
from visterm.experiments.runner.reports import Report, beside
from visterm.experiments.runner.runs import Seconds, extract
from visterm.features import BlockCounts, Blocks
from visterm.models import Model
from visterm.progress import Progress, silent

THEIRS = published("bbnn")
SOURCE = THEIRS["source"]
PLAIN: dict[str, Any] = {
    "in_batch_negatives": False,
    "momentum": 0.0,
    "averaged": False,
    "block_share": 1.0,
    "query_exponent": 1.0,
    "batch_size": 32,
    "epoch_pairs": 100_000,
    "max_iter": 12,
    "retrain": False,
}
"""Stochastic gradient descent as in the report; a step takes the mean of 32 triplets."""
SETTINGS = [
    {"block_units": 100, "picture_units": 200, "learning_rate": rate} for rate in (0.03, 0.1, 0.3)
]
"""λ, N1 and N2 to choose from; the report does not say which it chose."""
OTHERS = {"CMRM": "cmrm", "PLSA": "plsa", "PAMIR": "pamir"}
"""The report's names of the models over visterms, in its order, and ours."""


def compare_with_bbnn(
    protocol: Protocol,
    visterms: Blocks,
    blocks: BlockCounts,
    *,
    models: Mapping[str, str] = OTHERS,
    progress: Progress = silent,
) -> dict[str, IndexedModel]:
    """The other models on visterms and BBNN on the blocks themselves, on one split; everything is
    chosen on validation pictures."""
    made = compare_models(protocol, visterms, models=models, progress=progress)
    seconds = Seconds()
    with seconds.on("features"):
        vectors = extract(protocol, blocks, progress=progress)
    model = make_model("bbnn", max_words=protocol.max_words, seed=protocol.seed)
    model.set_params(block_width=blocks.block_numbers)
    made["BBNN"] = choose_and_index(protocol, vectors, model, seconds, progress=progress)
    return made


def published_bbnn(
    protocol: Protocol,
    blocks: BlockCounts,
    settings: Sequence[Mapping[str, Any]] = SETTINGS,
    progress: Progress = silent,
) -> dict[str, RankedRun]:
    """BBNN as the report has it, with the λ, N1 and N2 that validation pictures like best.

    Plain stochastic gradient descent from triplets that are all as likely (section 3.3), one p⁻ a
    pair, the caption margin, no momentum, the last weights; validation pictures are not learnt
    from.
    """
    rows = cache(lambda: extract(protocol, blocks, progress=progress))
    tried = []
    for setting in settings:
        model = make_model("bbnn", max_words=protocol.max_words, seed=protocol.seed)
        model.set_params(block_width=blocks.block_numbers, **PLAIN, **setting)

        def run(model: Model = model) -> RankedRun:
            return choose_and_index(
                protocol, rows(), model, Seconds(), training_only=True, progress=progress
            )

        recipe = f"as published {model.get_params()}"
        one = kept_run(protocol, recipe, run, training_only=True)
        chosen = {**setting, **one.outcome.chosen}
        tried.append(replace(one, outcome=replace(one.outcome, chosen=chosen)))
    best = max(tried, key=lambda one: float(one.outcome.chosen["validation"]))
    return {"BBNN": best}


def bbnn_2(
    data: Source, seed: int = 0, progress: Progress = silent, as_published: bool = False
) -> Report:
    """P@10 and AvgP over all Corel test queries."""
    return _table("2", corel5k(data, seed=seed), THEIRS["table 2"], as_published, progress)


def bbnn_3(
    data: Source, seed: int = 0, progress: Progress = silent, as_published: bool = False
) -> Report:
    """The same over queries of one word, learnt and chosen with such queries only."""
    alone = replace(corel5k(data, seed=seed), max_words=1)
    return _table("3, single-word queries", alone, THEIRS["table 3"], as_published, progress)


def _table(
    number: str,
    protocol: Protocol,
    theirs: Mapping[str, Mapping[str, float]],
    as_published: bool,
    progress: Progress,
) -> Report:
    visterms = make_extractor(BLOCKS_FOR["vectors"], seed=protocol.seed)
    blocks = make_extractor(BLOCKS_FOR["blocks"], seed=protocol.seed)
    if not isinstance(visterms, Blocks) or not isinstance(blocks, BlockCounts):
        raise BadInput("the BBNN tables are made with block features")
    made: Mapping[str, RankedRun]
    if as_published:
        made = published_bbnn(protocol, blocks, progress=progress)
    else:
        made = compare_with_bbnn(protocol, visterms, blocks, progress=progress)
    outcomes = {name: one.outcome for name, one in made.items()}
    ours = {name: one.evaluation for name, one in outcomes.items()}
    table = measures_table(f"BBNN table {number} ({SOURCE})", ours, theirs)
    return Report(table, beside(theirs, outcomes))
