"""The BITR paper's methods with its own settings: C by five folds, CCA without ridges, WSABIE as it
was first published where labels or phrases are ranked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from visterm.experiments.papers.bitr.directions import Both, Fit, PairVectors
from visterm.experiments.papers.bitr.partitions import TOPICS, Partition
from visterm.experiments.runner.figure_cache import kept_figures
from visterm.models import Bitr, Cca, Wsabie
from visterm.models.bitr import LOSSES
from visterm.models.pairs import PairModel

STRENGTHS = tuple(10.0**power for power in range(-5, 6))
NORMS = (0.1, 1.0, 10.0)
FOLDS = 5
_RIDGE = 1e-3  # enough for an inverse


@dataclass(eq=False)
class PublishedMethods:
    """The paper's methods; what folds choose on the first partition holds for the others too.

    ``about`` tells what is kept for these pictures and texts from what is kept for others.
    """

    about: str

    def __call__(
        self, topics: PairVectors, labels: csr_array | None = None
    ) -> Iterator[tuple[str, Fit, Cca | None]]:
        """As `paper_methods`; with ``labels``, pictures × labels, WSABIE ranks those as words."""
        plain = Cca(n_components=TOPICS, ridge=_RIDGE, text_ridge=_RIDGE, scaling=0.0)
        cca = topics.fit(plain)
        yield "CCA", partial(Both, topics, cca, cca), None
        spaces: dict[str, tuple[PairVectors, Cca | None]] = {
            "TR": (topics, None),
            "CTR": (topics.projected(cca), cca),
        }
        for space, (pairs, to_space) in spaces.items():
            name = f"WSABIE ({space})"
            known = pairs if labels is None else replace(pairs, texts=labels)
            yield name, partial(self._wsabie, name, known, labels is not None), to_space
        for loss, shown in reversed(LOSSES.items()):
            for space, (pairs, to_space) in spaces.items():
                name = f"{shown} ({space})"
                yield name, partial(self._bitr, name, loss, pairs), to_space

    def _bitr(self, name: str, loss: str, pairs: PairVectors) -> Both:
        slow = loss == "manhattan"
        how: dict[str, Any] = {"loss": loss, "max_iter": 40 if slow else 100}
        ways = []
        for ranks in ("texts", "pictures"):
            model = Bitr(ranks=ranks, judged_by="pairs", **how)
            ways.append(self._fitted(f"{name} {ranks}", pairs, model, "C", STRENGTHS))
        return Both(pairs, *ways)

    def _wsabie(self, name: str, pairs: PairVectors, words: bool) -> Both:
        kind = {"outputs": "words", "judged_by": "words"} if words else {"outputs": "texts"}
        model = Wsabie(n_components=TOPICS, learning_rate=0.01, max_words=1, **kind)  # type: ignore[arg-type]
        fitted = self._fitted(name, pairs, model, "max_norm", NORMS)
        return Both(pairs, fitted, fitted)

    def _fitted(
        self, name: str, pairs: PairVectors, model: PairModel, parameter: str, values: Any
    ) -> PairModel:
        """Learnt from all development pairs, with the value that five folds of them like best."""

        def chosen() -> dict[str, float]:
            quality = {value: _over_folds(pairs, model, parameter, value) for value in values}
            return {parameter: max(quality, key=quality.__getitem__)}

        found = kept_figures("bitr-folds", f"{name} {self.about}", chosen)
        return pairs.fit(model.set_params(**found))


def _over_folds(pairs: PairVectors, model: PairModel, parameter: str, value: float) -> float:
    """The mean over folds of how well a model ranks the fold that it did not learn from."""
    every = np.random.default_rng(0).permutation(pairs.partition.development)
    reached = []
    for held in np.array_split(every, FOLDS):
        rest = np.setdiff1d(every, held)
        fold = replace(pairs, partition=Partition("fold", rest, np.sort(held), held))
        copy = type(model)(**model.get_params()).set_params(**{parameter: value}, retrain=False)
        reached.append(fold.choose(copy).validation_)
    return float(np.mean(reached))
