"""Tables of methods that rank texts for pictures and pictures for texts, made of their entries.

A method names the spaces of its pictures and texts and its model, which learns each direction by
itself where the direction matters: Im2Text ranks texts for a picture, Text2Im pictures for a text.
A method of labels may also score them one by one (``scores``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from papers.leaderboards.label_scores import Annotators, fused, learn_choice
from papers.pairs import (
    LabelSets,
    Pairs,
    Partition,
    Rows,
    Spaces,
    network_key,
    pair_model,
    phrase_documents,
)
from visterm.estimator import clone
from visterm.evaluation import Table
from visterm.evaluation.caption_ranks import equal_captions
from visterm.evaluation.caption_similarity import CaptionSimilarity
from visterm.evaluation.labels import LabelRanking, labels_both_ways, ranked
from visterm.experiments.cache import remembered
from visterm.experiments.comparison import make_model
from visterm.experiments.protocol import Source
from visterm.experiments.runs import ranks_in_blocks, settled
from visterm.experiments.tables import Entry, Report
from visterm.models.pairs import PairModel
from visterm.progress import Progress, silent
from visterm.text.spaces.space import unit

Figures = dict[str, float]
Method = Mapping[str, Any]
BothWays = dict[str, Figures]
"""Figures of picture → text and of text → picture."""
WAYS = {"to text": "→ text", "to picture": "→ picture"}
FOUND = 5  # captions compared with the true one, as in the paper
_AT = (1, 10, 50)
_WEIGHTS = (0.1, 0.2, 0.4, 0.8, 1.5, 3.0)  # of scores beside how often labels are given
_FOLDS = 5
CAPTIONS = (
    "BLEU-1", "BLEU-1 corpus", "ROUGE-1", "R@10", "R@50", "median rank", "R@50 =", "median rank ="
)  # fmt: skip
ACROSS = ("BLEU-1", "ROUGE-1", "R@1", "R@10", "R@50", "median rank")
LABELS = {
    "to text": ("P@5", "mAP", "P@5 with prior", "mAP with prior"),
    "to picture": ("P@5", "mAP"),
}
_PUBLISHED = {"captions": ("BLEU-1", "ROUGE-1", "R@50", "median rank"), "labels": ("P@5", "mAP")}


class Both(NamedTuple):
    """Models of both directions over the same pairs: those that learnt from training pairs alone,
    by which more is chosen, and those that learnt from all development pairs."""

    pictures: Rows
    texts: Any
    choosers: tuple[PairModel, PairModel]
    models: tuple[PairModel, PairModel]

    def rows(self, way: str) -> tuple[Rows, Rows]:
        """All pictures and texts in the space of the model that ranks this way."""
        model = self.models[list(WAYS).index(way)]
        return model.picture_rows(self.pictures), model.text_rows(self.texts)

    def chosen(self, method: str) -> dict[str, dict[str, Any]]:
        """What validation pairs decided for a method, each way."""
        left_out = ("n_features_in_", "n_texts_in_", "sums_")
        return {
            f"{method}, {way}": model.decided()
            | {n.rstrip("_"): getattr(model, n) for n in model.facts if n not in left_out}
            for way, model in zip(WAYS, self.models, strict=True)
        }


def fit_both(spaces: Spaces, method: Method) -> Both:
    """Fit a method's models; where the direction changes nothing, one is both."""
    if "space" in method:  # the space's own model, which learnt from training pairs
        given, model = spaces.defined[method["space"]], spaces.fitted(method["space"])
        pair = model, model
        return Both(spaces.pictures(given["pictures"]), spaces.texts(given["texts"]), pair, pair)
    pictures, texts = spaces.pictures(method["pictures"]), spaces.texts(method["texts"])
    if method.get("learn") == "development":  # settings were chosen beforehand
        only = pair_model(method["model"], random_state=method.get("seed", 0))
        learnt = spaces.partition.development
        only.fit(pictures[learnt], texts[learnt], progress=spaces.progress)
        return Both(pictures, texts, (only, only), (only, only))
    ways = []
    for ranks in ("texts", "pictures"):
        model = pair_model(method["model"], ranks=ranks)
        if ranks == "pictures" and "ranks" not in model.get_params():
            break
        ways.append(_fit(model, pictures, texts, spaces, bool(method.get("folds"))))
    first, last = ways[0], ways[-1]
    return Both(pictures, texts, (first[0], last[0]), (first[1], last[1]))


