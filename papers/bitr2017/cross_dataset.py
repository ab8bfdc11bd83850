"""Experiment 2 of the BITR paper: captions learnt on one data set, tested on another.

The paper learns from a million web pictures and tests on Pascal and IAPR TC-12. Here IAPR TC-12
and Flickr8k teach each other: its test pictures ask for captions of the data set that was learnt
from (BLEU, ROUGE), and for their own captions among the tested ones (ranks). The same models on
the test pictures of their own data set say what the change costs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from papers.pair_tables import (
    ACROSS,
    WAYS,
    Both,
    BothWays,
    Measurement,
    Method,
    caption_figures,
    fit_both,
)
from papers.pairs import Numbers, Pairs, Partition, Rows, Spaces
from visterm.datasets import CaptionedDataset
from visterm.errors import BadInput
from visterm.evaluation import Table
from visterm.experiments.protocol import Source
from visterm.experiments.tables import Entry, Report, read_named
from visterm.models.pairs import PairModel
from visterm.progress import Progress, silent

NAMES = {"iaprtc12": "IAPR", "flickr8k": "Flickr8k"}
CAPTIONS_EACH = 2  # of a training picture
_PUBLISHED = {"BLEU-1": 0, "ROUGE-1": 1, "R@50": 2, "median rank": 3}


@dataclass(frozen=True, eq=False)
class Corpora:
    """Two data sets' pictures, test pictures last, every caption a pair with its picture."""

    pairs: Pairs
    parts: dict[tuple[str, str], Numbers] = field(default_factory=dict)
    """Numbers of the pictures of each part of each data set."""

    @classmethod
    def read(cls, data: Source, seed: int) -> Corpora:
        """From the folder that holds both, or from either of the two."""
        if isinstance(data, CaptionedDataset):
            raise BadInput("experiment 2 learns on one data set and tests on another; give --data")
        root = data.parent if data is not None and data.name in NAMES else data
        datasets = {name: read_named(name, root) for name in NAMES}
        paths: list[Path] = []
        captions: list[str] = []
        owners: list[int] = []
        numbers = {}
        for part in ("train", "validation", "test"):
            for name, one in datasets.items():
                pictures = getattr(one, part)
                size = 0 if pictures is None else len(pictures)
                numbers[name, part] = np.arange(len(paths), len(paths) + size)
                if pictures is not None:
                    said, whose = pictures.single_captions()
                    owners += [len(paths) + number for number in whose]
                    captions += said
                    paths += pictures.paths
        tested = sum(len(one.tested) for one in datasets.values())
        return cls(Pairs(paths, captions, np.array(owners), captions, tested, seed), numbers)

    def partition(self, source: str) -> Partition:
        """Numbers of captions: what trains, what chooses (one of a picture's), what is tested.

        A data set's own validation pictures choose; else a tenth of its training pictures. Of a
        picture's five captions two train, so that both data sets have about as many pairs.
        """
        train, held = self.parts[source, "train"], self.parts[source, "validation"]
        if len(held) == 0:
            order = np.random.default_rng(self.pairs.seed).permutation(train)
            train, held = order[len(order) // 10 :], order[: len(order) // 10]
        tested = np.concatenate([self.tested(name) for name in NAMES])
        each = self._first(train, CAPTIONS_EACH), self._first(held, 1)
        return Partition(NAMES[source], *each, tested)

    def _first(self, pictures: Numbers, count: int) -> Numbers:
        """Numbers of the first captions of these pictures, at most so many of each."""
        every = self.of(pictures)
        owners = self.pairs.owners[every]
        _, first, whose = np.unique(owners, return_index=True, return_inverse=True)
        return np.asarray(every[np.arange(len(every)) - first[whose] < count])

    def tested(self, name: str) -> Numbers:
        """Numbers of the captions of a data set's test pictures."""
        return self.of(self.parts[name, "test"])

    def of(self, pictures: Numbers) -> Numbers:
        """Numbers of the captions of these pictures."""
        return np.flatnonzero(np.isin(self.pairs.owners, pictures))


def bitr_exp2(
    entry: Entry, data: Source = None, seed: int = 0, progress: Progress = silent
) -> Report:
    """Every method on TR, CTR and CNN vectors, from either data set to the other."""
    corpora = Corpora.read(data, seed)
    across: dict[str, dict[str, Any]] = {}
    within: dict[str, dict[str, Any]] = {}
    for source, target in (("iaprtc12", "flickr8k"), ("flickr8k", "iaprtc12")):
        found = _measured(entry, corpora, source, progress)
        name = f"{NAMES[source]} → {NAMES[target]}"
        across[name] = {method: one[target] for method, one in found.items()}
        within[NAMES[source]] = {method: one[source] for method, one in found.items()}
    sizes = {f"{NAMES[name]} {part}": len(n) for (name, part), n in corpora.parts.items()}
    facts = {"published": entry.published, "ours": across, "within": within, "sizes": sizes}
    return Report(_table(entry, across, within), facts)


def _measured(
    entry: Entry, corpora: Corpora, source: str, progress: Progress
) -> dict[str, dict[str, BothWays]]:
    """By method, then by tested data set, the figures both ways of what ``source`` taught."""
    partition = corpora.partition(source)

    def on_both(both: Both) -> dict[str, BothWays]:
        pool = partition.development
        return {
            name: caption_figures(both, corpora.pairs, corpora.tested(name), pool) for name in NAMES
        }

    def across_data_sets(spaces: Spaces, name: str, method: Method) -> dict[str, Any]:
        return on_both(fit_both(spaces, method))

    found: dict[str, dict[str, BothWays]] = {}
    for group in entry.table["methods"]:
        of_group = Measurement(_only(entry, group), corpora.pairs, progress=progress)
        for name, figures in of_group.on(partition, across_data_sets).items():
            mark = " (CNN)" if group == "cnn" and " " not in name else ""
            found[f"{name}{mark}"] = figures
    chance, rows = _Random(0), np.zeros((len(corpora.pairs.captions), 1), np.float32)
    random = Both(rows, rows, (chance, chance), (chance, chance))
    return {"random order": on_both(random), **found}


def _only(entry: Entry, group: str) -> Entry:
    return Entry(entry.name, {**entry.table, "methods": [group]}, entry.paper, entry.folder)


class _Random(PairModel):
    """Knows nothing: every picture and every text anywhere."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def picture_rows(self, X: Any) -> Rows:
        return self.rng.standard_normal((len(X), 64), dtype=np.float32)

    def text_rows(self, Y: Any) -> Rows:
        return self.picture_rows(Y)


def _table(entry: Entry, across: dict[str, Any], within: dict[str, Any]) -> Table:
    rows: dict[str, list[float | int | str | None]] = {}
    for target, figures in entry.published.items():
        for method, sides in figures.items():
            rows[f"SBU → {target}, published: {method}"] = [
                side[_PUBLISHED[column]] if column in _PUBLISHED else None
                for side in sides
                for column in ACROSS
            ]
    for name, methods in (*across.items(), *((f"{n} → {n}", one) for n, one in within.items())):
        for method, ways in methods.items():
            rows[f"{name}: {method}"] = [ways[way][c] for way in WAYS for c in ACROSS]
    columns = [f"{column} {arrow}" for arrow in WAYS.values() for column in ACROSS]
    plain = [column for column in columns if column.startswith("median rank")]
    return Table(entry.titled(""), columns, rows, plain=plain)
