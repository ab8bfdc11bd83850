"""Tables 2, 5, 6 and 7 of the BITR paper beside ours, on IAPR TC-12."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from visterm.evaluation import Table
from visterm.experiments.papers.bitr.cnn_methods import (
    cnn_caption_methods,
    cnn_label_methods,
    near_labels,
)
from visterm.experiments.papers.bitr.directions import (
    Figures,
    PairVectors,
    mean_figures,
    score_figures,
)
from visterm.experiments.papers.bitr.methods import (
    Rows,
    knn_scores,
    label_space,
    paper_methods,
    pca,
    svm_scores,
)
from visterm.experiments.papers.bitr.partitions import (
    IaprExperiment,
    Partition,
    visual_topics,
)
from visterm.experiments.papers.published import published
from visterm.experiments.runner.protocol import Source
from visterm.experiments.runner.reports import Report
from visterm.experiments.runner.vector_cache import cnn_vectors
from visterm.progress import Progress, silent
from visterm.text import Vocabulary
from visterm.text.spaces import Topics

THEIRS = published("bitr")
Published = Mapping[str, Sequence[Sequence[float]]]
"""By method: figures of picture → text, and of text → picture."""


class Measured(NamedTuple):
    """A method's figures both ways on a partition, and what validation pictures chose for it."""

    method: str
    figures: dict[str, Figures]
    chosen: dict[str, dict[str, Any]] = {}  # noqa: RUF012 (never changed)


CAPTIONS = (
    "BLEU-1",
    "BLEU-1 corpus",
    "ROUGE-1",
    "R@10",
    "R@50",
    "median rank",
    "R@50 =",
    "median rank =",
)
LABELS = ("P@5", "mAP")
_PUBLISHED = ("BLEU-1", "ROUGE-1", "R@50", "median rank")
WAYS = {"to text": "→ text", "to picture": "→ picture"}
_LEAST_CAPTIONS = 10  # captions that hold a phrase for it to count as one


def bitr_2(data: Source, seed: int = 0, progress: Progress = silent, partitions: int = 1) -> Report:
    """Experiment 1: captions, by topics and correlated topics."""
    iapr = IaprExperiment.read(data, seed)
    seen = visual_topics(iapr, _cores(), progress)

    def methods(partition: Partition) -> Iterator[Measured]:
        space = Topics(random_state=seed)
        space.fit([iapr.captions[i] for i in partition.development], progress=progress)
        topics = PairVectors(seen, np.asarray(space.transform(iapr.captions)), partition, progress)
        known = {"text topics": {"held-out perplexity": space.perplexity_}}
        for name, both, _ in paper_methods(topics):
            yield Measured(name, both.captions(iapr.captions), known | both.chosen(name))

    return _report("table 2", "captions by topics", CAPTIONS, iapr, partitions, methods)


def bitr_7(data: Source, seed: int = 0, progress: Progress = silent, partitions: int = 1) -> Report:
    """Experiment 1 with CNN and word vectors; and with our text spaces."""
    iapr = IaprExperiment.read(data, seed)
    seen = cnn_vectors(iapr.paths, _cores(), progress)

    def methods(partition: Partition) -> Iterator[Measured]:
        for name, both in cnn_caption_methods(seen, iapr.captions, partition, progress):
            yield Measured(name, both.captions(iapr.captions), both.chosen(name))

    return _report("table 7", "captions by CNN", CAPTIONS, iapr, partitions, methods)


def bitr_6(data: Source, seed: int = 0, progress: Progress = silent, partitions: int = 1) -> Report:
    """Experiment 4: labels, by topics as in the paper, and by CNN vectors."""
    iapr = IaprExperiment.read(data, seed)
    return _labels("table 6", "labels", iapr, iapr.labels, progress, partitions)


def bitr_5(data: Source, seed: int = 0, progress: Progress = silent, partitions: int = 1) -> Report:
    """Experiment 3: phrases of captions, each a label by itself."""
    iapr = IaprExperiment.read(data, seed)
    documents = phrase_documents(iapr.captions, progress)
    return _labels("table 5", "phrases", iapr, documents, progress, partitions)


def phrase_documents(captions: list[str], progress: Progress) -> list[str]:
    """The phrases of each caption, each written as one word; those of few captions are left out."""
    from visterm.text.phrases import phrases

    found = []
    for done, caption in enumerate(captions):
        if done % 500 == 0:
            progress("finding phrases", done, len(captions))
        found.append(["-".join("-".join(one.words).split()) for one in phrases(caption)])
    progress("finding phrases", len(captions), len(captions))
    known = Vocabulary.from_captions(
        (" ".join(one) for one in found), min_captions=_LEAST_CAPTIONS, language=None
    )
    return [" ".join(word for word in one if word in known) for one in found]