def _fit(
    model: PairModel, pictures: Rows, texts: Any, spaces: Spaces, folds: bool
) -> tuple[PairModel, PairModel]:
    """A model that learnt from training pairs, and one from all development pairs as it chose."""
    partition, progress = spaces.partition, spaces.progress
    if folds:
        model = _by_folds(model, pictures, texts, spaces)
    train, held, every = (
        (pictures[numbers], texts[numbers])
        for numbers in (
            partition.train,
            partition.validation,
            np.concatenate([partition.train, partition.validation]),
        )
    )
    chooser = model.set_params(retrain=False)
    chooser.fit(*train, validation=held, progress=progress)
    final = settled(chooser)
    final.fit(*every, progress=progress)
    final.validation_ = chooser.validation_
    return chooser, final  # type: ignore[return-value]


def _by_folds(model: PairModel, pictures: Rows, texts: Any, spaces: Spaces) -> PairModel:
    """The model with the value that five folds of the development pairs like best."""
    (parameter, values), *_ = [
        (name, value) for name, value in model.get_params().items() if isinstance(value, tuple)
    ]
    every = np.random.default_rng(0).permutation(spaces.partition.development)
    quality: dict[float, float] = {}
    for value in values:
        reached = []
        for held in np.array_split(every, _FOLDS):
            rest, held = np.setdiff1d(every, held), np.sort(held)
            copy = clone(model).set_params(**{parameter: value}, retrain=False)
            fold = pictures[held], texts[held]
            copy.fit(pictures[rest], texts[rest], validation=fold, progress=spaces.progress)
            reached.append(copy.validation_)
        quality[value] = float(np.mean(reached))
    best = max(quality, key=quality.__getitem__)
    made: PairModel = clone(model).set_params(**{parameter: best})
    return made


def caption_figures(
    both: Both, pairs: Pairs, tested: NDArray[np.int64], pool: NDArray[np.int64]
) -> BothWays:
    """BLEU and ROUGE of captions found in a pool, and ranks among the tested ones.

    A picture stands in as many pairs as it has captions; it is ranked once, by its first, and the
    best placed of its captions counts.
    """
    captions = [pairs.captions[i] for i in tested]
    similarity = CaptionSimilarity([pairs.captions[i] for i in pool], captions)
    _, first, whose = np.unique(pairs.owners[tested], return_index=True, return_inverse=True)
    own = csr_array((np.ones(len(tested), np.float32), (np.arange(len(tested)), whose)))
    true = {"": own}
    if len(first) == len(tested):  # a caption worded like the true one may count, too
        true[" ="] = csr_array(equal_captions(captions))
    figures = {}
    for way in WAYS:
        pictures, texts = both.rows(way)
        asked, answers = pictures[tested[first]], texts[tested]
        if way == "to text":
            found = nearest(asked, texts[pool], FOUND)[whose]
        else:
            asked, answers = answers, asked
            found = nearest(asked, pictures[pool], FOUND)
        figures[way] = similarity_figures(similarity, found, way)
        for mark, known in true.items():
            right = csr_array(known.T) if way == "to text" else known
            ranks = ranks_in_blocks(lambda part, a=asked, b=answers: a[part] @ b.T, right)  # type: ignore[misc]
            figures[way] |= {f"R@{k}{mark}": float(np.mean(ranks <= k)) for k in _AT}
            figures[way][f"median rank{mark}"] = float(np.median(ranks))
    return figures


