"""Training on captions: a new model must rank held-out pictures as well as the old one."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from visterm.collection.feedback.guard import to_json
from visterm.collection.feedback.offsets import FeedbackOffsets, keep_steps
from visterm.collection.ingest.extractors import block_numbers, described_by
from visterm.collection.store import versions
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.events import entries
from visterm.collection.store.versions import HELD, JUDGED, MODEL, Version
from visterm.collection.store.word_model import open_word_model
from visterm.collection.training.links import calibrated
from visterm.collection.training.pretrained import starter_of
from visterm.collection.training.training_set import TrainingSet, read_training_set
from visterm.collection.training.version_files import (
    at_large,
    write_reference,
    write_version,
    write_vocabulary,
)
from visterm.compute import cluster
from visterm.errors import BadInput
from visterm.files import write_whole
from visterm.progress import Progress, silent
from visterm.starter import load_starter

if TYPE_CHECKING:
    from visterm.models import Model

STEPS = (0.01, 0.1, 1.0)
"""The C among which PAMIR chooses by the held-out pictures."""
_ITERATIONS = (50_000, 3_000_000)
_PER_PAIR = 100
"""Triplets looked at for each word that some picture holds."""
_CHECKPOINT = "training.checkpoint"
_EXPONENT = 0.5
"""Of how many pictures answer a query: people mostly ask for single words, which many answer."""
_UNJUDGED_ROUNDS = 10
_OF_A_SHARD = 50_000
"""Captioned pictures of which a cluster makes a shard of its own."""


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
    interrupted: bool = False
    """Whether a keyboard interrupt ended it, with the best model until then."""


def train(
    catalogue: Catalogue,
    *,
    model: str | None = None,
    force: bool = False,
    validation: Collection[int] | None = None,
    progress: Progress = silent,
    extractor: str | None = None,
    also: Callable[[], None] = lambda: None,
    **parameters: Any,
) -> Trained:
    """Learn from all captions, and answer queries with what was learnt if it is no worse.

    The caller holds the lock. ``model`` is ridge regression by default, or PAMIR for vectors that
    are sparse. ``validation`` are the pictures to hold out, a tenth of all by default;
    ``extractor`` is the key of the vectors to learn from, if not the collection's, and ``also`` is
    called in the transaction that lets the new model answer; ``parameters`` are the model's own.
    """
    from visterm.models import model_of

    kind = model_of(model or "ridge")
    extractor = extractor or described_by(catalogue)
    starter = starter_of(catalogue, extractor) if kind.supports_warm_start else None
    training_set = read_training_set(catalogue, extractor, starter, validation)
    if model is None and not isinstance(training_set.vectors, np.ndarray):
        kind = model_of("pamir")
    if kind.takes == "blocks":
        parameters = {"block_width": block_numbers(catalogue), **parameters}
    checkpoint = catalogue.store / _CHECKPOINT
    judged, learner = _judged(kind, training_set, parameters, checkpoint, extractor, progress)
    avgp = None if judged is None else _avgp(judged.transform(_held(training_set)), training_set)
    previous = versions.current(catalogue)
    before = _previous_avgp(previous, training_set, extractor)
    untrained = _untrained_avgp(training_set) if training_set.can_be_judged else None
    trained = Trained(
        kept="previous",
        pictures=len(training_set),
        held_out=int(training_set.held.sum()),
        words=training_set.words,
        avgp=avgp,
        previous_avgp=before,
        untrained_avgp=untrained,
        version=0 if previous is None else previous.id,
        interrupted=judged is not None and judged.interrupted,
    )
    if previous is not None and not force and _worse(avgp, before):
        checkpoint.unlink(missing_ok=True)
        return trained
    if judged is not None and judged.interrupted:
        learner = judged  # who stops training wants no second one, from all pictures
    else:
        _fit(learner, training_set, slice(None), progress=progress)
    version = write_version(
        catalogue,
        learner,
        lambda folder: _write(folder, catalogue, learner, judged, training_set, extractor),
        extractor=extractor,
        words=len(training_set.vocabulary),
        captioned=len(training_set),
        avgp=avgp,
    )
    let_answer(catalogue, version, also)
    versions.sweep(catalogue)
    checkpoint.unlink(missing_ok=True)
    return replace(trained, kept="new", version=version.id, interrupted=learner.interrupted)


def let_answer(
    catalogue: Catalogue, version: Version, also: Callable[[], None] = lambda: None
) -> None:
    """Let a new version answer, once it has learnt all clicks; ``also`` happens with it."""
    offsets = FeedbackOffsets.of(catalogue, open_word_model(version))
    log = entries(catalogue)
    steps = offsets.replay(log, judge_again=True)
    with catalogue.transaction() as db:
        also()
        versions.name(catalogue, version)
        db.execute("DELETE FROM directions")
        offsets.write(offsets.directions)
        keep_steps(catalogue, log, steps)
        catalogue.set("clicks", None)


def _judged(
    kind: type[Model],
    training_set: TrainingSet,
    parameters: dict[str, Any],
    checkpoint: Path,
    extractor: str,
    progress: Progress,
) -> tuple[Model | None, Model]:
    """The model without the held-out pictures, and one set up as it chose, to learn from all."""
    from visterm.models.selection import Checkpoint

    known = kind().get_params()
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        raise BadInput(f"{kind.name} has no parameter {unknown[0]!r}; it has {', '.join(known)}")
    chosen = _offered(kind, known, training_set) | parameters
    if not training_set.can_be_judged:
        return None, kind(**chosen)
    learnt = np.flatnonzero(~training_set.held)
    model = kind(**chosen)
    # Whoever was killed while training goes on after the last run that was finished.
    key = training_set.digest(kind.name, extractor, repr(chosen))
    model.checkpoint = Checkpoint(checkpoint, key)
    judged = _fit(
        model,
        training_set,
        learnt,
        validation=(_held(training_set), training_set.queries()),
        progress=progress,
    )
    return judged, kind(**(chosen | judged.decided()))


def _offered(
    kind: type[Model], known: Mapping[str, Any], training_set: TrainingSet
) -> dict[str, Any]:
    """What a model is set up with: settings for held-out pictures to decide, where there are
    enough of them, and as much work as there are captions to learn from."""
    from visterm.models.rules import PRESETS, pairs_of_a_round

    sizes = {
        "epoch_pairs": pairs_of_a_round(training_set.captions.nnz),
        "query_exponent": _EXPONENT,
    }
    if kind.iteration == "triplets":
        sizes["max_iter"] = int(np.clip(_PER_PAIR * training_set.captions.nnz, *_ITERATIONS))
    if (where := cluster()) is not None:
        sizes["n_shards"] = max(1, min(where.cores, len(training_set) // _OF_A_SHARD))
    choices = PRESETS.get(kind.name, {}) | ({"C": STEPS} if kind.supports_warm_start else {})
    choices = {name: values for name, values in choices.items() if name in known}
    if not training_set.can_be_judged:
        settled = {name: value for name, value in choices.items() if not isinstance(value, tuple)}
        choices = settled | ({"max_iter": _UNJUDGED_ROUNDS} if kind.iteration == "epochs" else {})
    return choices | {name: size for name, size in sizes.items() if name in known}


def _fit(
    model: Model, training_set: TrainingSet, learnt: NDArray[np.int64] | slice, **options: Any
) -> Model:
    """Fit a model to some pictures, with all that it can make use of beside their captions."""
    if training_set.initial is not None:
        options["initial"] = training_set.initial
    if model.learns_from_others:
        options["others"] = training_set.others
        if training_set.initial is None:  # which knows more of words than which ones look alike
            options["meanings"] = load_starter().meanings(training_set.vocabulary.words)
    return model.fit(training_set.vectors[learnt], training_set.captions[learnt], **options)


def _write(
    folder: Path,
    catalogue: Catalogue,
    learner: Model,
    judged: Model | None,
    training_set: TrainingSet,
    extractor: str,
) -> None:
    """Write what a version keeps beside its model."""
    if judged is not None:
        judged.save(folder / JUDGED)
        held = training_set.held
        pictures = training_set.pictures[held].tolist()
        write_whole(folder / HELD, to_json(pictures, training_set.captions[held]))
    some = at_large(catalogue, extractor)
    starter = None if training_set.initial is None else starter_of(catalogue, extractor)
    calibration = calibrated(some, learner, judged, training_set, starter)
    write_vocabulary(folder, training_set.vocabulary, calibration.to_json())
    metric = None
    if isinstance(some, np.ndarray):  # sparse vectors are compared as they are
        from visterm.models.feedback import Metric

        metric = Metric.of(some)
    write_reference(folder, some, metric)


def _held(training_set: TrainingSet) -> Any:
    return training_set.vectors[np.flatnonzero(training_set.held)]


def _avgp(rows: NDArray[np.float32], training_set: TrainingSet) -> float:
    """AvgP of the held-out pictures, by log-probabilities that add up as in a search.

    Their links know how usual words are and nothing else: two models are compared by them alike.
    """
    from visterm.calibration.calibration import uncalibrated, word_statistics
    from visterm.evaluation import mean_average_precision

    link = uncalibrated(*word_statistics(rows), -training_set.vocabulary.idf).link
    relevance = training_set.queries()
    asked = relevance.queries.astype(bool).astype(np.float32)
    return float(mean_average_precision(asked @ link.rows(rows).T, relevance.pictures))


def _untrained_avgp(training_set: TrainingSet) -> float:
    """What a random ranking would give."""
    random = np.random.default_rng(0)
    shape = (int(training_set.held.sum()), len(training_set.vocabulary))
    return _avgp(random.standard_normal(shape, dtype=np.float32), training_set)


def _previous_avgp(
    previous: Version | None, training_set: TrainingSet, extractor: str
) -> float | None:
    """How the previous model, which never saw the held-out pictures either, ranks them now.

    Words it does not know score nothing. None where its vectors were other ones.
    """
    if previous is None or not training_set.can_be_judged:
        return None
    judged = JUDGED if previous.is_trained else MODEL  # the starter saw nobody's pictures
    if previous.extractor != extractor or judged not in previous.files:
        return None
    from visterm.models import load_model

    known = previous.vocabulary()
    mapped = load_model(previous.folder / judged).transform(_held(training_set))
    rows = np.zeros((len(mapped), len(training_set.vocabulary)), np.float32)
    for number, word in enumerate(training_set.vocabulary.words):
        old = known.number(word)
        if old is not None and old < mapped.shape[1]:
            rows[:, number] = mapped[:, old]
    return _avgp(rows, training_set)


def _worse(new: float | None, old: float | None) -> bool:
    if new is None or old is None or math.isnan(old):
        return False
    return new < old
