"""One run: features, a model, its measures on the test pictures, and what everything took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import VistermError
from visterm.evaluation import Evaluation, evaluate, seen_queries, slices
from visterm.experiments.runner.protocol import Protocol
from visterm.features import Extractor
from visterm.features.extractor import Rows
from visterm.models import Model
from visterm.progress import Progress, silent


@dataclass
class Seconds:
    """Wall-clock seconds by what they were spent on."""

    spent: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def on(self, what: str) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        self.spent[what] = self.spent.get(what, 0.0) + time.perf_counter() - begin

    def to_json(self) -> dict[str, float]:
        rounded = {what: round(seconds, 2) for what, seconds in self.spent.items()}
        return rounded | {"total": round(sum(self.spent.values()), 2)}


@dataclass(frozen=True)
class Described:
    """Vectors of a protocol's pictures: training, validation, test."""

    training: Rows
    validation: Rows
    test: Rows


@dataclass(frozen=True)
class Outcome:
    """What a run gave."""

    evaluation: Evaluation
    slices: dict[str, NDArray[np.bool_]]
    seconds: Seconds
    chosen: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Percentages, over all queries and by slice."""
        by_slice = {
            name: percent(self.evaluation.slice(mask)) | {"queries": int(mask.sum())}
            for name, mask in self.slices.items()
        }
        return {
            **percent(self.evaluation),
            "queries": len(self.evaluation),
            "slices": by_slice,
            "chosen": self.chosen,
            "seconds": self.seconds.to_json(),
        }


def percent(evaluation: Evaluation) -> dict[str, float]:
    """Means in percent, two decimals."""
    return {name: round(100 * value, 2) for name, value in evaluation.mean().items()}


def describe(protocol: Protocol, extractor: Extractor, *, progress: Progress = silent) -> Described:
    """Learn the extractor from the training pictures, and describe all pictures with it."""
    training, validation = describe_development(protocol, extractor, progress=progress)
    return Described(training, validation, extractor.transform(protocol.test.paths))


def describe_development(
    protocol: Protocol, extractor: Extractor, *, progress: Progress = silent
) -> tuple[Rows, Rows]:
    """The same without the test pictures, which nothing is chosen on."""
    train, valid = protocol.split
    paths = protocol.development.paths
    learn: Callable[..., Rows] | None = getattr(extractor, "fit_transform", None)
    teaching = [paths[i] for i in train]
    if learn is not None:
        rows = learn(teaching, progress=progress)
    else:
        rows = extractor.fit(teaching).extract(teaching, progress=progress).rows
    if rows.shape[0] != len(teaching):
        raise VistermError(
            f"{len(teaching) - rows.shape[0]} training pictures of {protocol.name} cannot be read; "
            "a benchmark needs them all"
        )
    return rows, extractor.transform([paths[i] for i in valid])


def run(
    protocol: Protocol,
    vectors: Described,
    model: Model,
    seconds: Seconds,
    *,
    progress: Progress = silent,
) -> Outcome:
    """Fit with validation, map the test pictures, rank them for every test query."""
    train, valid = protocol.split
    captions = protocol.captions
    with seconds.on("training"):
        model.fit(
            vectors.training,
            captions[train],
            validation=(vectors.validation, captions[valid]),
            progress=progress,
        )
    with seconds.on("mapping"):
        rows = model.transform(vectors.test)
    relevance = protocol.test_relevance
    with seconds.on("ranking"):
        measured = evaluate(rows, relevance)
    seen = seen_queries(relevance, protocol.development_relevance)
    return Outcome(measured, slices(relevance, seen), seconds, chosen_by(model))


def chosen_by(model: Model) -> dict[str, Any]:
    """What validation pictures decided, by the names of the parameters, and their AvgP."""
    chosen = model.decided() | {"validation": model.validation_}
    return {
        name: round(value, 4) if isinstance(value, float) else value
        for name, value in chosen.items()
        if not isinstance(value, np.ndarray)  # such as a C for each word
    }