def similarity_figures(
    similarity: CaptionSimilarity, found: NDArray[np.int64], way: str
) -> Figures:
    """BLEU and ROUGE of the captions found for each true one, the other way round → pictures."""
    back = way == "to picture"
    together = similarity.corpus_bleu(
        found.ravel(), np.repeat(np.arange(len(found)), found.shape[1]), true_is_candidate=back
    )
    alike = similarity.of_best(found, "to pictures" if back else "to text")
    return dict(alike) | {"BLEU-1 corpus": together}


def nearest(asked: Rows, answers: Rows, count: int) -> NDArray[np.int64]:
    """Numbers of the best answers of each query, the best first; lower numbers among equals.

    >>> nearest(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32), 1).tolist()
    [[0], [1]]
    """
    parts = []
    for at in range(0, len(asked), 512):
        scores = asked[at : at + 512] @ answers.T
        parts.append(np.argsort(-scores, axis=1, kind="stable")[:, :count])
    return np.concatenate(parts)


class LabelScores(NamedTuple):
    """Tested pictures × labels: plain F and with the prior of labels; labels × pictures."""

    plain: Rows
    with_prior: Rows
    to_pictures: Rows


def label_scores(
    both: Both, vectors: Rows, true: csr_array, partition: Partition, *, by_angle: bool = False
) -> LabelScores:
    """Scores of labels, given as vectors of the text space, for the tested pictures.

    Vectors of labels say what a label is like, not how often it is given. So beside plain F labels
    are ranked by ``log P(label) + β·F``, β chosen on the validation pictures by a model, and a
    prior, that have not learnt from them. Pictures are ranked for a label by F of the model that
    ranks pictures; ``by_angle`` by rows of unit length, so that long ones do not come first for
    every label.
    """
    p = partition
    chooser = _f(both.choosers[0], both.pictures[p.validation], vectors)
    known = log_prior(true[p.train])
    weights = [one / max(float(chooser.std()), 1e-12) for one in _WEIGHTS]
    reached = [
        ranked(known + weight * chooser, true[p.validation]).mean_average_precision
        for weight in weights
    ]
    weight = weights[int(np.argmax(reached))]
    plain = _f(both.models[0], both.pictures[p.test], vectors)
    together = np.asarray(log_prior(true[p.development]) + weight * plain, np.float32)
    back = _f(both.models[1], both.pictures[p.test], vectors, by_angle)
    return LabelScores(plain, together, back.T)


def _f(model: PairModel, pictures: Rows, vectors: Rows, by_angle: bool = False) -> Rows:
    rows = model.picture_rows(pictures)
    return (unit(rows) if by_angle else rows) @ model.text_rows(vectors).T


def log_prior(true: csr_array) -> NDArray[np.float64]:
    """How often labels are given, as logarithms of probabilities."""
    given = np.asarray(true.sum(axis=0)).reshape(-1)
    return np.asarray(np.log((given + 0.5) / (true.shape[0] + 1)))


def label_figures(scores: LabelScores, true: csr_array) -> BothWays:
    """P@5 and mAP of labels for the tested pictures, plain and with the prior, and back."""
    plain, together = (_measures(ranked(one, true)) for one in scores[:2])
    back = _measures(ranked(scores.to_pictures, csr_array(true.T)))
    with_prior = {f"{name} with prior": value for name, value in together.items()}
    return {"to text": plain | with_prior, "to picture": back}


def _measures(one: LabelRanking) -> Figures:
    return {"P@5": one.precision, "mAP": one.mean_average_precision}


def score_figures(scores: NDArray[np.floating], true: csr_array) -> BothWays:
    """P@5 and mAP both ways of one table of scores, pictures × labels; the prior is in them."""
    both = labels_both_ways(scores, true)
    return {"to text": _measures(both.to_labels), "to picture": _measures(both.to_pictures)}


