"""PAMIR and the runner-up side by side: the top five pictures of six queries, to look at."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from visterm.evaluation import Table
from visterm.evaluation.contact_sheet import RankedQuery, contact_sheet
from visterm.experiments.demonstration import demonstrative_queries, ranked, scene_blocks, scenes
from visterm.experiments.papers.tpami.model_comparison import compare_models, corel_models
from visterm.experiments.runner.indexed_models import RankedRun
from visterm.experiments.runner.protocol import Protocol, Source, corel5k
from visterm.experiments.runner.reports import Report
from visterm.experiments.runner.runs import percent
from visterm.progress import Progress, silent

QUERIES, SHOWN = 6, 5


def side_by_side(data: Source, seed: int = 0, progress: Progress = silent) -> Report:
    """Rank the test pictures of Corel, or of drawn scenes where no data is given."""
    if data is not None:
        return compared(corel5k(data, seed=seed), corel_models(data, seed, progress))
    with TemporaryDirectory() as folder:
        protocol = scenes(Path(folder), 600, seed=seed, progress=progress)
        made = compare_models(protocol, scene_blocks(seed), progress=progress)
        return compared(protocol, made)


def compared(protocol: Protocol, made: Mapping[str, RankedRun]) -> Report:
    """The report on models that were run; the runner-up is the best other one on validation.

    The queries are chosen by their words and number of answers alone, before anything is ranked:
    nobody picked those that flatter a model.
    """
    rival = max(
        (name for name in made if name != "PAMIR"),
        key=lambda name: float(made[name].outcome.chosen["validation"]),
    )
    pair = {name: made[name] for name in ("PAMIR", rival)}
    rankings = [
        ranked(protocol, one.rows, words, SHOWN, name)
        for words in demonstrative_queries(protocol, QUERIES)
        for name, one in pair.items()
    ]
    found = {
        "runner_up": rival,
        **{name: percent(one.outcome.evaluation) for name, one in pair.items()},
        "queries": [_tally(rankings[i : i + 2]) for i in range(0, len(rankings), 2)],
    }
    return Report(_table(rankings, rival), found, _page(protocol, pair, rankings))


def _tally(rankings: list[RankedQuery]) -> dict[str, object]:
    found = {ranking.by: ranking.found for ranking in rankings}
    return {"query": rankings[0].query, "relevant": rankings[0].relevant, "found": found}


def _table(rankings: list[RankedQuery], rival: str) -> Table:
    rows: dict[str, list[int | None]] = {}
    for first, second in zip(rankings[::2], rankings[1::2], strict=True):
        rows[first.query] = [first.found, second.found, first.relevant]
    title = f"Relevant pictures among the first {SHOWN}"
    return Table(title, ["PAMIR", rival, "relevant in all"], rows, heading="query")


def _page(protocol: Protocol, pair: Mapping[str, RankedRun], rankings: list[RankedQuery]) -> bytes:
    rival = list(pair)[1]
    measures = {
        f"AvgP, {name}": one.outcome.evaluation.mean()["AvgP"] for name, one in pair.items()
    }
    note = (
        f"{len(protocol.development)} captioned pictures trained both models; these "
        f"{len(protocol.test)} had their captions hidden. The queries were chosen by a rule "
        "(rare words with many answers) before anything was ranked. "
        f"{rival} was the best of the other models on validation pictures."
    )
    return contact_sheet(
        rankings, title=f"PAMIR and {rival}, side by side", measures=measures, note=note
    )
