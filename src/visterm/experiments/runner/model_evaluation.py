"""Models on a data set: features, validation, and a single look at the test pictures."""

from __future__ import annotations

from typing import NamedTuple

from visterm.errors import BadInput
from visterm.experiments.runner.picture_features import (
    BLOCKS_FOR,
    PictureFeatures,
    block_numbers,
    check_features,
)
from visterm.experiments.runner.presets import best, make_model
from visterm.experiments.runner.protocol import Protocol
from visterm.experiments.runner.runs import Extracted, Outcome, Seconds, extract, run
from visterm.features.notation import parse_named
from visterm.models.grids import pairs_of_a_round
from visterm.progress import Progress, silent


class ModelEvaluation(NamedTuple):
    """What came out, and of which model on which features."""

    model: str
    features: str
    outcome: Outcome


def evaluate_model(
    protocol: Protocol,
    model: str = "pamir",
    features: str | None = None,
    *,
    extracted: PictureFeatures | None = None,
    n_jobs: int | None = None,
    ranks: bool = False,
    progress: Progress = silent,
) -> ModelEvaluation:
    """A model by its name; without ``features`` on blocks, in the form that it takes.

    ``extracted`` holds what other models on the same pictures have had extracted already.
    """
    if features is not None:
        check_features(features)
    learner = make_model(model, max_words=protocol.max_words, seed=protocol.seed)
    takes = getattr(learner, "takes", "vectors")
    features = features or BLOCKS_FOR[takes]
    if takes == "blocks":
        fitting = {
            "block_width": block_numbers(features),
            "epoch_pairs": pairs_of_a_round(protocol.captions.nnz),
        }
        learner.set_params(**fitting | parse_named(model).parameters)
    seconds = Seconds()
    with seconds.on("features"):
        made = extracted or PictureFeatures(protocol, n_jobs=n_jobs, seed=protocol.seed)
        rows = (made.counts if takes == "counts" else made.vectors)(features, progress=progress)
    outcome = run(protocol, Extracted(*rows), learner, seconds, ranks=ranks, progress=progress)
    return ModelEvaluation(model, features, outcome)


def evaluate_preset(
    protocol: Protocol,
    preset: str,
    *,
    n_jobs: int | None = None,
    ranks: bool = False,
    progress: Progress = silent,
) -> ModelEvaluation:
    """Features and model together, by the preset's name."""
    if preset != "best":
        raise BadInput(f"no preset called {preset!r}; there is best")
    extractor, learner = best(n_jobs=n_jobs, max_words=protocol.max_words, seed=protocol.seed)
    seconds = Seconds()
    with seconds.on("features"):
        vectors = extract(protocol, extractor, progress=progress)
    outcome = run(protocol, vectors, learner, seconds, ranks=ranks, progress=progress)
    return ModelEvaluation(learner.name, "cnn, two views by each of three networks", outcome)