def scored(spaces: Spaces, true: csr_array, method: Method) -> tuple[Rows, dict[str, Any]]:
    """Scores of every label for the tested pictures, and what was chosen."""
    p, how = spaces.partition, method["scores"]
    if how == "prior":
        return np.tile(log_prior(true[p.development]), (len(p.test), 1)), {}
    pictures = spaces.pictures(method["pictures"])
    if isinstance(how, list):
        learnt = p.development
        model = Annotators(pictures[learnt], true[learnt].toarray())
        parts = [model.scores(one["way"], pictures[p.test], one["settings"]) for one in how]
        found = fused(parts, (1 / len(how),) * len(how))
        return learn_choice(found.left_out, model.labels).probabilities(found.asked), {}
    learner = make_model(how, max_words=1, presets=False)
    if learner.name != "concept-svm":
        held = pictures[p.validation], true[p.validation]
        learner.fit(pictures[p.train], true[p.train], validation=held, progress=spaces.progress)
        chosen = learner.decided() | {"validation": learner.validation_}
        return learner.transform(pictures[p.test]), chosen
    # One SVM a label: decision values, not standardised, so that rare labels stay rare.
    learner.set_params(n_jobs=os.cpu_count() or 1)
    learner.fit(pictures[p.development], true[p.development], progress=spaces.progress)
    return learner.transform(pictures[p.test]) * learner.deviation_ + learner.mean_, {}


def label_method(spaces: Spaces, labels: LabelSets, name: str, method: Method) -> dict[str, Any]:
    """A method's figures both ways on a partition, and what validation pictures chose for it."""
    true, tested = labels.true, csr_array(labels.true[spaces.partition.test])
    if "scores" in method:
        scores, chosen = scored(spaces, true, method)
        return {"figures": score_figures(scores, tested), "chosen": {name: chosen}}
    both = fit_both(spaces, method)
    texts = spaces.defined[method["space"]]["texts"] if "space" in method else method["texts"]
    meant = method.get("labels") == "means"
    vectors = spaces.label_vectors(texts, means=meant)
    found = label_scores(both, vectors, true, spaces.partition, by_angle=meant)
    return {"figures": label_figures(found, tested), "chosen": both.chosen(name)}


def caption_method(spaces: Spaces, name: str, method: Method) -> dict[str, Any]:
    """The same of captions."""
    p = spaces.partition
    both = fit_both(spaces, method)
    figures = caption_figures(both, spaces.pairs, p.test, p.development)
    known = {"text topics": {"held-out perplexity": spaces.topics.perplexity_}}
    return {
        "figures": figures,
        "chosen": both.chosen(name) | (known if method.get("texts") == "topics" else {}),
    }


def methods_of(entry: Entry, as_published: bool = False) -> dict[str, Method]:
    """The methods of an entry, which names groups of them, by their names."""
    groups = entry.table["as_published" if as_published else "methods"]
    return {name: one for group in groups for name, one in entry.paper["methods"][group].items()}


@dataclass(frozen=True, eq=False)
class Measurement:
    """An entry's methods on partitions of a data set; figures that are kept are not made again."""

    entry: Entry
    pairs: Pairs
    as_published: bool = False
    progress: Progress = silent
    features: str | None = None

    def on(
        self,
        partition: Partition,
        measure: Callable[[Spaces, str, Method], dict[str, Any]],
        labels: LabelSets | None = None,
        only: Sequence[str] | None = None,
    ) -> dict[str, dict[str, Any]]:
        """By method, what ``measure`` gives: figures and what was chosen."""
        defined = self.entry.paper.get("spaces", {})
        spaces = Spaces(self.pairs, partition, defined, labels, self.progress, self.features)
        numbers = [part.tolist() for part in (partition.train, partition.test)]
        found = {}
        for name, method in methods_of(self.entry, self.as_published).items():
            if only is None or name in only:
                about: tuple[object, ...] = method, defined, numbers, self.pairs.digest
                make = partial(measure, spaces, name, method)
                documents = None if labels is None else labels.documents
                about += (measure.__qualname__, documents, *network_key(self.features))
                found[name] = remembered("pairs", make, *about)
        return found


