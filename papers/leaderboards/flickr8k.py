"""Flickr8k: pictures by sentences and sentences by pictures, on the published split.

Learnt from the 6,000 training pictures; the 1,000 dev pictures chose (CCA's ridges here, the
settings of the contrastive maps beforehand); the 1,000 test pictures are ranked once. Each of the
five sentences of a picture asks for it; for a picture the best placed of its sentences counts.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from papers.pairs import Numbers, Pairs, Partition, Rows, Spaces, network_key, pair_model
from visterm.datasets import CaptionedDataset
from visterm.evaluation import Table
from visterm.experiments.cache import remembered
from visterm.experiments.protocol import Source
from visterm.experiments.runs import ranks_both_ways
from visterm.experiments.tables import Entry, Report
from visterm.models.inputs import Vectors
from visterm.models.pairs import PairModel
from visterm.progress import Progress, silent

_KEYS = {"image retrieval": "image_retrieval", "annotation": "annotation"}
_COLUMNS = [f"{way} R@{k}" for way in _KEYS for k in (1, 5, 10)]
Scores = dict[str, Rows]
"""Sentences × pictures of the dev and of the test pictures."""


def flickr8k(
    entry: Entry,
    data: Source = None,
    seed: int = 0,
    progress: Progress = silent,
    features: str | None = None,
) -> Report:
    """R@K both ways: CCA with LSA, one pair of contrastive maps, the mean of five pairs' scores.

    Bold is the best of ours where nobody published has as much.
    """
    dataset = entry.dataset(data)
    said, partition = sentences(dataset, seed)
    spaces = Spaces(said, partition, {}, progress=progress, features=features)
    found = {f"CCA, {features or 'CNN'} + LSA": _cca(entry, spaces)}
    each = [_contrastive(entry, spaces, seed + number) for number in range(entry.table["seeds"])]
    mean = f"contrastive, mean of {len(each)} seeds"
    found["contrastive"] = each[0]
    found[mean] = {
        part: np.mean([one[part] for one in each], axis=0) for part in ("validation", "test")
    }
    ours, validation = (
        {name: _ranks(said, getattr(partition, part), one[part]) for name, one in found.items()}
        for part in ("test", "validation")
    )
    theirs, arrow = entry.published, "image retrieval "
    rows: dict[str, list[float | int | str | None]] = {
        f"{name}, published": [one.get(column.removeprefix(arrow)) for column in _COLUMNS]
        for name, one in theirs.items()
    }
    rows |= {name: [ranks[c] / 100 for c in _COLUMNS] for name, ranks in ours.items()}
    bold = [
        (mean, f"{arrow}{measure}")
        for measure in ("R@1", "R@10")
        if ours[mean][f"{arrow}{measure}"] / 100 > max(o.get(measure, 0) for o in theirs.values())
    ]
    keys = {
        key: {f"r{k}": ours[mean][f"{way} R@{k}"] for k in (1, 5, 10)} for way, key in _KEYS.items()
    }
    heading = f"{entry.table['title']}, {len(dataset.tested)} test pictures"
    return Report(
        Table(heading, _COLUMNS, rows, bold=bold),
        {"flickr8k": keys, "published": theirs, "ours": ours, "validation": validation},
    )


def sentences(data: CaptionedDataset, seed: int) -> tuple[Pairs, Partition]:
    """Every sentence with its picture, numbered through train, dev and test."""
    held = data.validation if data.validation is not None else data.tested
    every = data.train + held + data.tested
    captions, owners = every.single_captions()
    ends = np.cumsum([len(data.train), len(held)])
    part = np.searchsorted(ends, owners, side="right")
    numbers = [np.flatnonzero(part == one) for one in range(3)]
    pairs = Pairs(every.paths, captions, np.array(owners), captions, len(data.tested), seed)
    # What text spaces learn from are the training sentences alone: dev pictures only choose.
    return pairs, TrainingOnly("published split", *numbers)


class TrainingOnly(Partition):
    """A partition whose validation pairs choose, and are not learnt from."""

    @property
    def development(self) -> Numbers:
        return self.train


def _cca(entry: Entry, spaces: Spaces) -> Scores:
    partition, owners = spaces.partition, spaces.pairs.owners
    pictures, texts = spaces.pictures("cnn"), spaces.texts("lsa")
    dev = partition.validation
    first = dev[np.unique(owners[dev], return_index=True)[1]]
    model = pair_model(entry.table["cca"])
    held = pictures[first], texts[first]
    train = partition.train
    model.fit(pictures[train], texts[train], validation=held, progress=spaces.progress)
    return _scores(spaces, model, texts)


def _contrastive(entry: Entry, spaces: Spaces, seed: int) -> Scores:
    def scores() -> Scores:
        texts, train = spaces.texts("sentences"), spaces.partition.train
        model = pair_model(entry.table["maps"], random_state=seed)
        model.fit(spaces.pictures("cnn")[train], texts[train], progress=spaces.progress)
        return _scores(spaces, model, texts)

    about = entry.table["maps"], seed, spaces.pairs.digest, spaces.partition.train.tolist()
    return remembered("flickr8k", scores, *about, *network_key(spaces.features))


def _scores(spaces: Spaces, model: PairModel, texts: Vectors) -> Scores:
    pictures, found = spaces.pictures("cnn"), {}
    for part in ("validation", "test"):
        numbers = getattr(spaces.partition, part)
        _, first = np.unique(spaces.pairs.owners[numbers], return_index=True)
        seen = model.picture_rows(pictures[numbers[first]])
        found[part] = model.text_rows(texts[numbers]) @ seen.T
    return found


def _ranks(said: Pairs, numbers: Numbers, scores: Rows) -> dict[str, float]:
    owners = said.owners[numbers]
    own = csr_array(
        (np.ones(len(owners), np.float32), (np.arange(len(owners)), owners - owners.min())),
        shape=scores.shape,
    )
    return ranks_both_ways(
        lambda some: scores[some], lambda some: np.ascontiguousarray(scores[:, some].T), own
    )
