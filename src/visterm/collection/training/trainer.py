"""Learning from captions: a new model must be as good as the old one, or the old one stays."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from visterm.collection.feedback.guard import to_json
from visterm.collection.feedback.log import entries
from visterm.collection.feedback.offsets import Taught, keep_steps
from visterm.collection.ingest.extractors import block_numbers, current_key, has_counts
from visterm.collection.store import versions
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.feature_rows import findable, vectors_of
from visterm.collection.store.vector_files import save
from visterm.collection.store.versions import (
    CHANCES,
    HELD,
    JUDGED,
    MEAN,
    METRIC,
    MODEL,
    VOCABULARY,
    Version,
)
from visterm.collection.training.index_sync import build, catch_up
from visterm.collection.training.pretrained import starter_of
from visterm.collection.training.training_set import Lesson, gather
from visterm.errors import BadInput, VistermError
from visterm.files import write_whole
from visterm.index import Index
from visterm.progress import Progress, silent

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from visterm.models import Model

STEPS = (0.01, 0.1, 1.0)
"""The C among which PAMIR chooses by the held-out pictures."""
_ITERATIONS = (50_000, 3_000_000)
_PER_PAIR = 100
"""Triplets looked at for each word that some picture holds."""
_UNJUDGED_ROUNDS = 10
_AT_LARGE = 2000
"""Pictures whose values say what is usual for a word."""


@dataclass(frozen=True)
class Trained:
    """What training found; AvgP are fractions over the held-out pictures, None if unmeasured."""

    kept: str
    """"new", or "previous" where the new model was worse."""
    pictures: int
    held_out: int
    words: int
    avgp: float | None
    previous_avgp: float | None
    untrained_avgp: float | None
    version: int
    advice: str | None = None
    """What would suit the model better, or what it does not know."""


def train(
    catalogue: Catalogue,
    *,
    model: str = "pamir",
    force: bool = False,
    progress: Progress = silent,
    **parameters: Any,
) -> Trained:
    """Learn from all captions, and answer queries with what was learnt if it is no worse.

    The caller holds the lock. ``parameters`` are the model's own.
    """
    from visterm.models import model_of

    kind = model_of(model)
    extractor = current_key(catalogue)
    if extractor is None:
        raise VistermError("there are no pictures yet; visterm add finds them")
    starter = starter_of(extractor) if kind.supports_warm_start else None
    catch_up(catalogue)  # so that nothing waits for an index when the new one is named
    lesson = gather(catalogue, extractor, starter)
    if kind.takes == "blocks":
        parameters = {"block_width": block_numbers(catalogue), **parameters}
    judged, learner = _judged(kind, lesson, parameters, progress)
    avgp = None if judged is None else _avgp(judged.transform(_held(lesson)), lesson)
    previous = versions.current(catalogue)
    before = _previous_avgp(previous, lesson, extractor)
    untrained = _untrained_avgp(lesson) if lesson.can_be_judged else None
    facts = (len(lesson), int(lesson.held.sum()), lesson.words, avgp, before, untrained)
    if previous is not None and not force and _worse(avgp, before):
        return Trained("previous", *facts, previous.id, _advice(catalogue, kind, extractor))
    learner.fit(lesson.vectors, lesson.captions, progress=progress, **_started(lesson))
    _stay_near(learner, lesson, lesson.captions)
    version = _write(catalogue, learner, judged, lesson, extractor, avgp)
    build(catalogue, version, learner, progress=progress)
    taught = Taught(catalogue, version, lesson.vocabulary, Index.open(version.index))
    log = entries(catalogue)
    steps = taught.replay(log, judge_again=True)
    taught.tell(taught.directions)
    with catalogue.transaction() as db:
        versions.name(catalogue, version)
        db.execute("DELETE FROM taught")
        taught.write(taught.directions)
        keep_steps(catalogue, log, steps)
        catalogue.set("clicks", None)
    versions.sweep(catalogue)
    return Trained("new", *facts, version.id, _advice(catalogue, kind, extractor))


def _advice(catalogue: Catalogue, kind: type[Model], extractor: str) -> str | None:
    features = catalogue.get("features") or extractor
    if kind.takes == "counts" and not has_counts(catalogue):
        return (
            f"{kind.name} counts visterms, and the pictures are described by {features}; it does "
            "better after: visterm add --features visterm-counts"
        )
    if kind.takes == "blocks" and block_numbers(catalogue) is None:
        return (
            f"{kind.name} looks at a picture block by block, and {features} describes it as a "
            "whole; it does better after: visterm add --features block-counts"
        )
    if not kind.supports_warm_start and starter_of(extractor) is not None:
        return f"{kind.name} knows the words of your captions only; pamir knows the starter's too"
    return None


def _judged(
    kind: type[Model], lesson: Lesson, parameters: dict[str, Any], progress: Progress
) -> tuple[Model | None, Model]:
    """The model without the held-out pictures, and one set up as it chose, to learn from all."""
    known = kind().get_params()
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        raise BadInput(f"{kind.name} has no parameter {unknown[0]!r}; it has {', '.join(known)}")
    chosen = _offered(kind, known, lesson) | parameters
    if not lesson.can_be_judged:
        return None, kind(**chosen)
    learnt = np.flatnonzero(~lesson.held)
    judged = kind(**chosen).fit(
        lesson.vectors[learnt],
        lesson.captions[learnt],
        validation=(_held(lesson), lesson.queries()),
        progress=progress,
        **_started(lesson),
    )
    _stay_near(judged, lesson, lesson.captions[learnt])
    return judged, kind(**(chosen | judged.decided()))


def _offered(kind: type[Model], known: Mapping[str, Any], lesson: Lesson) -> dict[str, Any]:
    """What a model is set up with: settings for held-out pictures to decide, where there are
    enough of them, and as much work as there are captions to learn from."""
    from visterm.models.grids import PRESETS, pairs_of_a_round

    sizes = {
        "max_words": lesson.max_words,
        "epoch_pairs": pairs_of_a_round(lesson.captions.nnz),
    }
    if kind.iteration == "triplets":
        sizes["max_iter"] = int(np.clip(_PER_PAIR * lesson.captions.nnz, *_ITERATIONS))
    choices = PRESETS.get(kind.name, {}) | ({"C": STEPS} if kind.supports_warm_start else {})
    if not lesson.can_be_judged:
        settled = {name: value for name, value in choices.items() if not isinstance(value, tuple)}
        choices = settled | ({"max_iter": _UNJUDGED_ROUNDS} if kind.iteration == "epochs" else {})
    return choices | {name: size for name, size in sizes.items() if name in known}


def _started(lesson: Lesson) -> dict[str, Any]:
    """What `fit` is told about where to start; most models start from zero."""
    return {} if lesson.initial is None else {"initial": lesson.initial}


def _stay_near(model: Model, lesson: Lesson, captions: csr_array) -> None:
    """Where learning began from the starter, few captions of a word change it little."""
    from visterm.starter import stay_near

    if lesson.initial is not None:
        stay_near(model, lesson.initial, captions)


def _write(
    catalogue: Catalogue,
    learner: Model,
    judged: Model | None,
    lesson: Lesson,
    extractor: str,
    avgp: float | None,
) -> Version:
    """Write the files of a version that no catalogue names yet."""
    version = Version(
        versions.next_number(catalogue),
        learner.name,
        extractor,
        len(lesson.vocabulary),
        len(lesson),
        avgp,
        time.time(),
        {},
        catalogue.store,
    )
    version.folder.mkdir(parents=True, exist_ok=True)
    learner.save(version.folder / MODEL)
    if judged is not None:
        judged.save(version.folder / JUDGED)
    words = json.dumps(lesson.vocabulary.to_json(), ensure_ascii=False)
    write_whole(version.folder / VOCABULARY, words.encode())
    if judged is not None:
        held = lesson.held
        write_whole(
            version.folder / HELD, to_json(lesson.pictures[held].tolist(), lesson.captions[held])
        )
    some = _at_large(catalogue, extractor)
    chances = _calibrated(learner.transform(some), judged, lesson, extractor)
    write_whole(version.folder / CHANCES, json.dumps(chances).encode())
    mean = np.asarray(some.mean(axis=0), np.float32).ravel()
    save(version.folder / MEAN, mean)
    if isinstance(some, np.ndarray):  # sparse vectors are compared as they are
        from visterm.models.feedback import Metric

        save(version.folder / METRIC, Metric.of(some).rows)
    return replace(version, files=versions.hashes(version.folder))


def _at_large(catalogue: Catalogue, extractor: str) -> Any:
    """The vectors of some pictures, captioned or not."""
    everybody = findable(catalogue, extractor)
    count = min(len(everybody), _AT_LARGE)
    some = np.random.default_rng(0).choice(everybody, count, replace=False)
    return vectors_of(catalogue, extractor, np.sort(some).tolist())


def _calibrated(
    rows: NDArray[np.float32], judged: Model | None, lesson: Lesson, extractor: str
) -> dict[str, Any]:
    """What is usual for the values of each word, and, learnt where nobody learnt, their worth."""
    from visterm.calibration import calibrate, word_statistics

    means, deviations = word_statistics(rows)
    starter = None if lesson.initial is None else starter_of(extractor)
    found = elsewhere = None
    if starter is not None:
        # Of words that nobody taught here, only the starter knows what is usual: in a collection
        # that never shows an insect, the picture most like one is no insect.
        taught = np.bincount(lesson.captions.indices, minlength=len(lesson.vocabulary)) > 0
        elsewhere = starter.calibration(lesson.vocabulary)
        means = np.where(taught, means, elsewhere.means)
        deviations = np.where(taught, deviations, elsewhere.deviations)
        found = elsewhere = elsewhere.with_statistics(means, deviations)
    if judged is not None:
        found = calibrate(judged.transform(_held(lesson)), lesson.queries(), lesson.frequency)
        found = found.with_statistics(means, deviations)
        if elsewhere is not None:
            found = found.with_fallback(taught, elsewhere)
    if found is None:
        return {"means": means.tolist(), "spreads": deviations.tolist()}
    return found.to_json()


def _held(lesson: Lesson) -> Any:
    return lesson.vectors[np.flatnonzero(lesson.held)]


def _avgp(rows: NDArray[np.float32], lesson: Lesson) -> float:
    from visterm.evaluation import mean_average_precision

    relevance = lesson.queries()
    return float(mean_average_precision(relevance.queries @ rows.T, relevance.pictures))


def _untrained_avgp(lesson: Lesson) -> float:
    """What ranking by chance would give."""
    random = np.random.default_rng(0)
    shape = (int(lesson.held.sum()), len(lesson.vocabulary))
    return _avgp(random.standard_normal(shape, dtype=np.float32), lesson)


def _previous_avgp(previous: Version | None, lesson: Lesson, extractor: str) -> float | None:
    """How the previous model, which never saw the held-out pictures either, ranks them now.

    Words it does not know score nothing. None where its vectors were other ones.
    """
    if previous is None or not lesson.can_be_judged:
        return None
    judged = JUDGED if previous.learnt else MODEL  # the starter saw nobody's pictures
    if previous.extractor != extractor or judged not in previous.files:
        return None
    from visterm.models import load_model

    known = previous.vocabulary()
    mapped = load_model(previous.folder / judged).transform(_held(lesson))
    rows = np.zeros((len(mapped), len(lesson.vocabulary)), np.float32)
    for number, word in enumerate(lesson.vocabulary.words):
        old = known.number(word)
        if old is not None and old < mapped.shape[1]:
            rows[:, number] = mapped[:, old]
    return _avgp(rows, lesson)


def _worse(new: float | None, old: float | None) -> bool:
    if new is None or old is None or math.isnan(old):
        return False
    return new < old
