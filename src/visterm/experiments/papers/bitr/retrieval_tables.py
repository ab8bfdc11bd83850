"""Tables 2, 5, 6 and 7 of the BITR paper beside ours, on IAPR TC-12."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
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
    Fit,
    PairVectors,
    mean_figures,
    score_figures,
)
from visterm.experiments.papers.bitr.label_estimates import estimate_methods
from visterm.experiments.papers.bitr.methods import (
    Rows,
    knn_scores,
    label_space,
    mean_texts,
    paper_methods,
    pca,
    svm_scores,
)
from visterm.experiments.papers.bitr.partitions import (
    IaprExperiment,
    Partition,
    visual_topics,
)
from visterm.experiments.papers.bitr.phrase_labels import phrase_documents
from visterm.experiments.papers.bitr.published_settings import PublishedMethods
from visterm.experiments.papers.published import published
from visterm.experiments.runner.figure_cache import kept_figures
from visterm.experiments.runner.protocol import Source
from visterm.experiments.runner.reports import Report
from visterm.experiments.runner.vector_cache import cnn_vectors, side_by_side
from visterm.progress import Progress, silent
from visterm.text import Vocabulary
from visterm.text.spaces import Topics

THEIRS = published("bitr")
Published = Mapping[str, Sequence[Sequence[float]]]
"""By method: figures of picture → text, and of text → picture."""


class Measured(NamedTuple):
    """A method's figures both ways on a partition, and what validation pictures chose for it."""

    figures: dict[str, Figures]
    chosen: dict[str, dict[str, Any]] = {}  # noqa: RUF012 (never changed)


Measurement = tuple[str, Callable[[], Measured]]
"""A method, and what measures it: figures that are kept are not measured again."""

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
MEANT = ("CCA", "BITR-C (CTR)")
"""Methods that also get labels as means of texts, and rank pictures by angles."""
_PUBLISHED = ("BLEU-1", "ROUGE-1", "R@50", "median rank")
WAYS = {"to text": "→ text", "to picture": "→ picture"}


def bitr_2(
    data: Source,
    seed: int = 0,
    progress: Progress = silent,
    partitions: int = 1,
    as_published: bool = False,
) -> Report:
    """Experiment 1: captions, by topics and correlated topics."""
    iapr = IaprExperiment.read(data, seed)
    methods = _topic_methods(iapr, progress, as_published)
    title = _titled("captions by topics", as_published)
    return _report("table 2", title, CAPTIONS, iapr, partitions, methods)


def bitr_3(
    data: Source,
    seed: int = 0,
    progress: Progress = silent,
    partitions: int = 1,
    as_published: bool = False,
) -> Report:
    """BLEU-1 to -3 and ROUGE-1 of BITR-C on correlated topics, picture → text."""
    iapr = IaprExperiment.read(data, seed)
    methods, only = _topic_methods(iapr, progress, as_published), "BITR-C (CTR)"
    report = _report(
        "table 2",
        _titled("captions by topics", as_published),
        CAPTIONS,
        iapr,
        partitions,
        lambda partition: (one for one in methods(partition) if one[0] == only),
    )
    ours = report.found["ours"][only]["to text"]
    columns = ["BLEU-1", "BLEU-2", "BLEU-3", "ROUGE-1"]
    rows: dict[str, list[float | int | str | None]] = {
        f"{name}, published": list(figures) for name, figures in THEIRS["table 3"].items()
    }
    rows["IAPR TC-12, ours"] = [ours[column] for column in columns]
    title = f"BITR table 3, picture → text by {only} ({THEIRS['source']})"
    found = {"published": THEIRS["table 3"], "ours": {c: ours[c] for c in columns}}
    return Report(Table(title, columns, rows), report.found | found)


