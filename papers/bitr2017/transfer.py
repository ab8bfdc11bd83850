"""Experiment 2 of the BITR paper, between the benchmarks at hand: learn on one, search the other.

The paper learns on a million web pictures and tests on IAPR TC-12 and Pascal. Here models learn
from IAPR TC-12 and are tested on Corel, and the other way round, over the words that both have:
those of Corel's test vocabulary that at least ten IAPR captions hold. Queries are all sets of up to
four of these words that a test caption holds; the same models, trained on the other pictures of the
tested data set itself, say what the change of data set costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from papers.pairs import cnn_vectors
from visterm.datasets import CaptionedDataset
from visterm.errors import BadInput
from visterm.estimator import clone
from visterm.evaluation import Table, mean_average_precision
from visterm.experiments.protocol import Source
from visterm.experiments.tables import Entry, Report, read_named
from visterm.features import CNN
from visterm.models import Bitr, Cca, Model, WeightedKnn, Wsabie
from visterm.progress import Progress, silent
from visterm.text import Relevance, Vocabulary, relevance_from_captions

_LEAST_CAPTIONS = 10


@dataclass(frozen=True, eq=False)
class Side:
    """One benchmark: training pictures, with their words, and pictures to be found."""

    vectors: NDArray[np.float32]
    words: csr_array
    trained: int

    @property
    def relevance(self) -> Relevance:
        """Word sets of the tested captions, and the pictures that hold them."""
        idf = np.ones(self.words.shape[1])
        return relevance_from_captions(self.words[self.trained :], idf, max_words=4)

    def quality(self, model: Model) -> float:
        asked = self.relevance
        rows = model.transform(self.vectors[self.trained :])
        return mean_average_precision(asked.queries @ rows.T, asked.pictures)


def bitr_4(entry: Entry, data: Source = None, seed: int = 0, progress: Progress = silent) -> Report:
    """AvgP on Corel's test pictures by models trained on IAPR, and the other way round."""
    corel, iapr, words = _sides(data, progress)
    rows: dict[str, list[float | int | str | None]] = {}
    for name, fitted in _methods(seed):
        from_iapr, from_corel = (_trained(fitted, side, seed, progress) for side in (iapr, corel))
        rows[name] = [
            corel.quality(from_iapr),
            corel.quality(from_corel),
            iapr.quality(from_corel),
            iapr.quality(from_iapr),
        ]
    random = [_random_avgp(side, seed) for side in (corel, iapr)]
    rows["random order"] = [random[0], random[0], random[1], random[1]]
    columns = ["IAPR → Corel", "Corel → Corel", "Corel → IAPR", "IAPR → IAPR"]
    queries = f"{len(corel.relevance):,} and {len(iapr.relevance):,} queries"
    title = entry.titled(f", AvgP; {words} shared words, {queries}")
    return Report(Table(title, columns, rows), {"words": words, "AvgP": rows})


def _sides(data: Source, progress: Progress) -> tuple[Side, Side, int]:
    if isinstance(data, CaptionedDataset):
        raise BadInput("bitr-4 learns on one data set and tests on another; give --data only")
    root = data.parent if data is not None and data.name in ("corel5k", "iaprtc12") else data
    both, corel = read_named("iaprtc12", root), read_named("corel5k", root)
    captions = (both.train + both.tested).captions
    known = Vocabulary.from_captions(corel.tested.captions, min_captions=2, language=None)
    folded = Vocabulary.of_words(known.words)
    holding = np.bincount(folded.counts(captions).indices, minlength=len(folded))
    shared = Vocabulary.of_words(
        [
            word
            for word, count in zip(folded.words, holding, strict=True)
            if count >= _LEAST_CAPTIONS
        ]
    )
    sides = []
    for one in (corel, both):
        pictures = one.train + one.tested
        words = csr_array(shared.counts(pictures.captions) > 0).astype(np.float32)
        vectors = cnn_vectors(pictures.paths, (CNN(),), progress)
        sides.append(Side(vectors, words, len(one.train)))
    return sides[0], sides[1], len(shared)


def _methods(seed: int) -> Iterator[tuple[str, Model]]:
    ridges = (0.1, 0.3, 1.0)
    by_words = {"judged_by": "words", "max_words": 2}
    yield "CCA", Cca(ridge=ridges, text_ridge=ridges, scaling=1.0, **by_words)  # type: ignore[arg-type]
    yield "weighted kNN", WeightedKnn(n_neighbors=(25, 100), sharpness=(10.0, 20.0, 30.0))
    yield "WSABIE", Wsabie(max_iter=5, learning_rate=(0.003, 0.03), random_state=seed, **by_words)  # type: ignore[arg-type]
    yield (
        "BITR-C",
        Bitr(ranks="pictures", C=(100.0, 1e3, 1e4), max_iter=60, **by_words),  # type: ignore[arg-type]
    )


def _trained(model: Model, side: Side, seed: int, progress: Progress) -> Model:
    """A copy of a model that learnt from a side's trained pictures that hold a shared word."""
    worded = np.flatnonzero(np.diff(side.words[: side.trained].indptr))
    order = np.random.default_rng(seed).permutation(worded)
    held, train = np.sort(order[: len(order) // 10]), np.sort(order[len(order) // 10 :])
    chosen_by = (side.vectors[held], side.words[held])
    copy: Model = clone(model)
    return copy.fit(side.vectors[train], side.words[train], validation=chosen_by, progress=progress)


def _random_avgp(side: Side, seed: int) -> float:
    asked = side.relevance
    drawn = np.random.default_rng(seed).random(asked.pictures.shape, dtype=np.float32)
    return mean_average_precision(drawn, asked.pictures)
