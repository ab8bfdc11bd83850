"""Flickr8k: pictures by sentences and sentences by pictures, on the published split.

Learnt from the 6,000 training pictures; the 1,000 dev pictures chose (CCA's ridges here, the
settings of the contrastive maps beforehand); the 1,000 test pictures are ranked once. Each of the
five sentences of a picture asks for it; for a picture the best placed of its sentences counts.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.datasets import CaptionedDataset, CaptionedPictures, read_flickr8k
from visterm.evaluation import Table
from visterm.experiments.papers.published import published
from visterm.experiments.runner.caption_vectors import caption_vectors
from visterm.experiments.runner.cross_modal_ranks import ranks_both_ways
from visterm.experiments.runner.protocol import Source
from visterm.experiments.runner.reports import Report
from visterm.experiments.runner.vector_cache import cnn_vectors, kept
from visterm.models import Cca, Contrastive
from visterm.models.inputs import Vectors
from visterm.models.pairs import PairModel
from visterm.progress import Progress, silent
from visterm.text.spaces import Lsa

MAPS: dict[str, Any] = {
    "hidden_units": 1024,
    "temperature": 0.07,
    "learning_rate": 3e-4,
    "weight_decay": 1e-4,
    "batch_size": 2048,
    "max_iter": 10,
}
"""What the dev pictures liked best of some hundred settings."""
SEEDS = 5
_KEYS = {"image retrieval": "image_retrieval", "annotation": "annotation"}
_COLUMNS = [f"{way} R@{k}" for way in _KEYS for k in (1, 5, 10)]

Numbers = NDArray[np.int64]


@dataclass(eq=False)
class Sentences8k:
    """All pictures and sentences, numbered through train, dev and test."""

    parts: list[CaptionedPictures]
    pictures: NDArray[np.float32]
    captions: list[str] = field(init=False)
    owners: Numbers = field(init=False)

    def __post_init__(self) -> None:
        every = self.parts[0] + self.parts[1] + self.parts[2]
        self.captions, owners = every.single_captions()
        self.owners = np.array(owners)

    def of(self, part: int) -> Numbers:
        """Numbers of the sentences of train (0), dev (1) or test (2)."""
        ends = np.cumsum([len(pictures) for pictures in self.parts])
        return np.flatnonzero(np.searchsorted(ends, self.owners, side="right") == part)

    def scores(self, model: PairModel, texts: Vectors, part: int) -> NDArray[np.float32]:
        """Sentences × pictures of a part."""
        numbers = self.of(part)
        seen = self.pictures[np.unique(self.owners[numbers])]
        return model.text_rows(texts[numbers]) @ model.picture_rows(seen).T

    def ranks(self, scores: NDArray[np.float32], part: int) -> dict[str, float]:
        owners = self.owners[self.of(part)]
        own = csr_array(
            (np.ones(len(owners), np.float32), (np.arange(len(owners)), owners - owners.min())),
            shape=scores.shape,
        )
        return ranks_both_ways(
            lambda some: scores[some], lambda some: np.ascontiguousarray(scores[:, some].T), own
        )


def flickr8k(data: Source, seed: int = 0, progress: Progress = silent) -> Report:
    """R@K both ways: CCA with LSA, one pair of contrastive maps, the mean of five pairs' scores."""
    if not isinstance(data, CaptionedDataset):
        data = read_flickr8k(data)
    dev = data.validation if data.validation is not None else data.tested
    parts = [data.train, dev, data.tested]
    paths = [path for part in parts for path in part.paths]
    said = Sentences8k(parts, cnn_vectors(paths, os.cpu_count() or 1, progress))
    found = {"CCA, CNN + LSA": _cca(said, seed, progress)}
    found |= _contrastive(said, seed, progress)
    ours = {name: said.ranks(scores[2], 2) for name, scores in found.items()}
    validation = {name: said.ranks(scores[1], 1) for name, scores in found.items()}
    theirs = published("leaderboards")["flickr8k"]
    rows: dict[str, list[float | int | str | None]] = {
        f"{name}, published": [first, None, tenth, None, None, None]
        for name, (first, tenth) in theirs.items()
    }
    rows |= {name: [ranks[c] / 100 for c in _COLUMNS] for name, ranks in ours.items()}
    best = ours[f"contrastive, mean of {SEEDS} seeds"]
    keys = {key: {f"r{k}": best[f"{way} R@{k}"] for k in (1, 5, 10)} for way, key in _KEYS.items()}
    heading = f"Flickr8k, {len(data.tested)} test pictures, published split"
    return Report(
        Table(heading, _COLUMNS, rows),
        {"flickr8k": keys, "published": theirs, "ours": ours, "validation": validation},
    )


def _cca(said: Sentences8k, seed: int, progress: Progress) -> dict[int, NDArray[np.float32]]:
    train, dev = said.of(0), said.of(1)
    space = Lsa(500, random_state=seed).fit([said.captions[i] for i in train])
    texts = np.asarray(space.transform(said.captions))
    first = dev[np.unique(said.owners[dev], return_index=True)[1]]
    model = Cca(ridge=(0.1, 0.3), text_ridge=(0.3, 1.0), scaling=(1.0, 1.5), judged_by="pairs")
    held = said.pictures[said.owners[first]], texts[first]
    model.fit(said.pictures[said.owners[train]], texts[train], validation=held, progress=progress)
    return {part: said.scores(model, texts, part) for part in (1, 2)}


def _contrastive(
    said: Sentences8k, seed: int, progress: Progress
) -> dict[str, dict[int, NDArray[np.float32]]]:
    train = said.of(0)
    texts = caption_vectors(said.captions, train.tolist(), progress)
    pictures = said.pictures[said.owners[train]]
    count = len(said.of(1))
    each = []
    for number in range(SEEDS):
        model = Contrastive(**MAPS, random_state=seed + number)

        def scores(model: Contrastive = model) -> NDArray[np.float32]:
            model.fit(pictures, texts[train], progress=progress)
            return np.vstack([said.scores(model, texts, part).reshape(-1, 1) for part in (1, 2)])

        recipe = f"{model.get_params()} {said.parts}"
        found = np.asarray(kept("flickr8k-scores", recipe, scores))
        ends = np.split(found, [count * len(said.parts[1])])
        each.append({part: ends[part - 1].reshape(-1, len(said.parts[part])) for part in (1, 2)})
    mean = {part: np.mean([one[part] for one in each], axis=0) for part in (1, 2)}
    return {"contrastive": each[0], f"contrastive, mean of {SEEDS} seeds": mean}