def _topic_methods(
    iapr: IaprExperiment, progress: Progress, as_published: bool
) -> Callable[[Partition], Iterator[Measurement]]:
    seen = visual_topics(iapr, _cores(), progress)
    makers = PublishedMethods(f"captions {iapr.paths}") if as_published else paper_methods

    def methods(partition: Partition) -> Iterator[Measurement]:
        space = Topics(random_state=iapr.seed)
        space.fit([iapr.captions[i] for i in partition.development], progress=progress)
        topics = PairVectors(seen, np.asarray(space.transform(iapr.captions)), partition, progress)
        known = {"text topics": {"held-out perplexity": space.perplexity_}}
        for name, fit, _ in makers(topics):
            yield name, partial(_captions, name, fit, iapr.captions, known)

    return methods


def bitr_7(data: Source, seed: int = 0, progress: Progress = silent, partitions: int = 1) -> Report:
    """Experiment 1 with CNN and word vectors; and with our text spaces."""
    iapr = IaprExperiment.read(data, seed)
    seen = cnn_vectors(iapr.paths, _cores(), progress)

    def methods(partition: Partition) -> Iterator[Measurement]:
        for name, fit in cnn_caption_methods(seen, iapr.captions, partition, progress):
            yield name, partial(_captions, name, fit, iapr.captions)

    return _report("table 7", "captions by CNN", CAPTIONS, iapr, partitions, methods)


def bitr_6(
    data: Source,
    seed: int = 0,
    progress: Progress = silent,
    partitions: int = 1,
    as_published: bool = False,
) -> Report:
    """Experiment 4: labels, by topics as in the paper, and by CNN vectors."""
    iapr = IaprExperiment.read(data, seed)
    more = [] if as_published else [side_by_side(iapr.paths, _cores(), progress)]
    return _labels("table 6", "labels", iapr, iapr.labels, progress, partitions, as_published, more)


def bitr_5(
    data: Source,
    seed: int = 0,
    progress: Progress = silent,
    partitions: int = 1,
    as_published: bool = False,
) -> Report:
    """Experiment 3: phrases of captions, each a label by itself."""
    iapr = IaprExperiment.read(data, seed)
    documents = phrase_documents(iapr.captions, progress)
    return _labels("table 5", "phrases", iapr, documents, progress, partitions, as_published)


def _labels(
    table: str,
    title: str,
    iapr: IaprExperiment,
    documents: list[str],
    progress: Progress,
    partitions: int,
    as_published: bool,
    more: Sequence[Rows] = (),
) -> Report:
    seen = visual_topics(iapr, _cores(), progress)
    own = PublishedMethods(f"{table} {iapr.paths}")
    vectors = cnn_vectors(iapr.paths, _cores(), progress)
    vocabulary = Vocabulary.from_captions(documents, language=None)
    true = csr_array(vocabulary.counts(documents) > 0).astype(np.float32)

    def methods(partition: Partition) -> Iterator[Measurement]:
        space = label_space(documents, partition, 0)
        texts, words = (
            np.asarray(rows)
            for rows in (space.transform(documents), space.labels(vocabulary.words))
        )
        yield from _by_scores(seen, vectors, true, partition, progress)
        topics = PairVectors(seen, texts, partition, progress)
        if as_published:
            for name, fit, to_space in own(topics, true):
                known = words if to_space is None else to_space.text_rows(words)
                known = np.eye(len(words), dtype=np.float32) if "WSABIE" in name else known
                yield name, partial(_label_figures, name, fit, known, true)
            return
        means = mean_texts(texts, true, partition)
        for name, fit, to_space in paper_methods(topics):
            labels, meant = (
                one if to_space is None else to_space.text_rows(one) for one in (words, means)
            )
            yield name, partial(_label_figures, name, fit, labels, true)
            if name in MEANT:
                by_means = f"{name}, mean texts"
                yield by_means, partial(_label_figures, by_means, fit, meant, true, by_angle=True)
        for name, fit, labels in cnn_label_methods(vectors, true, partition, progress):
            yield name, partial(_label_figures, name, fit, labels, true)
        for views in more:
            for name, measure in estimate_methods(views, true, partition):
                yield name, partial(_figures_alone, measure)

    title = _titled(title, as_published)
    report = _report(table, title, LABELS, iapr, partitions, methods)
    report.found["labels"] = len(vocabulary)
    return report


