"""Pages of pictures: PAMIR and the runner-up side by side, and figures 1 to 5 of the TPAMI paper.

Figure 1 (pictures in the order of their projections on w), figure 2 (a local binary pattern),
figure 3 (pictures and captions), figures 4 and 5 (the first five pictures by PAMIR and by the SVM,
for the paper's own queries: on Corel, and on the set that takes the place of CorelLarge).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from visterm.datasets import CaptionedDataset, CaptionedPictures, QueryOptions
from visterm.datasets.scenes import draw_scenes
from visterm.evaluation import Table
from visterm.evaluation.contact_sheet import Card, Group, contact_sheet
from visterm.evaluation.ranking import top
from visterm.experiments.experiment import ALONE, Experiment
from visterm.experiments.protocol import Protocol, Source, with_test
from visterm.experiments.runs import RankedRun, percent
from visterm.experiments.tables import Entry, Report
from visterm.pictures.sandbox import read_picture
from visterm.progress import Progress, silent

QUERIES, SHOWN = 6, 5
SCENE_FEATURES = "cnn"
AS_WRITTEN = {"building car": "buildings cars"}
"""Queries of the paper as Corel's captions write them."""
_RADIUS = 2


def side_by_side(
    entry: Entry, data: Source = None, seed: int = 0, progress: Progress = silent
) -> Report:
    """Rank the test pictures of Corel, or of drawn scenes where no data is given."""
    if data is not None:
        corel = Experiment(entry, data, seed)
        return compared(corel.protocol, corel.runs(progress)[ALONE])
    with TemporaryDirectory() as folder:
        scenes = Experiment(entry, drawn_scenes(Path(folder), 600, seed, progress), seed)
        scenes.settings["features"] = SCENE_FEATURES
        return compared(scenes.protocol, scenes.runs(progress)[ALONE])


class Ranking(NamedTuple):
    """The best pictures of a query by a model, and how many answer it in all."""

    query: str
    by: str
    cards: list[Card]
    relevant: int

    @property
    def found(self) -> int:
        """How many of the pictures shown are relevant."""
        return sum(card.right for card in self.cards)

    def group(self, before: str = "") -> Group:
        note = f"{self.found} of the {len(self.cards)} shown are relevant, {self.relevant} in all"
        return Group(f"{before}{self.query}, {self.by}", self.cards, note)


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
        [ranked(protocol, one.rows, words, SHOWN, name) for name, one in pair.items()]
        for words in demonstrative_queries(protocol, QUERIES)
    ]
    found = {
        "runner_up": rival,
        **{name: percent(one.outcome.evaluation) for name, one in pair.items()},
        "queries": [
            {
                "query": first.query,
                "relevant": first.relevant,
                "found": {"PAMIR": first.found, rival: second.found},
            }
            for first, second in rankings
        ],
    }
    rows: dict[str, list[int | None]] = {
        first.query: [first.found, second.found, first.relevant] for first, second in rankings
    }
    title = f"Relevant pictures among the first {SHOWN}"
    table = Table(title, ["PAMIR", rival, "relevant in all"], rows, heading="query")
    means = {name: one.outcome.evaluation.mean()["AvgP"] for name, one in pair.items()}
    page = contact_sheet(
        [one.group() for both in rankings for one in both],
        title=f"PAMIR and {rival}, side by side",
        note=(
            f"AvgP {means['PAMIR']:.1%} and {means[rival]:.1%}; what is relevant is framed. "
            f"{len(protocol.development)} captioned pictures trained both models; these "
            f"{len(protocol.test)} had their captions hidden. The queries were chosen by a rule "
            "(rare words with many answers) before anything was ranked. "
            f"{rival} was the best of the other models on validation pictures."
        ),
    )
    return Report(table, found, page)


def drawn_scenes(
    folder: Path, pictures: int, seed: int = 0, progress: Progress = silent
) -> CaptionedDataset:
    """Drawn pictures with captions as a data set, a third of them to be tested on."""
    drawn = draw_scenes(folder, pictures, seed=seed, progress=progress)
    known = CaptionedPictures([p for p, _ in drawn], [" ".join(w) for _, w in drawn], "scenes")
    whole = CaptionedDataset("scenes", known, queries=QueryOptions(language=None))
    return with_test(whole, share=1 / 3, seed=seed)


def demonstrative_queries(protocol: Protocol, count: int = 5) -> list[tuple[str, ...]]:
    """Queries of two or three words with several answers, about different things if possible."""
    relevance = protocol.test_relevance
    words, relevant = relevance.words_per_query, relevance.relevant_per_query
    likely = np.flatnonzero((words >= 2) & (words <= 3) & (relevant <= len(protocol.test) / 8))
    # Rare words with many answers first: the queries a person would try.
    weight = relevant * np.asarray(relevance.queries.astype(bool) @ protocol.vocabulary.idf)
    said = [
        tuple(protocol.vocabulary.words[t] for t in relevance.queries[[query]].indices)
        for query in sorted(likely, key=lambda q: -weight[q])
    ]
    apart: list[tuple[str, ...]] = []
    for query in said:
        if not any(set(query) & set(other) for other in apart):
            apart.append(query)
    others = [query for query in said if query not in apart]
    return (apart + others)[:count]


