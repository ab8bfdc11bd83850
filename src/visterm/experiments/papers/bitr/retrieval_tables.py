"""Tables 2, 5, 6 and 7 of the BITR paper beside ours, on IAPR TC-12."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from visterm.evaluation import Table
from visterm.experiments.papers.bitr import published
from visterm.experiments.papers.bitr.cnn_methods import cnn_caption_methods, cnn_label_methods
from visterm.experiments.papers.bitr.directions import Figures, mean_figures, score_figures
from visterm.experiments.papers.bitr.methods import (
    Chosen,
    Rows,
    knn_scores,
    label_space,
    paper_methods,
    svm_scores,
)
from visterm.experiments.papers.bitr.partitions import (
    IaprExperiment,
    Partition,
    cnn_vectors,
    visual_topics,
)
from visterm.experiments.runner.protocol import Source
from visterm.experiments.runner.reports import Report
from visterm.progress import Progress, silent
from visterm.text import Vocabulary
from visterm.text.spaces import Topics

Found = dict[str, Figures]
Method = tuple[str, Found]
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
WAYS = {"to text": "→ text", "to picture": "→ picture"}
_LEAST_CAPTIONS = 10  # captions that hold a phrase for it to count as one


def bitr_2(data: Source, seed: int = 0, progress: Progress = silent, partitions: int = 1) -> Report:
    """Experiment 1: captions, by topics and correlated topics."""
    iapr = IaprExperiment.read(data, seed)
    seen = visual_topics(iapr, _cores(), progress)

    def methods(partition: Partition, chosen: Chosen) -> Iterator[Method]:
        space = Topics(random_state=seed)
        space.fit([iapr.captions[i] for i in partition.development], progress=progress)
        chosen.by_method["text topics"] = {"perplexity of held captions": space.perplexity_}
        texts = np.asarray(space.transform(iapr.captions))
        for name, both, _ in paper_methods(seen, texts, partition, chosen, progress):
            yield name, both.captions(iapr.captions)

    return _report("2, captions by topics", published.BITR_2, CAPTIONS, iapr, partitions, methods)


def bitr_7(data: Source, seed: int = 0, progress: Progress = silent, partitions: int = 1) -> Report:
    """Experiment 1 with CNN and word vectors; and with our text spaces."""
    iapr = IaprExperiment.read(data, seed)
    seen = cnn_vectors(iapr.paths, _cores(), progress)

    def methods(partition: Partition, chosen: Chosen) -> Iterator[Method]:
        for name, both in cnn_caption_methods(seen, iapr.captions, partition, chosen, progress):
            yield name, both.captions(iapr.captions)

    return _report("7, captions by CNN", published.BITR_7, CAPTIONS, iapr, partitions, methods)


def bitr_6(data: Source, seed: int = 0, progress: Progress = silent, partitions: int = 1) -> Report:
    """Experiment 4: labels, by topics as in the paper, and by CNN vectors."""
    iapr = IaprExperiment.read(data, seed)
    return _labels("6, labels", published.BITR_6, iapr, iapr.labels, progress, partitions)


def bitr_5(data: Source, seed: int = 0, progress: Progress = silent, partitions: int = 1) -> Report:
    """Experiment 3: phrases of captions, each a label by itself."""
    iapr = IaprExperiment.read(data, seed)
    documents = phrase_documents(iapr.captions, progress)
    return _labels("5, phrases", published.BITR_5, iapr, documents, progress, partitions)


def phrase_documents(captions: list[str], progress: Progress) -> list[str]:
    """The phrases of each caption, each written as one word; those of few captions are left out."""
    from visterm.text.phrases import phrases

    told = []
    for done, caption in enumerate(captions):
        if done % 500 == 0:
            progress("finding phrases", done, len(captions))
        told.append(["-".join("-".join(one.words).split()) for one in phrases(caption)])
    progress("finding phrases", len(captions), len(captions))
    known = Vocabulary.from_captions(
        (" ".join(one) for one in told), min_captions=_LEAST_CAPTIONS, language=None
    )
    return [" ".join(word for word in one if word in known) for one in told]


def _labels(
    title: str,
    theirs: Mapping[str, published.Both],
    iapr: IaprExperiment,
    documents: list[str],
    progress: Progress,
    partitions: int,
) -> Report:
    seen = visual_topics(iapr, _cores(), progress)
    vectors = cnn_vectors(iapr.paths, _cores(), progress)
    vocabulary = Vocabulary.from_captions(documents, language=None)
    true = csr_array(vocabulary.counts(documents) > 0).astype(np.float32)

    def methods(partition: Partition, chosen: Chosen) -> Iterator[Method]:
        yield from _paper_labels(seen, documents, vocabulary, true, partition, chosen, progress)
        yield from cnn_label_methods(vectors, true, partition, chosen, progress)

    report = _report(title, theirs, LABELS, iapr, partitions, methods)
    report.found["labels"] = len(vocabulary)
    return report


def _paper_labels(
    seen: Rows,
    documents: list[str],
    vocabulary: Vocabulary,
    true: csr_array,
    partition: Partition,
    chosen: Chosen,
    progress: Progress,
) -> Iterator[Method]:
    """The paper's methods on its own features."""
    space = label_space(documents, partition, 0)
    texts, words = (
        np.asarray(space.transform(documents)),
        np.asarray(space.labels(vocabulary.words)),
    )
    tested = csr_array(true[partition.test])
    often = np.asarray(true[partition.development].sum(axis=0)).reshape(1, -1)
    yield "most frequent labels", score_figures(often.repeat(tested.shape[0], axis=0), tested)
    scores, facts = knn_scores(seen, true, partition, progress)
    chosen.by_method["weighted kNN"] = facts
    yield "weighted kNN", score_figures(scores, tested)
    yield "SVM", score_figures(svm_scores(seen, true, partition, _cores(), progress), tested)
    for name, both, to_space in paper_methods(seen, texts, partition, chosen, progress):
        yield name, both.labels(words if to_space is None else to_space.text_rows(words), true)


