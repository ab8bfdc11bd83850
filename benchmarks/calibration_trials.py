"""What `benchmarks.calibration` asks of a data set: who teaches, who is asked for, who judges."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from benchmarks.calibration_measures import Asked
from benchmarks.corel_vectors import vectors_by_path
from visterm.calibration.calibration import GOOD, Calibration
from visterm.datasets import read_corel5k, read_flickr8k, read_iaprtc12
from visterm.errors import BadInput
from visterm.experiments.protocol import protocol_of
from visterm.text import Vocabulary, relevance_from_captions

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]

_READERS = {"corel5k": read_corel5k, "flickr8k": read_flickr8k, "iaprtc12": read_iaprtc12}
_DRAWS = 3000
"""Captions that a query of one, of two and of three words is drawn from, each once."""


@dataclass(frozen=True, eq=False)
class Trial:
    """Pictures that teach, then those that are asked for: ``first`` is the first of these.

    ``captions`` are what the collection is given, nothing for those that are asked for;
    ``judging`` what judges these, a line a caption. ``vocabulary`` are the words to ask for, where
    a data set says so; then every set of words that a caption holds is a query.
    """

    name: str
    vectors: Floats
    captions: list[str]
    judging: list[str]
    first: int
    vocabulary: Vocabulary | None = None

    @property
    def judged_vectors(self) -> Floats:
        return self.vectors[self.first :]

    def words_of(
        self, vocabulary: Vocabulary, find: Callable[[str], int | None], covered: Bools
    ) -> Words:
        """The words to ask for that a model knows and that are ``covered``."""
        known = vocabulary if self.vocabulary is None else self.vocabulary
        found = [(place, find(word)) for place, word in enumerate(known.words)]
        pairs = [(place, n) for place, n in found if n is not None and covered[n]]
        places, numbers = np.array(pairs, np.int64).reshape(-1, 2).T
        return Words(known, places, numbers)


@dataclass(frozen=True, eq=False)
class Words:
    """Words to ask for: their places in a vocabulary, and their numbers in a model."""

    vocabulary: Vocabulary
    places: NDArray[np.int64]
    numbers: NDArray[np.int64]

    def held_by(self, texts: Sequence[str]) -> csr_array:
        return self.vocabulary.counts(texts)[:, self.places] > 0


def named_folders(data: Path | None) -> dict[str, Path]:
    """The data sets in a folder, or the one that it is."""
    if data is None:
        raise BadInput("name the folder of data sets with --data")
    if data.name in _READERS:
        return {data.name: data}
    found = {name: data / name for name in _READERS if (data / name).is_dir()}
    if not found:
        raise BadInput(f"{data} holds none of {', '.join(_READERS)}")
    return found


def read_trials(
    name: str, folder: Path, vectors: Path | None, *, validation: bool
) -> Iterator[Trial]:
    """A data set's trials: with one caption a picture, and with five where there are so many."""
    protocol = protocol_of(_READERS[name](folder))
    taught, judged = protocol.development, protocol.test
    if validation:
        training, held = protocol.split
        taught, judged = (protocol.development.take(some) for some in (training, held))
    rows = vectors_by_path(name, folder, [*taught.paths, *judged.paths], vectors)
    texts = taught.captions
    variants = {name: texts}
    if name == "flickr8k":
        variants = {name: [text.split("\n")[0] for text in texts], f"{name}_five_captions": texts}
    for variant, captions in variants.items():
        yield Trial(
            variant,
            rows,
            captions + [""] * len(judged),
            judged.captions,
            len(taught),
            protocol.vocabulary if name == "corel5k" else None,
        )


def answered(trial: Trial, words: Words, calibration: Calibration, rows: Floats) -> list[Asked]:
    """Every query's ranking of the judged pictures, with probabilities and good matches."""
    held = words.held_by(trial.judging).toarray()
    return [
        _asked(words.numbers[query], held[:, query].all(axis=1), calibration, rows)
        for query in _queries(trial, words)
    ]


def _asked(
    query: NDArray[np.int64], answers: Bools, calibration: Calibration, rows: Floats
) -> Asked:
    scores = rows[:, query].sum(axis=1, dtype=np.float64)
    order = np.argsort(-scores, kind="stable")
    weights = np.ones(len(query))
    least = calibration.least_score(query, weights, GOOD)
    likely = calibration.probabilities(query, weights, scores[order])
    return Asked(len(query), likely, answers[order], int((scores >= least).sum()))


def _queries(trial: Trial, words: Words) -> list[NDArray[np.int64]]:
    """Sets of words: all that captions hold, or those of one, two and three that are drawn."""
    if trial.vocabulary is not None:
        held = words.held_by(trial.judging)
        queries = relevance_from_captions(held, np.ones(held.shape[1])).queries
        return [queries.indices[a:b].astype(np.int64) for a, b in pairwise(queries.indptr)]
    random = np.random.default_rng(0)
    captions = [line for text in trial.judging for line in text.split("\n")]
    held = words.held_by(captions)
    lines = [held.indices[a:b] for a, b in pairwise(held.indptr)]
    drawn: dict[tuple[int, ...], None] = {}
    for size in (1, 2, 3):
        for number in random.choice(len(lines), min(_DRAWS, len(lines)), replace=False):
            if len(lines[number]) >= size:
                chosen = random.choice(lines[number], size, replace=False)
                drawn[tuple(sorted(chosen.tolist()))] = None
    return [np.array(query, np.int64) for query in drawn]