def _as_object(measure: Callable[[], Measured]) -> dict[str, Any]:
    return measure()._asdict()


def _captions(
    name: str, fit: Fit, captions: list[str], known: dict[str, dict[str, Any]] | None = None
) -> Measured:
    both = fit()
    return Measured(both.captions(captions), (known or {}) | both.chosen(name))


def _label_figures(
    name: str, fit: Fit, labels: Rows, true: csr_array, *, by_angle: bool = False
) -> Measured:
    both = fit()
    return Measured(both.labels(labels, true, by_angle=by_angle), both.chosen(name))


def _figures_alone(measure: Callable[[], dict[str, Figures]]) -> Measured:
    return Measured(measure())


def _by_scores(
    seen: Rows, vectors: Rows, true: csr_array, partition: Partition, progress: Progress
) -> Iterator[Measurement]:
    """The methods that score labels one by one: frequencies, neighbours, one-vs-rest SVMs."""
    tested = csr_array(true[partition.test])
    often = np.asarray(true[partition.development].sum(axis=0)).reshape(1, -1)
    frequent = often.repeat(tested.shape[0], axis=0)
    yield "most frequent labels", lambda: Measured(score_figures(frequent, tested))
    near = near_labels(vectors, true, partition, progress).picture_rows(vectors)

    def neighbours(name: str, rows: Rows) -> Measured:
        scores, chosen = knn_scores(rows, true, partition, progress)
        return Measured(score_figures(scores, tested), {name: chosen})

    def machines(rows: Rows) -> Measured:
        decisions = svm_scores(rows, true, partition, _cores(), progress)
        return Measured(score_figures(decisions, tested))

    for where, rows in {"": seen, " (CNN)": vectors, " (CCA of CNN)": near}.items():
        name = f"weighted kNN{where}"
        yield name, partial(neighbours, name, rows)
    for name, rows in (("SVM", seen), ("SVM (CNN, 128)", pca(vectors, partition))):
        yield name, partial(machines, rows)


def _report(
    table: str,
    title: str,
    columns: tuple[str, ...],
    iapr: IaprExperiment,
    partitions: int,
    methods: Callable[[Partition], Iterator[Measurement]],
) -> Report:
    """Run all methods on all partitions, and put the means beside the paper's figures."""
    found: dict[str, list[dict[str, Figures]]] = {}
    chosen: dict[str, dict[str, Any]] = {}
    names = []
    for partition in iapr.partitions(partitions):
        names.append(partition.name)
        for name, measure in methods(partition):
            recipe = f"{table} {title} {name} {partition.test.tolist()} {iapr.seed} {iapr.paths}"
            one = Measured(**kept_figures("bitr", recipe, partial(_as_object, measure)))
            found.setdefault(name, []).append(one.figures)
            chosen |= one.chosen
    ours = {name: mean_figures(figures) for name, figures in found.items()}
    spread = {name: mean_figures(figures, np.std) for name, figures in found.items()}
    theirs = THEIRS[table]
    heading = f"BITR {table}, {title} ({THEIRS['source']}); IAPR TC-12, {_where(names)}"
    return Report(
        compared(heading, theirs, ours, columns),
        {"partitions": names, "published": theirs, "ours": ours, "chosen": chosen}
        | ({"standard_deviation": spread} if len(names) > 1 else {}),
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


def _titled(title: str, as_published: bool) -> str:
    return f"{title}, as published" if as_published else title


def _where(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"mean of {len(names)} parts of ten"


def _cores() -> int:
    return os.cpu_count() or 1