def _report(
    title: str,
    theirs: Mapping[str, published.Both],
    columns: tuple[str, ...],
    iapr: IaprExperiment,
    partitions: int,
    methods: Callable[[Partition, Chosen], Iterator[Method]],
) -> Report:
    """Run all methods on all partitions, and put the means beside the paper's figures."""
    found: dict[str, list[Found]] = {}
    chosen = Chosen()
    names = []
    for partition in iapr.partitions(partitions):
        names.append(partition.name)
        for name, figures in methods(partition, chosen):
            found.setdefault(name, []).append(figures)
    ours = {name: mean_figures(figures) for name, figures in found.items()}
    heading = f"BITR table {title} ({published.BITR}); IAPR TC-12, {_where(names)}"
    return Report(
        compared(heading, theirs, ours, columns),
        {
            "partitions": names,
            "published": {name: list(map(list, one)) for name, one in theirs.items()},
            "ours": ours,
            "chosen": chosen.by_method,
        },
    )


def compared(
    heading: str,
    theirs: Mapping[str, published.Both],
    ours: Mapping[str, Found],
    columns: tuple[str, ...],
) -> Table:
    """The paper's figures of each method over ours, both ways; then methods it does not have."""
    rows: dict[str, list[float | int | str | None]] = {}
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


def _published(one: published.Both, columns: tuple[str, ...]) -> list[float | int | str | None]:
    names = published.CAPTION_COLUMNS if "BLEU-1" in columns else LABELS
    told: list[float | int | str | None] = []
    for side in one:
        known: dict[str, Any] = dict(zip(names, side, strict=True))
        told += [known.get(column) for column in columns]
    return told


def _where(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"mean of {len(names)} parts of ten"


def _cores() -> int:
    return os.cpu_count() or 1