def _labels(
    table: str,
    title: str,
    iapr: IaprExperiment,
    documents: list[str],
    progress: Progress,
    partitions: int,
) -> Report:
    seen = visual_topics(iapr, _cores(), progress)
    vectors = cnn_vectors(iapr.paths, _cores(), progress)
    vocabulary = Vocabulary.from_captions(documents, language=None)
    true = csr_array(vocabulary.counts(documents) > 0).astype(np.float32)

    def methods(partition: Partition) -> Iterator[Measured]:
        space = label_space(documents, partition, 0)
        texts, words = (
            np.asarray(rows)
            for rows in (space.transform(documents), space.labels(vocabulary.words))
        )
        yield from _by_scores(seen, vectors, true, partition, progress)
        for name, both, to_space in paper_methods(PairVectors(seen, texts, partition, progress)):
            labels = words if to_space is None else to_space.text_rows(words)
            yield Measured(name, both.labels(labels, true), both.chosen(name))
        for name, both, labels in cnn_label_methods(vectors, true, partition, progress):
            yield Measured(name, both.labels(labels, true), both.chosen(name))

    report = _report(table, title, LABELS, iapr, partitions, methods)
    report.found["labels"] = len(vocabulary)
    return report


def _by_scores(
    seen: Rows, vectors: Rows, true: csr_array, partition: Partition, progress: Progress
) -> Iterator[Measured]:
    """The methods that score labels one by one: frequencies, neighbours, one-vs-rest SVMs."""
    tested = csr_array(true[partition.test])
    often = np.asarray(true[partition.development].sum(axis=0)).reshape(1, -1)
    frequent = score_figures(often.repeat(tested.shape[0], axis=0), tested)
    yield Measured("most frequent labels", frequent)
    near = near_labels(vectors, true, partition, progress).picture_rows(vectors)
    neighbours = {"": seen, " (CNN)": vectors, " (CCA of CNN)": near}
    for where, rows in neighbours.items():
        scores, chosen = knn_scores(rows, true, partition, progress)
        name = f"weighted kNN{where}"
        yield Measured(name, score_figures(scores, tested), {name: chosen})
    for name, rows in (("SVM", seen), ("SVM (CNN, 128)", pca(vectors, partition))):
        decisions = svm_scores(rows, true, partition, _cores(), progress)
        yield Measured(name, score_figures(decisions, tested))


def _report(
    table: str,
    title: str,
    columns: tuple[str, ...],
    iapr: IaprExperiment,
    partitions: int,
    methods: Callable[[Partition], Iterator[Measured]],
) -> Report:
    """Run all methods on all partitions, and put the means beside the paper's figures."""
    found: dict[str, list[dict[str, Figures]]] = {}
    chosen: dict[str, dict[str, Any]] = {}
    names = []
    for partition in iapr.partitions(partitions):
        names.append(partition.name)
        for one in methods(partition):
            found.setdefault(one.method, []).append(one.figures)
            chosen |= one.chosen
    ours = {name: mean_figures(figures) for name, figures in found.items()}
    theirs = THEIRS[table]
    heading = f"BITR {table}, {title} ({THEIRS['source']}); IAPR TC-12, {_where(names)}"
    return Report(
        compared(heading, theirs, ours, columns),
        {"partitions": names, "published": theirs, "ours": ours, "chosen": chosen},
    )


def compared(
    heading: str,
    theirs: Published,
    ours: Mapping[str, dict[str, Figures]],
    columns: tuple[str, ...],
) -> Table:
    """The paper's figures of each method over ours, both ways; then methods it does not have."""
    rows: dict[str, list[float | None]] = {}
    for name in [*theirs, *(name for name in ours if name not in theirs)]:
        if name in theirs:
            rows[f"{name}, published"] = _published(theirs[name], columns)
        if name in ours:
            rows[f"{name}, ours" if name in theirs else name] = [
                ours[name][way][column] for way in WAYS for column in columns
            ]
    shown = [f"{column} {arrow}" for arrow in WAYS.values() for column in columns]
    ranks = [column for column in shown if column.startswith("median rank")]
    return Table(heading, shown, rows, plain=ranks)


def _published(one: Sequence[Sequence[float]], columns: tuple[str, ...]) -> list[float | None]:
    names = _PUBLISHED if "BLEU-1" in columns else LABELS
    sides = [dict(zip(names, side, strict=True)) for side in one]
    return [side.get(column) for side in sides for column in columns]


def _where(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"mean of {len(names)} parts of ten"


def _cores() -> int:
    return os.cpu_count() or 1
