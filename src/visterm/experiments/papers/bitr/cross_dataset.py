"""Experiment 2 of the BITR paper: captions learnt on one data set, tested on another.

The paper learns from a million web pictures and tests on Pascal and IAPR TC-12. Here IAPR TC-12
and Flickr8k teach each other: its test pictures ask for captions of the data set that was learnt
from (BLEU, ROUGE), and for their own captions among the tested ones (ranks). The same models on
the test pictures of their own data set say what the change costs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.datasets import CaptionedDataset, data_folder, read_flickr8k, read_iaprtc12
from visterm.errors import BadInput
from visterm.evaluation import Table
from visterm.evaluation.caption_similarity import CaptionSimilarity
from visterm.experiments.papers.bitr.cnn_methods import cnn_caption_methods
from visterm.experiments.papers.bitr.directions import (
    FOUND,
    Both,
    Figures,
    Fit,
    PairVectors,
    nearest,
    similarity_figures,
)
from visterm.experiments.papers.bitr.methods import Rows, paper_methods
from visterm.experiments.papers.bitr.partitions import IaprExperiment, Partition, visual_topics
from visterm.experiments.papers.bitr.retrieval_tables import WAYS
from visterm.experiments.papers.published import published
from visterm.experiments.runner.cross_modal_ranks import ranks_in_blocks
from visterm.experiments.runner.figure_cache import kept_figures
from visterm.experiments.runner.protocol import Source
from visterm.experiments.runner.reports import Report
from visterm.experiments.runner.vector_cache import cnn_vectors, kept
from visterm.models.pairs import PairModel
from visterm.progress import Progress, silent
from visterm.text.spaces import Topics

THEIRS = published("bitr")["table 4"]
NAMES = {"iaprtc12": "IAPR", "flickr8k": "Flickr8k"}
READERS = {"iaprtc12": read_iaprtc12, "flickr8k": read_flickr8k}
COLUMNS = ("BLEU-1", "ROUGE-1", "R@1", "R@10", "R@50", "median rank")
_PUBLISHED = {"BLEU-1": 0, "ROUGE-1": 1, "R@50": 2, "median rank": 3}
CAPTIONS_EACH = 2  # of a training picture
_AT = (1, 10, 50)
Numbers = NDArray[np.int64]


def bitr_exp2(data: Source, seed: int = 0, progress: Progress = silent) -> Report:
    """Every method on TR, CTR and CNN vectors, from either data set to the other."""
    corpora = Corpora.read(data, seed)
    across: dict[str, dict[str, Any]] = {}
    within: dict[str, dict[str, Any]] = {}
    for source, target in (("iaprtc12", "flickr8k"), ("flickr8k", "iaprtc12")):
        name = f"{NAMES[source]} → {NAMES[target]}"
        found = _measured(corpora, source, progress)
        across[name] = {method: one[target] for method, one in found.items()}
        within[NAMES[source]] = {method: one[source] for method, one in found.items()}
    return Report(
        _table(across, within),
        {"published": THEIRS, "ours": across, "within": within, "sizes": corpora.sizes},
    )


@dataclass(frozen=True, eq=False)
class Corpora:
    """Both data sets' pictures, test pictures last, and every caption with its picture's number."""

    datasets: dict[str, CaptionedDataset]
    seed: int

    @classmethod
    def read(cls, data: Source, seed: int) -> Corpora:
        """From the folder that holds both, or from either of the two."""
        if isinstance(data, CaptionedDataset):
            raise BadInput("experiment 2 learns on one data set and tests on another; give --data")
        root = data.parent if data is not None and data.name in READERS else data
        return cls({n: read(data_folder(n, root).resolve()) for n, read in READERS.items()}, seed)

    @cached_property
    def _parts(self) -> dict[tuple[str, str], Numbers]:
        """Numbers of the pictures of each part of each data set."""
        found, at = {}, 0
        for part in ("train", "validation", "test"):
            for name, data in self.datasets.items():
                pictures = getattr(data, part)
                size = 0 if pictures is None else len(pictures)
                found[name, part] = np.arange(at, at + size)
                at += size
        return found

    @cached_property
    def _every(self) -> tuple[list[Path], list[str], Numbers]:
        paths: list[Path] = []
        captions: list[str] = []
        owners: list[int] = []
        for name, part in self._parts:
            pictures = getattr(self.datasets[name], part)
            if pictures is not None:
                said, whose = pictures.single_captions()
                owners += [len(paths) + number for number in whose]
                captions += said
                paths += pictures.paths
        return paths, captions, np.array(owners)

    @property
    def paths(self) -> list[Path]:
        return self._every[0]

    @property
    def captions(self) -> list[str]:
        return self._every[1]

    @property
    def owners(self) -> Numbers:
        return self._every[2]

    @property
    def sizes(self) -> dict[str, int]:
        return {f"{NAMES[name]} {part}": len(n) for (name, part), n in self._parts.items()}

    def partition(self, source: str) -> Partition:
        """Numbers of captions: what trains, what chooses (one of a picture's), what is tested.

        A data set's own validation pictures choose; else a tenth of its training pictures. Of a
        picture's five captions two train, so that both data sets have about as many pairs.
        """
        train, held = self._parts[source, "train"], self._parts[source, "validation"]
        if len(held) == 0:
            order = np.random.default_rng(self.seed).permutation(train)
            train, held = order[len(order) // 10 :], order[: len(order) // 10]
        tested = np.concatenate([self.tested(name) for name in self.datasets])
        return Partition(
            NAMES[source], self._first(train, CAPTIONS_EACH), self._first(held, 1), tested
        )

    def _first(self, pictures: Numbers, count: int) -> Numbers:
        """Numbers of the first captions of these pictures, at most so many of each."""
        every = self.of(pictures)
        _, first, whose = np.unique(self.owners[every], return_index=True, return_inverse=True)
        return every[np.arange(len(every)) - first[whose] < count]

    def tested(self, name: str) -> Numbers:
        """Numbers of the captions of a data set's test pictures."""
        return self.of(self._parts[name, "test"])

    def of(self, pictures: Numbers) -> Numbers:
        """Numbers of the captions of these pictures."""
        return np.flatnonzero(np.isin(self.owners, pictures))


def _measured(
    corpora: Corpora, source: str, progress: Progress
) -> dict[str, dict[str, dict[str, Figures]]]:
    """By method, then by tested data set, the figures both ways of what ``source`` taught."""
    found = {}
    partition = corpora.partition(source)
    for method, fit in _methods(corpora, partition, progress):
        recipe = f"{method} {source} {corpora.seed} {corpora.paths}"
        measure = partial(_figures, fit, corpora, partition)
        found[method] = kept_figures("bitr-exp2", recipe, measure)
    return found


def _methods(
    corpora: Corpora, partition: Partition, progress: Progress
) -> Iterator[tuple[str, Fit]]:
    cores, n = os.cpu_count() or 1, len(corpora.paths)
    tested = sum(len(data.tested) for data in corpora.datasets.values())
    every = IaprExperiment(corpora.paths, [""] * n, [""] * n, tested, corpora.seed)
    space = Topics(random_state=corpora.seed)
    learnt = [corpora.captions[i] for i in partition.development]

    def mixtures() -> Rows:
        return np.asarray(space.fit(learnt, progress=progress).transform(corpora.captions))

    recipe = f"{space.get_params()} {learnt} {corpora.captions}"
    texts = np.asarray(kept("text-topics", recipe, mixtures))
    topics = visual_topics(every, cores, progress)[corpora.owners]
    pairs = PairVectors(topics, texts, partition, progress)
    yield "random order", partial(Both, pairs, _Random(0), _Random(0))
    for name, fit, _ in paper_methods(pairs):
        yield name, fit
    seen = cnn_vectors(corpora.paths, cores, progress)[corpora.owners]
    for name, fit in cnn_caption_methods(seen, corpora.captions, partition, progress):
        yield name if " " in name else f"{name} (CNN)", fit


class _Random(PairModel):
    """Knows nothing: every picture and every text anywhere."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def picture_rows(self, X: Any) -> Rows:
        return self.rng.standard_normal((len(X), 64), dtype=np.float32)

    def text_rows(self, Y: Any) -> Rows:
        return self.picture_rows(Y)


def _figures(fit: Fit, corpora: Corpora, partition: Partition) -> dict[str, dict[str, Figures]]:
    """Both ways on the test pictures of each data set."""
    both, pool = fit(), partition.development
    return {name: _on(both, corpora, corpora.tested(name), pool) for name in corpora.datasets}


def _on(both: Both, corpora: Corpora, tested: Numbers, pool: Numbers) -> dict[str, Figures]:
    captions, owners = corpora.captions, corpora.owners
    similarity = CaptionSimilarity([captions[i] for i in pool], [captions[i] for i in tested])
    # A picture stands in as many pairs as it has captions; it is ranked once, by its first.
    _, first, whose = np.unique(owners[tested], return_index=True, return_inverse=True)
    own = csr_array((np.ones(len(tested), np.float32), (np.arange(len(tested)), whose)))
    figures = {}
    for way, model in (("to text", both.to_texts), ("to picture", both.to_pictures)):
        pictures = model.picture_rows(both.pairs.pictures[tested[first]])
        texts = model.text_rows(both.pairs.texts[tested])
        if way == "to text":
            found = nearest(pictures, model.text_rows(both.pairs.texts[pool]), FOUND)[whose]
            ranks = _ranks(pictures, texts, csr_array(own.T))
        else:
            found = nearest(texts, model.picture_rows(both.pairs.pictures[pool]), FOUND)
            ranks = _ranks(texts, pictures, own)
        figures[way] = similarity_figures(similarity, found, way) | ranks
    return figures


def _ranks(asked: Rows, answers: Rows, own: csr_array) -> Figures:
    ranks = ranks_in_blocks(lambda part: asked[part] @ answers.T, own)
    found = {f"R@{k}": float(np.mean(ranks <= k)) for k in _AT}
    return found | {"median rank": float(np.median(ranks))}


def _table(across: dict[str, dict[str, Any]], within: dict[str, dict[str, Any]]) -> Table:
    rows: dict[str, list[float | int | str | None]] = {}
    for target, figures in THEIRS.items():
        for method, sides in figures.items():
            rows[f"SBU → {target}, published: {method}"] = [
                side[_PUBLISHED[column]] if column in _PUBLISHED else None
                for side in sides
                for column in COLUMNS
            ]
    for name, methods in (*across.items(), *((f"{n} → {n}", one) for n, one in within.items())):
        for method, ways in methods.items():
            rows[f"{name}: {method}"] = [ways[way][c] for way in WAYS for c in COLUMNS]
    columns = [f"{column} {arrow}" for arrow in WAYS.values() for column in COLUMNS]
    plain = [column for column in columns if column.startswith("median rank")]
    title = f"BITR experiment 2, captions across data sets ({published('bitr')['source']})"
    return Table(title, columns, rows, plain=plain)
