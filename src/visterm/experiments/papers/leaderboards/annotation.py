"""Automatic annotation at five words on Corel5K and IAPR TC-12, beside published figures.

Every picture is given the five labels with the best ``score − λ log(1 + frequency)``: means over
labels count rare ones as much as frequent ones. Validation pictures choose each way's settings and
λ, and the weight of two ways together; then all development pictures are learnt from, and the test
pictures are annotated once.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.datasets import CaptionedDataset, data_folder, read_corel5k, read_iaprtc12
from visterm.evaluation import Table
from visterm.evaluation.labels import LabelAnnotation
from visterm.evaluation.labels import annotation as annotate
from visterm.experiments.papers.leaderboards.label_scores import WAYS, Annotators, Rows, choices
from visterm.experiments.papers.published import published
from visterm.experiments.runner.protocol import Source, protocol_of
from visterm.experiments.runner.reports import Report
from visterm.experiments.runner.vector_cache import view_vectors
from visterm.features import CNN
from visterm.progress import Progress, silent
from visterm.text import Vocabulary

READERS = {"corel5k": read_corel5k, "iaprtc12": read_iaprtc12}
FUSED = "balanced neighbours + kernel ridge"
_FAVOURS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
_WEIGHTS = (0.2, 0.4, 0.6, 0.8)
VIEWS = (CNN(size=288), CNN(network="lite1", size=320), CNN(network="lite2", size=352))
"""What each of three networks sees of a picture, side by side."""
_COLUMNS = ["P", "R", "F1", "N+"]


class Labelled(NamedTuple):
    """Vectors and labels of the training, validation and test pictures."""

    pictures: tuple[Rows, Rows, Rows]
    labels: tuple[Rows, Rows, Rows]


class Chosen(NamedTuple):
    """The best on validation pictures: its F1, λ, and settings (of fused ways, a weight)."""

    f1: float
    favour: float
    settings: dict[str, Any]


def annotation(data: Source, seed: int = 0, progress: Progress = silent) -> Report:
    """P, R, F1 and N+ of each way, on both data sets or on the one that is given."""
    rows: dict[str, list[float | int | str | None]] = {}
    found: dict[str, Any] = {}
    theirs = published("leaderboards")["annotation"]
    for name, dataset in _datasets(data).items():
        given = _labelled(dataset, seed, progress)
        ours, chosen = _annotated(given, seed, progress)
        rows |= {
            f"{name}: {who}, published": [None, None, f1, n_plus]
            for who, (f1, n_plus) in theirs.get(name, {}).items()
        }
        rows |= {
            f"{name}: {way}": [one.precision, one.recall, one.f1, one.n_plus]
            for way, one in ours.items()
        }
        best = max(chosen, key=lambda way: chosen[way].f1)
        found[name] = _figures(ours[best]) | {
            "chosen": best,
            "ways": {way: _figures(one) for way, one in ours.items()},
            "validation": {way: one._asdict() for way, one in chosen.items()},
        }
    return Report(
        Table("Annotation at five words", _COLUMNS, rows),
        {"annotation": found, "published": theirs},
    )


def _datasets(data: Source) -> dict[str, CaptionedDataset]:
    if isinstance(data, CaptionedDataset):
        return {data.name: data}
    alone = data is not None and data.name in READERS
    names = [data.name] if data is not None and alone else list(READERS)
    return {name: READERS[name](data_folder(name, data).resolve()) for name in names}


def _labelled(dataset: CaptionedDataset, seed: int, progress: Progress) -> Labelled:
    protocol = protocol_of(dataset, seed=seed)
    development, test = protocol.development, protocol.test
    paths, n_jobs = development.paths + test.paths, os.cpu_count() or 1
    views = [view_vectors(paths, view, n_jobs, progress) for view in VIEWS]
    vectors = np.hstack(views) / np.float32(np.sqrt(len(views)))
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
    often = known.sum(axis=0)
    chosen, scores = {}, {}
    for number, way in enumerate(WAYS):
        progress("choosing ways", number, len(WAYS))
        tried = {i: model.scores(way, held, one) for i, one in enumerate(choices(way))}
        best = {i: _favoured(one, often, true) for i, one in tried.items()}
        first = max(best, key=lambda i: best[i][0])
        chosen[way] = Chosen(*best[first], choices(way)[first])
        scores[way] = tried[first]
    fused = {w: _favoured(_fused(scores, w), often, true) for w in _WEIGHTS}
    weight = max(fused, key=lambda w: fused[w][0])
    chosen[FUSED] = Chosen(*fused[weight], {"weight": weight})
    progress("choosing ways", len(WAYS), len(WAYS))
    every = Annotators(np.vstack([train, held]), np.vstack([known, true]), seed)
    tested = {way: every.scores(way, test, chosen[way].settings) for way in WAYS}
    tested[FUSED] = _fused(tested, weight)
    offset = np.log1p(every.labels.sum(axis=0))
    found = {
        way: annotate(tested[way] - one.favour * offset, csr_array(answers))
        for way, one in chosen.items()
    }
    return found, chosen


def _favoured(scores: Rows, often: NDArray[np.float32], true: Rows) -> tuple[float, float]:
    """The best F1, and the λ that gives it."""
    labels, offset = csr_array(true), np.log1p(often)
    reached = [annotate(scores - favour * offset, labels).f1 for favour in _FAVOURS]
    return max(reached), _FAVOURS[int(np.argmax(reached))]


def _fused(scores: dict[str, Rows], weight: float) -> Rows:
    near, ridge = scores["balanced neighbours"], scores["kernel ridge"]
    return weight * near + (1 - weight) * ridge


def _figures(one: LabelAnnotation) -> dict[str, float]:
    percent = {name: round(100 * getattr(one, name), 2) for name in ("precision", "recall", "f1")}
    return percent | {"n_plus": one.n_plus, "labels": one.labels}
