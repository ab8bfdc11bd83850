"""Automatic annotation at five words on Corel5K and IAPR TC-12, beside published figures.

Every picture is given the five labels that raise F1 most, by what training pictures tell of them
(`label_scores`). Validation pictures choose each way's settings, and the weight of two ways
together; then all development pictures are learnt from, and the test pictures are annotated once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from papers.leaderboards.label_scores import (
    WAYS,
    Annotators,
    Estimates,
    Rows,
    choices,
    fused,
    learn_choice,
)
from papers.pairs import VIEWS, cnn_vectors, seen_by
from visterm.datasets import CaptionedDataset
from visterm.evaluation import Table
from visterm.evaluation.labels import LabelAnnotation
from visterm.evaluation.labels import annotation as annotate
from visterm.experiments.protocol import Source, protocol_of
from visterm.experiments.tables import Entry, Report, read_named
from visterm.progress import Progress, silent
from visterm.text import Vocabulary

FUSED = "balanced neighbours + kernel ridge"
_WEIGHTS = (0.3, 0.5, 0.7)
_COLUMNS = ["P", "R", "F1", "N+"]


class Labelled(NamedTuple):
    """Vectors and labels of the training, validation and test pictures."""

    pictures: tuple[Rows, Rows, Rows]
    labels: tuple[Rows, Rows, Rows]


class Chosen(NamedTuple):
    """The best on validation pictures: its F1, and settings (of fused ways, a weight)."""

    f1: float
    settings: dict[str, Any]


def annotation(
    entry: Entry,
    data: Source = None,
    seed: int = 0,
    progress: Progress = silent,
    features: str | None = None,
) -> Report:
    """P, R, F1 and N+ of each way, on both data sets or on the one that is given.

    Bold is what validation pictures chose, where nobody published has as much.
    """
    rows: dict[str, list[float | int | str | None]] = {}
    found: dict[str, Any] = {}
    bold: list[tuple[str, str]] = []
    for name, dataset in _datasets(data).items():
        given = _labelled(dataset, seed, progress, features)
        ours, chosen = _annotated(given, seed, progress)
        theirs = entry.published.get(name, {})
        rows |= {
            f"{name}: {who}, published": [one.get(column) for column in _COLUMNS]
            for who, one in theirs.items()
        }
        rows |= {
            f"{name}: {way}": [one.precision, one.recall, one.f1, one.n_plus]
            for way, one in ours.items()
        }
        best = max(chosen, key=lambda way: chosen[way].f1)
        for column, value in (("F1", ours[best].f1), ("N+", ours[best].n_plus)):
            if theirs and value > max(one.get(column, 0) for one in theirs.values()):
                bold.append((f"{name}: {best}", column))
        found[name] = _figures(ours[best]) | {
            "chosen": best,
            "ways": {way: _figures(one) for way, one in ours.items()},
            "validation": {way: one._asdict() for way, one in chosen.items()},
        }
    table = Table(entry.table["title"], _COLUMNS, rows, bold=bold)
    return Report(table, {"annotation": found, "published": entry.published})


def _datasets(data: Source) -> dict[str, CaptionedDataset]:
    if isinstance(data, CaptionedDataset):
        return {data.name: data}
    names = ("corel5k", "iaprtc12")
    wanted = [data.name] if data is not None and data.name in names else names
    return {name: read_named(name, data) for name in wanted}


def _labelled(
    dataset: CaptionedDataset, seed: int, progress: Progress, features: str | None = None
) -> Labelled:
    protocol = protocol_of(dataset, seed=seed)
    development, test = protocol.development, protocol.test
    vectors = cnn_vectors(development.paths + test.paths, seen_by(features, VIEWS), progress)
    words = development.words + test.words
    known = Vocabulary.from_captions(words, language=None).counts(words) > 0
    labels = csr_array(known).toarray().astype(np.float32)
    train, held = protocol.split
    parts = train, held, np.arange(len(development), len(vectors))
    pictures, given = ([rows[part] for part in parts] for rows in (vectors, labels))
    return Labelled((pictures[0], pictures[1], pictures[2]), (given[0], given[1], given[2]))


def _annotated(
    given: Labelled, seed: int, progress: Progress
) -> tuple[dict[str, LabelAnnotation], dict[str, Chosen]]:
    """Choose each way on the validation pictures, learn from them too, annotate the test ones."""
    (train, held, test), (known, true, answers) = given
    model = Annotators(train, known, seed)
    chosen: dict[str, Chosen] = {}
    scores: dict[str, Estimates] = {}
    for number, way in enumerate(WAYS):
        progress("choosing ways", number, len(WAYS))
        for settings in choices(way):
            tried = model.scores(way, held, settings)
            reached = _given(tried, known, true).f1
            if way not in chosen or reached > chosen[way].f1:
                chosen[way], scores[way] = Chosen(reached, settings), tried
    together = {w: _given(_fused(scores, w), known, true).f1 for w in _WEIGHTS}
    weight = max(together, key=lambda w: together[w])
    chosen[FUSED] = Chosen(together[weight], {"weight": weight})
    progress("choosing ways", len(WAYS), len(WAYS))
    every = Annotators(np.vstack([train, held]), np.vstack([known, true]), seed)
    tested = {way: every.scores(way, test, chosen[way].settings) for way in WAYS}
    tested[FUSED] = _fused(tested, weight)
    return {way: _given(one, every.labels, answers) for way, one in tested.items()}, chosen


def _given(scores: Estimates, known: Rows, true: Rows) -> LabelAnnotation:
    """What five labels are worth, chosen by what training pictures tell."""
    choice = learn_choice(scores.left_out, known, words=5, among=len(true))
    return annotate(choice.values(scores.asked), csr_array(true), words=5)


def _fused(scores: dict[str, Estimates], weight: float) -> Estimates:
    ways = scores["balanced neighbours"], scores["kernel ridge"]
    return fused(list(ways), (weight, 1 - weight))


def _figures(one: LabelAnnotation) -> dict[str, float]:
    percent = {name: round(100 * getattr(one, name), 2) for name in ("precision", "recall", "f1")}
    return percent | {"n_plus": one.n_plus, "labels": one.labels}