def pair_table(
    entry: Entry,
    data: Source = None,
    seed: int = 0,
    progress: Progress = silent,
    partitions: int = 1,
    as_published: bool = False,
    features: str | None = None,
) -> Report:
    """All methods of an entry on all partitions, their means beside the paper's figures."""
    pairs = Pairs.of(entry.dataset(data), seed)
    kind = entry.table["texts"]
    labels = None
    if kind != "captions":
        phrases = kind == "phrases"
        documents = phrase_documents(pairs.captions, progress) if phrases else pairs.labels
        labels = LabelSets(documents)
    measuring = Measurement(entry, pairs, as_published, progress, features)
    found: dict[str, list[BothWays]] = {}
    chosen: dict[str, Any] = {}
    names = []
    for partition in pairs.partitions(partitions):
        names.append(partition.name)
        only = entry.table.get("only")
        measure = caption_method if labels is None else _of(labels)
        for name, one in measuring.on(partition, measure, labels, only).items():
            found.setdefault(name, []).append(one["figures"])
            chosen |= one["chosen"]
    ours = {name: mean_figures(figures) for name, figures in found.items()}
    where = names[0] if len(names) == 1 else f"mean of {len(names)} parts of ten"
    heading = entry.titled(f"{', as published' if as_published else ''}; {where}")
    columns = dict.fromkeys(WAYS, CAPTIONS) if labels is None else LABELS
    if "columns" in entry.table:
        columns = {"to text": tuple(entry.table["columns"])}
    facts: dict[str, Any] = {"partitions": names, "published": entry.published, "ours": ours}
    if len(names) > 1:
        facts["standard_deviation"] = {m: mean_figures(f, np.std) for m, f in found.items()}
    if labels is not None:
        facts["labels"] = len(labels.words)
    table = compared(heading, entry, ours, columns, "captions" if labels is None else "labels")
    return Report(table, facts | {"chosen": chosen})


def _of(labels: LabelSets) -> Callable[[Spaces, str, Method], dict[str, Any]]:
    def label_measure(spaces: Spaces, name: str, method: Method) -> dict[str, Any]:
        return label_method(spaces, labels, name, method)

    return label_measure


def mean_figures(found: Sequence[BothWays], mean: Callable[..., Any] = np.mean) -> BothWays:
    """The mean over partitions of every figure, or what else tells of several.

    >>> mean_figures([{"to text": {"R@50": 0.1}}, {"to text": {"R@50": 0.3}}])
    {'to text': {'R@50': 0.2}}
    """
    return {
        way: {name: float(mean([one[way][name] for one in found])) for name in figures}
        for way, figures in found[0].items()
    }


def compared(
    heading: str,
    entry: Entry,
    ours: Mapping[str, BothWays],
    columns: Mapping[str, Sequence[str]],
    kind: str,
) -> Table:
    """The paper's figures of each method over ours, both ways; then methods it does not have."""
    names = entry.table.get("columns") or _PUBLISHED[kind]
    rows: dict[str, list[float | int | str | None]] = {}
    theirs = entry.published
    for name in [*theirs, *(name for name in ours if name not in theirs)]:
        if name in theirs:
            sides = theirs[name] if isinstance(theirs[name][0], list) else [theirs[name]]
            known = [dict(zip(names, side, strict=True)) for side in sides]
            rows[f"{name}, published"] = [
                side.get(column)
                for side, wanted in zip(known, columns.values(), strict=True)
                for column in wanted
            ]
        if name in ours:
            rows[f"{name}, ours" if name in theirs else name] = [
                ours[name][way].get(c) for way, wanted in columns.items() for c in wanted
            ]
    shown = [f"{column} {WAYS[way]}" for way, wanted in columns.items() for column in wanted]
    ranks = [column for column in shown if column.startswith("median rank")]
    return Table(heading, shown, rows, plain=ranks)