def ranked(
    protocol: Protocol,
    rows: NDArray[np.float32],
    words: tuple[str, ...],
    shown: int = 5,
    by: str = "",
) -> Ranking:
    """The best test pictures for these words, with what their hidden captions say."""
    query = protocol.vocabulary.query_vectors([" ".join(words)])
    scores = np.asarray(query @ rows.T)[0]
    answers = [set(words) <= set(text.split()) for text in protocol.test.words]
    cards = [
        Card(protocol.test.captions[i], protocol.test.paths[i], answers[i], f"{scores[i]:.3f}")
        for i in top(scores, shown)
    ]
    return Ranking(" ".join(words), by, cards, sum(answers))


def tpami_figures(
    entry: Entry, data: Source = None, seed: int = 0, progress: Progress = silent
) -> Report:
    """The page, and how many of the five pictures are relevant."""
    corel = Experiment(entry, data, seed)
    protocol, made = corel.protocol, corel.runs(progress)[ALONE]
    shown = {"figure 4": _rankings(protocol, made, entry.published["figure 4"])}
    if isinstance(data, CaptionedDataset) or (data and (data / "iaprtc12").is_dir()):
        whole = Experiment(replace(entry, table={**entry.table, "experiment": "large"}), data, seed)
        runs = whole.runs(progress)[ALONE]
        shown["figure 5"] = _rankings(whole.protocol, runs, entry.published["figure 5"])
    groups = [_projections(protocol, made["PAMIR"]), _pattern(protocol), _captioned(protocol, seed)]
    rows: dict[str, list[float | int | str | None]] = {}
    found: dict[str, Any] = {}
    for figure, rankings in shown.items():
        groups += [one.group(f"{figure}: ") for one in rankings]
        for pamir, svm in zip(rankings[::2], rankings[1::2], strict=True):
            theirs = entry.published[figure].get(_written(pamir.query), [None, None, None])
            ours = [pamir.found, svm.found, pamir.relevant]
            rows[f"{figure}: {pamir.query}"] = [*theirs, *ours]
            found.setdefault(figure, {})[pamir.query] = {
                "published": theirs,
                "ours": ours,
                "order": ["PAMIR", "SVM", "relevant in all"],
            }
    columns = [
        f"{what}, {who}" for who in ("published", "ours") for what in ("PAMIR", "SVM", "all")
    ]
    table = Table(f"Relevant pictures among the first {SHOWN}", columns, rows, heading="query")
    note = (
        "Figures 1 to 3 with our pictures; figures 4 and 5 for the paper's own queries where the "
        "captions have their words, else for queries chosen by a rule. What is relevant is framed."
    )
    return Report(table, found, contact_sheet(groups, title="TPAMI, figures 1 to 5", note=note))


def _rankings(
    protocol: Protocol, made: Mapping[str, RankedRun], theirs: Mapping[str, object]
) -> list[Ranking]:
    """By PAMIR and the SVM in turn, for the queries that the captions can answer."""
    queries = [tuple(AS_WRITTEN.get(query, query).split()) for query in theirs]
    known = [words for words in queries if _answers(protocol, words)]
    others = demonstrative_queries(protocol, len(queries))
    asked = (known + [words for words in others if words not in known])[: len(queries)]
    return [
        ranked(protocol, made[name].rows, words, SHOWN, name)
        for words in asked
        for name in ("PAMIR", "SVM")
    ]


def _answers(protocol: Protocol, words: tuple[str, ...]) -> bool:
    return any(set(words) <= set(text.split()) for text in protocol.test.words)


def _written(query: str) -> str:
    return {ours: theirs for theirs, ours in AS_WRITTEN.items()}.get(query, query)


def _projections(protocol: Protocol, pamir: RankedRun) -> Group:
    """A query's first, middle and last picture with their projections on w."""
    words = demonstrative_queries(protocol, 1)[0]
    every = ranked(protocol, pamir.rows, words, len(protocol.test)).cards
    chosen = [every[0], every[len(every) // 2], every[-1]]
    cards = [replace(card, title=f"w·γ(q, p) = {card.title}") for card in chosen]
    return Group(f"figure 1: {' '.join(words)}", cards, "first, middle and last by PAMIR")


def _captioned(protocol: Protocol, seed: int) -> Group:
    drawn = np.random.default_rng(seed).permutation(len(protocol.development))[:2]
    known = protocol.development
    return Group("figure 3", [Card(known.captions[i], known.paths[i]) for i in drawn])


def _pattern(protocol: Protocol) -> Group:
    """The local binary pattern of the middle pixel of the first test picture."""
    path = protocol.test.paths[0]
    grey = read_picture(path, max_side=192).astype(float) @ [0.299, 0.587, 0.114]
    values, code = local_pattern(grey, grey.shape[0] // 2, grey.shape[1] // 2)
    around = ", ".join(f"{value:.0f}" for value in values[1:])
    text = f"centre {values[0]:.0f}; around it {around}; pattern {code}"
    return Group("figure 2", [Card(text, Path(path))], "LBP(8, 2) of the pixel in the middle")


def local_pattern(grey: NDArray[np.float64], row: int, column: int) -> tuple[list[float], str]:
    """Brightness of a pixel and of eight points on a circle of radius 2, and who is as bright.

    >>> local_pattern(np.full((5, 5), 7.0), 2, 2)
    ([7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0], '11111111')
    """
    from scipy.ndimage import map_coordinates

    angles = np.arange(8) * np.pi / 4
    where = [row - _RADIUS * np.sin(angles), column + _RADIUS * np.cos(angles)]
    around = map_coordinates(grey, where, order=1, mode="nearest").round(6)
    centre = float(grey[row, column])
    bits = ["1" if value >= centre else "0" for value in around]
    return [centre, *around.tolist()], "".join(bits)
