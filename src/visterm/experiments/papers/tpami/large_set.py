"""Tables 2 and 13 of the TPAMI paper, on a set that stands in for the larger Corel set.

CorelLarge (35,379 pictures, 1,892 words) is not public. IAPR TC-12's 19,627 pictures take its
place: all of them are dealt out by the seed in the paper's proportions, 42 % to train, 29 % to
validate and 29 % to test, queries are sets of up to three of their 291 labels (with that the mean
number of relevant pictures of a training query, 3.8, is the paper's), and models learn from the
training pictures only. So figures tell models apart; they are not those of CorelLarge.
"""

from __future__ import annotations

import os

import numpy as np

from visterm.datasets import CaptionedDataset, QueryOptions, data_folder, read_iaprtc12
from visterm.evaluation import Table, measures_table
from visterm.experiments.papers.published import published
from visterm.experiments.papers.tpami.corel_statistics import query_statistics
from visterm.experiments.papers.tpami.model_comparison import MODELS
from visterm.experiments.runner.indexed_models import RankedRun, choose_and_index
from visterm.experiments.runner.kept_runs import block_rows, kept_run
from visterm.experiments.runner.presets import make_extractor, make_model
from visterm.experiments.runner.protocol import Protocol, Source, protocol_of
from visterm.experiments.runner.reports import Report, beside
from visterm.experiments.runner.runs import Seconds
from visterm.features import Blocks
from visterm.models import Model
from visterm.progress import Progress, silent

THEIRS = published("tpami")
FEATURES = "blocks"
_SHARES = {part: int(sizes[0]) for part, sizes in THEIRS["table 2"].items()}
_MAX_WORDS = 3


def large_protocol(data: Source, seed: int = 0) -> Protocol:
    """IAPR TC-12, or another data set in its place, in the proportions of CorelLarge."""
    if not isinstance(data, CaptionedDataset):
        data = read_iaprtc12(data_folder("iaprtc12", data).resolve())
    every = data.development + data.tested
    order = np.random.default_rng(seed).permutation(len(every))
    ends = np.cumsum(list(_SHARES.values())) / sum(_SHARES.values()) * len(every)
    parts = np.split(order, ends[:-1].round().astype(int))
    train, validation, test = (
        every.take(np.sort(part), name) for part, name in zip(parts, _SHARES, strict=True)
    )
    queries = QueryOptions(language=None, max_words=_MAX_WORDS, words_from="test")
    name = f"{data.name}, dealt out anew"
    return protocol_of(CaptionedDataset(name, train, test, validation, queries), seed=seed)


def tpami_2(data: Source, seed: int = 0, progress: Progress = silent) -> Report:
    """The sizes of the larger set, and of the one that takes its place."""
    protocol = large_protocol(data, seed)
    train, held = protocol.split
    relevance = {
        "train": protocol.relevance_of(train),
        "validation": protocol.relevance_of(held),
        "test": protocol.test_relevance,
    }
    rows: dict[str, list[float | int | str | None]] = {}
    ours = {}
    for part, asked in relevance.items():
        known = query_statistics(asked)
        ours[part] = {"pictures": int(asked.pictures.shape[1]), **known}
        rows[f"{part}, published"] = list(THEIRS["table 2"][part])
        rows[f"{part}, ours"] = [
            str(asked.pictures.shape[1]),
            *(str(known[key]) for key in ("queries", "mean_relevant", "mean_words")),
        ]
    columns = ["pictures", "queries", "relevant a query", "words a query"]
    words = len(protocol.vocabulary)
    title = f"TPAMI table 2: CorelLarge with 1,892 words, and {protocol.name} with {words}"
    found = {"published": THEIRS["table 2"], "ours": ours, "vocabulary": words}
    return Report(Table(title, columns, rows), found)


def tpami_13(data: Source, seed: int = 0, progress: Progress = silent) -> Report:
    """AvgP, BEP and P@10 on the larger set; with them what tables 7 and 8 say of it."""
    protocol = large_protocol(data, seed)
    made = large_models(protocol, progress)
    outcomes = {name: one.outcome for name, one in made.items()}
    ours = {name: one.evaluation for name, one in outcomes.items()}
    title = f"TPAMI table 13: CorelLarge, published; {protocol.name}, ours ({THEIRS['source']})"
    found = beside(THEIRS["table 13"], outcomes)
    found["indexing"] = {
        name: {
            "published": THEIRS["table 7, large"][name],
            "processor": round(one.seconds.spent["indexing, processor"], 2),
        }
        for name, one in outcomes.items()
    }
    found["milliseconds_a_query"] = {
        name: round(1e3 * one.seconds.spent["retrieval"] / len(one.evaluation), 3)
        for name, one in outcomes.items()
    }
    return Report(measures_table(title, ours, THEIRS["table 13"]), found)


def large_models(protocol: Protocol, progress: Progress = silent) -> dict[str, RankedRun]:
    """Every model on the same block visterms, kept one by one."""
    made = {}
    for shown, name in MODELS.items():
        model = make_model(name, max_words=protocol.max_words, seed=protocol.seed)

        def run(model: Model = model) -> RankedRun:
            seconds = Seconds()
            with seconds.on("features"):
                blocks = make_extractor(FEATURES, n_jobs=os.cpu_count() or 1, seed=protocol.seed)
                assert isinstance(blocks, Blocks), "visterms of blocks are counted"
                rows = block_rows(protocol, blocks, progress).of(model)
            return choose_and_index(
                protocol, rows, model, seconds, training_only=True, progress=progress
            )

        recipe = f"large {name} {FEATURES} {model.get_params()}"
        made[shown] = kept_run(protocol, recipe, run, training_only=True)
    return made
