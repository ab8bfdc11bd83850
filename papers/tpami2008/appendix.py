"""The appendix of the TPAMI paper, measured: how w and its margin grow while PAMIR learns.

The appendix proves ``‖w_i‖ ≤ 2 c ρ i``, ρ the largest ‖γ(q, p)‖; here ‖w_i‖ stands beside that
bound, with the loss and the margin of the direction of w over triplets of the training pictures.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from visterm.evaluation import Table
from visterm.experiments.picture_features import PictureFeatures
from visterm.experiments.protocol import Protocol, Source, corel5k
from visterm.experiments.tables import Entry, Report
from visterm.matrices import unit_rows
from visterm.models import Pamir
from visterm.models.inputs import Vectors
from visterm.progress import Progress, silent
from visterm.text import Relevance

FEATURES = "blocks"
ITERATIONS = (0, 10, 100, 1_000, 10_000, 100_000, 300_000, 1_000_000, 3_000_000)
_C = 0.1
_TRIPLETS = 50_000
_COLUMNS = ["‖w‖", "bound 2cρi", "loss", "violated", "margin, 1 % quantile", "margin, median"]


def tpami_appendix(
    entry: Entry, data: Source = None, seed: int = 0, progress: Progress = silent
) -> Report:
    """‖w‖ and its bound, loss and margin after so many iterations, on Corel's block visterms."""
    protocol = corel5k(entry.dataset(data), seed=seed)
    vectors = PictureFeatures(protocol, kept=True).vectors(FEATURES, progress=progress)
    return growth(entry, protocol, vectors[0], progress)


def growth(
    entry: Entry, protocol: Protocol, vectors: Vectors, progress: Progress = silent
) -> Report:
    """The report on these vectors of the training pictures."""
    captions = protocol.captions[protocol.split[0]]
    vectors = unit_rows(vectors)  # so that ρ = 1: queries have unit length too
    model = Pamir(C=_C, max_words=protocol.max_words, random_state=protocol.seed)
    drawn = _Triplets(protocol.relevance_of(protocol.split[0]), protocol.seed)
    rows: dict[str, list[float | int | str | None]] = {}
    found = []
    for number, (before, done) in enumerate(pairwise(ITERATIONS)):
        progress("training", number, len(ITERATIONS) - 1)
        model.partial_fit(vectors, captions, steps=done - before)
        length = float(np.linalg.norm(model.weights_))
        gaps = drawn.gaps(model.transform(vectors))
        loss = np.maximum(0, 1 - gaps)
        low, middle = np.quantile(gaps / max(length, 1e-12), [0.01, 0.5])
        bound = 2 * _C * done
        values = [length, bound, float(loss.mean()), float((gaps <= 0).mean()), low, middle]
        rows[f"{done:,}"] = [float(value) for value in values]
        found.append({"iterations": done, **dict(zip(_COLUMNS, rows[f"{done:,}"], strict=True))})
    progress("training", len(ITERATIONS) - 1, len(ITERATIONS) - 1)
    title = entry.titled(f", c = {_C:g}")
    plain = [column for column in _COLUMNS if column != "violated"]
    table = Table(title, _COLUMNS, rows, plain=plain, heading="iterations i")
    return Report(table, {"C": _C, "rho": 1.0, "steps": found})


class _Triplets:
    """Triplets of training queries: each query alike, then an answer and another picture."""

    def __init__(self, relevance: Relevance, seed: int) -> None:
        rng = np.random.default_rng(seed)
        count, pictures = relevance.relevant_per_query, relevance.pictures.shape[1]
        useful = np.flatnonzero((count > 0) & (count < pictures))
        self.queries = relevance.queries
        self.query = rng.choice(useful, _TRIPLETS)
        starts = relevance.pictures.indptr[self.query]
        offset = (rng.random(_TRIPLETS) * count[self.query]).astype(np.int64)
        self.better = relevance.pictures.indices[starts + offset]
        answered: Any = relevance.pictures
        self.worse = rng.integers(pictures, size=_TRIPLETS)
        while (again := np.flatnonzero(answered[self.query, self.worse] > 0)).size:
            self.worse[again] = rng.integers(pictures, size=again.size)

    def gaps(self, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """F(q, p⁺) − F(q, p⁻) of each."""
        asked = self.queries[self.query]
        difference = rows[self.better] - rows[self.worse]
        return np.asarray(asked.multiply(difference).sum(axis=1)).reshape(-1)
