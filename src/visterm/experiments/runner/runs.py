"""One run: features, a model, its measures on the test pictures, and what everything took."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput, UnreadablePicture
from visterm.evaluation import Evaluation, evaluate_rows, slices
from visterm.experiments.runner.cross_modal_ranks import cross_modal_ranks
from visterm.experiments.runner.protocol import Protocol
from visterm.features import Extractor
from visterm.features.extractor import Rows
from visterm.models import Model
from visterm.models.inputs import stack
from visterm.pictures import read_picture
from visterm.pictures.decoding.size import picture_size
from visterm.progress import Progress, silent

Fitted = TypeVar("Fitted", bound=Model)
_NAMED = 5  # unreadable pictures that an error names, before it only counts them


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
class Extracted:
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
    ranks: dict[str, float] | None = None
    """R@K and median ranks of captions and of pictures, where they were asked for."""

    def part(self, name: str) -> Evaluation:
        """The evaluation of one slice of the queries, or of "all"."""
        return self.evaluation if name == "all" else self.evaluation.slice(self.slices[name])

    def to_json(self) -> dict[str, Any]:
        """Percentages, over all queries and by slice."""
        by_slice = {
            name: percent(self.part(name)) | {"queries": int(mask.sum())}
            for name, mask in self.slices.items()
        }
        ranks = {} if self.ranks is None else {"ranks": self.ranks}
        return {
            **percent(self.evaluation),
            **ranks,
            "queries": len(self.evaluation),
            "slices": by_slice,
            "chosen": self.chosen,
            "seconds": self.seconds.to_json(),
        }


def percent(evaluation: Evaluation) -> dict[str, float]:
    """Means in percent, two decimals."""
    return {name: round(100 * value, 2) for name, value in evaluation.mean().items()}


def extract(protocol: Protocol, extractor: Extractor, *, progress: Progress = silent) -> Extracted:
    """Learn the extractor from the training pictures, and extract the features of all pictures."""
    training, validation = extract_development(protocol, extractor, progress=progress)
    test = transformed(protocol, extractor, protocol.test.paths)
    return Extracted(training, validation, test)


def extract_development(
    protocol: Protocol, extractor: Extractor, *, progress: Progress = silent
) -> tuple[Rows, Rows]:
    """The same without the test pictures, which nothing is chosen on."""
    train, valid = protocol.split
    paths = protocol.development.paths
    training = [paths[i] for i in train]
    say_if_shrunk(training[0], extractor)
    rows = extractor.fit_transform(training, progress=progress)
    if rows.shape[0] != len(training):
        raise unreadable_pictures(protocol.name, training)
    return rows, transformed(protocol, extractor, [paths[i] for i in valid])


def transformed(protocol: Protocol, extractor: Extractor, paths: Sequence[Path]) -> Rows:
    """Rows of all these pictures, or an error that names those that cannot be read."""
    found = extractor.extract(paths)
    if found.skipped:
        raise unreadable_pictures(protocol.name, [paths[skip.number] for skip in found.skipped])
    return found.rows


def unreadable_pictures(name: str, paths: Sequence[Path]) -> BadInput:
    """The error that names the pictures of a table that cannot be read, and why."""
    reasons = []
    for path in paths:
        try:
            read_picture(path, max_side=64)
        except UnreadablePicture as error:
            reasons.append(f"{error.where}: {error.reason}")
    shown = "; ".join(reasons[:_NAMED])
    more = f"; and {len(reasons) - _NAMED} more" if len(reasons) > _NAMED else ""
    return BadInput(
        f"{len(reasons)} pictures of {name} cannot be read: {shown}{more}. Mend them, or take "
        "their rows out of the table"
    )


def say_if_shrunk(picture: Path, extractor: Extractor) -> None:
    """Warn where pictures have more pixels than the features will see."""
    side = getattr(extractor, "max_side", None)
    if side is None or "max_side" not in extractor.get_params():
        return
    with suppress(UnreadablePicture):
        width, height = picture_size(picture)
        if max(width, height) > side:
            warnings.warn(
                f"pictures such as {picture.name}, {width} × {height} pixels, are shrunk to {side} "
                f"on the long side; {extractor.name}(max_side={max(width, height)}) sees them all",
                stacklevel=2,
            )


def run(
    protocol: Protocol,
    vectors: Extracted,
    model: Model,
    seconds: Seconds,
    *,
    ranks: bool = False,
    progress: Progress = silent,
) -> Outcome:
    """Fit with validation, map the test pictures, rank them for every test query; with ``ranks``
    also for every test caption, and the captions for every picture."""
    with seconds.on("training"):
        if "validation" in signature(model.fit).parameters:
            choose(protocol, model, (vectors.training, vectors.validation), progress)
        else:  # one's own model that chooses nothing learns from all pictures at once
            everything = stack(vectors.training, vectors.validation)
            model.fit(everything, protocol.captions[np.concatenate(protocol.split)])
    with seconds.on("mapping"):
        rows = np.asarray(model.transform(vectors.test), dtype=np.float32)
    relevance = protocol.test_relevance
    with seconds.on("ranking"):
        measured = evaluate_rows(rows, relevance)
        both_ways = cross_modal_ranks(rows, protocol) if ranks else None
    parts = slices(relevance, protocol.seen_queries)
    return Outcome(measured, parts, seconds, chosen_by(model), both_ways)


def choose(
    protocol: Protocol, model: Fitted, vectors: Sequence[Rows], progress: Progress
) -> Fitted:
    """Fit to the rows of the training pictures; those of the validation pictures choose."""
    train, held = (
        (rows, protocol.captions[numbers])
        for rows, numbers in zip(vectors, protocol.split, strict=False)
    )
    model.fit(*train, validation=held, progress=progress)
    return model


def chosen_by(model: Model) -> dict[str, Any]:
    """What validation pictures decided, by the names of the parameters, and their AvgP."""
    chosen = model.decided() if hasattr(model, "decided") else {}
    chosen |= {"validation": model.validation_} if hasattr(model, "validation_") else {}
    return {
        name: round(value, 4) if isinstance(value, float) else value
        for name, value in chosen.items()
        if not isinstance(value, np.ndarray)  # such as a C for each word
    }
