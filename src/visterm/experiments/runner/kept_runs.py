"""Runs of models that are kept: visterms of all pictures, and test pictures as models map them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from visterm.experiments.runner.figure_cache import code_digest, kept_figures
from visterm.experiments.runner.indexed_models import RankedRun, outcome_of
from visterm.experiments.runner.protocol import Protocol
from visterm.experiments.runner.runs import Extracted, Seconds
from visterm.experiments.runner.vector_cache import extracted, kept, recipe_of
from visterm.features import Blocks
from visterm.models import Model
from visterm.models.inputs import Vectors
from visterm.progress import Progress


class BlockRows(NamedTuple):
    """Visterm counts, and the vectors that they weigh to."""

    counts: Extracted
    vectors: Extracted

    def of(self, model: Model) -> Extracted:
        """What a model takes."""
        return self.counts if model.takes == "counts" else self.vectors


def block_rows(protocol: Protocol, extractor: Blocks, progress: Progress) -> BlockRows:
    """Visterms of a protocol's pictures; codebooks are learnt from the training ones."""
    extractor.set_params(weighting="counts")
    paths = protocol.development.paths + protocol.test.paths
    training = [protocol.development.paths[i] for i in protocol.split[0]]
    counts = csr_array(extracted(paths, extractor, training, progress))

    def weighed() -> Vectors:
        if not hasattr(extractor, "sizes_"):  # the counts were kept, these were not
            extractor.fit(training, progress=progress)
        return extractor.weigh(counts)

    vectors = csr_array(kept("weighed", recipe_of(paths, extractor, training), weighed))
    tested = np.arange(len(protocol.development), len(paths))
    numbers = (*protocol.split, tested)
    both = [Extracted(*(rows[part] for part in numbers)) for rows in (counts, vectors)]
    return BlockRows(both[0], both[1])


def kept_run(
    protocol: Protocol, recipe: str, run: Callable[[], RankedRun], *, training_only: bool = False
) -> RankedRun:
    """What ``run`` gives, or gave before by this recipe and the same code."""
    made: list[RankedRun] = []

    def once() -> RankedRun:
        if not made:
            made.append(run())
        return made[0]

    def facts() -> dict[str, Any]:
        outcome = once().outcome
        return {"chosen": outcome.chosen, "seconds": outcome.seconds.spent}

    known = f"{recipe} {protocol.seed} {protocol.test.paths}"
    found = kept_figures("run", known, facts)
    rows = np.asarray(kept("rows", f"{code_digest()} {known}", lambda: once().rows), np.float32)
    seconds, chosen = Seconds(found["seconds"]), found["chosen"]
    return RankedRun(rows, outcome_of(protocol, rows, seconds, chosen, training_only))
