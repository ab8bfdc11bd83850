"""How well are pictures found by words of which only a few captions are known?

    python -m benchmarks.few_captions --data DATA --json [--vectors FOLDER] [--validation]

A collection holds 10 to 1,000 captioned pictures and the test pictures, which have no caption:
Flickr8k (one caption a picture), IAPR TC-12 (its prose) and Corel (its labels), drawn five times.
Each word (stem) that at least two captions and five test pictures hold is searched for, and AvgP of
the test pictures is averaged over words; of Flickr8k a test picture answers if one of its five
captions holds the word. Beside `Collection.search` stand, on the same vectors:

- ``logistic``: one balanced logistic regression a word, C by cross-validation over all words;
- ``mean_difference``: the difference of means after whitening with the covariance of all pictures
  of the collection plus ten times its mean eigenvalue;
- ``starter``: the starter's weights alone; words that it does not know are in random order.

``ranked`` is the percentage of words for which all test pictures are ranked by sight. The starter
has seen IAPR TC-12's pictures, so that they are asked with ``own_vectors`` only: the same vectors,
without the starter. ``--own`` asks them all so, as vectors of another network need.
``--validation`` asks for Flickr8k's dev pictures and parts of the training pictures instead of test
pictures.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import say, show
from benchmarks.corel_vectors import vectors_by_path
from benchmarks.few_captions_peers import logistic, mean_difference
from benchmarks.vector_collection import put
from visterm.collection import Collection
from visterm.datasets import read_corel5k, read_flickr8k, read_iaprtc12
from visterm.errors import VistermError
from visterm.starter import load_starter
from visterm.text import Vocabulary
from visterm.text.tokens import STOP_WORDS

SIZES = (10, 30, 100, 300, 1000)
DRAWS = 5
SEEN = ("iaprtc12",)
"""Sets whose pictures the starter has seen."""
LEAST_EXAMPLES, LEAST_ANSWERS = 2, 5

Floats = NDArray[np.float32]
Holds = NDArray[np.bool_]


@dataclass(frozen=True)
class Trial:
    """Pictures that may have captions, and pictures that are asked for."""

    name: str
    pool: Floats
    captions: list[str]
    asked: Floats
    answers: list[str]

    def draws(self, size: int, count: int) -> Iterator[NDArray[np.int64]]:
        for seed in range(count):
            yield np.random.default_rng(seed).permutation(len(self.pool))[:size]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of all three sets")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--vectors", type=Path, help="keep the CNN's vectors in this folder")
    parser.add_argument("--sets", nargs="+", default=["flickr8k", "corel5k", "iaprtc12"])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--validation", action="store_true", help="leave the test pictures alone")
    parser.add_argument("--own", action="store_true", help="own vectors only: of any network")
    given = parser.parse_args()
    found: dict[str, Any] = {"own_vectors": {}}
    try:
        for name in given.sets:
            trial = read_trial(name, given.data / name, given.vectors, given.validation)
            for size in given.sizes:
                for own, row in measured(trial, size, given.draws, only_own=given.own):
                    say(f"{name}, {size} captions{', own vectors' if own else ''}: {row}")
                    where = found["own_vectors"] if own else found
                    where.setdefault(name, {})[str(size)] = row
    except VistermError as error:
        say(f"benchmarks.few_captions: {error}")
        return 1
    show(found, as_json=given.json)
    return 0


def read_trial(name: str, folder: Path, kept: Path | None, validation: bool) -> Trial:
    """A data set as pictures that teach and pictures that are asked for."""
    data = {"flickr8k": read_flickr8k, "corel5k": read_corel5k, "iaprtc12": read_iaprtc12}[name](
        folder
    )
    training, tested = data.train, data.tested
    if validation and data.validation is not None and len(data.validation):
        tested = data.validation
    elif validation:
        order = np.random.default_rng(0).permutation(len(training))
        some = len(tested)
        training, tested = training.take(order[some:]), training.take(order[:some])
    every = [*training.paths, *tested.paths]
    vectors = vectors_by_path(name, folder, every, kept)
    first = len(training)
    captions = [str(text).split("\n")[0] for text in training.captions]
    return Trial(name, vectors[:first], captions, vectors[first:], list(tested.captions))


def measured(
    trial: Trial, size: int, draws: int, *, only_own: bool = False
) -> Iterator[tuple[bool, dict[str, Any]]]:
    """Mean AvgP of all words, in percent, over draws: with own vectors (True), and the starter."""
    rows: dict[bool, list[dict[str, float]]] = {True: [], False: []}
    for drawn in trial.draws(size, draws):
        texts = [trial.captions[number] for number in drawn]
        vocabulary = Vocabulary.from_captions(
            texts, min_captions=LEAST_EXAMPLES, stop_words=STOP_WORDS
        )
        held = vocabulary.counts(texts).toarray() > 0
        answers = vocabulary.counts(trial.answers).toarray() > 0
        words = np.flatnonzero((answers.sum(axis=0) >= LEAST_ANSWERS) & ~held.all(axis=0))
        if not len(words):
            continue
        names = [vocabulary.words[word] for word in words]
        held, answers = held[:, words], answers[:, words]
        peers = {
            "logistic": logistic(trial.pool[drawn], held, trial.asked),
            "mean_difference": mean_difference(trial.pool[drawn], held, trial.asked),
        }
        row = {name: average_precision(score, answers) for name, score in peers.items()}
        for own in (True,) if only_own or trial.name in SEEN else (True, False):
            scores, ranked = searched(trial, drawn, texts, names, own)
            found = {"visterm": average_precision(scores, answers), **row}
            if not own:
                found["starter"] = average_precision(started(names, trial.asked), answers)
            rows[own].append(found | {"ranked": ranked, "words": len(words)})
    for own, found_rows in rows.items():
        if found_rows:
            names = list(found_rows[0])
            yield own, {n: round(float(np.mean([r[n] for r in found_rows])), 2) for n in names}


def searched(
    trial: Trial, drawn: NDArray[np.int64], texts: list[str], words: list[str], own: bool
) -> tuple[Floats, float]:
    """Scores that order the asked pictures as searches do, and how many words are ranked."""
    vectors = np.concatenate([trial.pool[drawn], trial.asked])
    scores = np.zeros((len(trial.asked), len(words)), np.float32)
    ranked = 0
    starter = patch("visterm.collection.training.trainer.starter_of", return_value=None)
    with (
        tempfile.TemporaryDirectory() as folder,
        Collection.open(folder) as collection,
        starter if own else nullcontext(),
    ):
        put(collection, vectors, {n + 1: text for n, text in enumerate(texts)})
        collection.train(force=True)
        for place, word in enumerate(words):
            query = f'"{word}" captioned:no' if " " in word else f"{word} captioned:no"
            results = collection.search(query, len(trial.asked)).results
            ranked += len(results) == len(trial.asked)
            for rank, result in enumerate(results):
                scores[int(Path(str(result.path)).stem) - 1 - len(drawn), place] = (
                    len(results) - rank
                )
    return scores, round(100 * ranked / len(words), 1)


def started(words: list[str], asked: Floats) -> Floats:
    """The starter's scores."""
    starter, random = load_starter(), np.random.default_rng(0)
    scores = random.standard_normal((len(asked), len(words))).astype(np.float32)
    for place, word in enumerate(words):
        number = starter.find(word)
        if number is not None:
            scores[:, place] = asked @ starter.weights[number]
    return scores


def average_precision(scores: Floats, answers: Holds) -> float:
    """Mean AvgP over words, in percent."""
    order = np.argsort(-scores, axis=0, kind="stable")
    right = np.take_along_axis(answers, order, axis=0)
    precision = np.cumsum(right, axis=0) / np.arange(1, len(right) + 1)[:, None]
    return 100 * float(((precision * right).sum(axis=0) / right.sum(axis=0)).mean())


if __name__ == "__main__":
    raise SystemExit(main())
