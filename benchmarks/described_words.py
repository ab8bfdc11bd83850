"""Are the right words said of a picture, and no words about pictures?

    python -m benchmarks.described_words --data DATA/iaprtc12 --json

Two collections of IAPR TC-12 pictures (CNN vectors, without the starter) that know nothing of what
is said of the test pictures. One learns the training labels: ``p_at_5`` is how many of the five
words that `describe` says of each test picture are among its labels, in percent, beside the
model's opinion alone. The other learns the training captions: ``talk_words`` are those of 100 words
about pictures (`benchmarks.talk_words`) that 1,000 descriptions of test pictures hold.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import say, show
from benchmarks.corel_vectors import vectors_by_path
from benchmarks.talk_words import TALK_WORDS
from benchmarks.vector_collection import put
from visterm.collection import Collection
from visterm.collection.library.descriptions import values_of
from visterm.collection.store.snapshot import snapshot
from visterm.datasets import read_iaprtc12
from visterm.errors import VistermError
from visterm.text import Vocabulary

DESCRIBED = 1000

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Trial:
    """Pictures that teach and pictures that are asked for, with their labels or captions."""

    vectors: NDArray[np.float32]
    teaching: list[str]
    asked: list[str]

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Those that are asked for, as the collection numbers them."""
        return np.arange(len(self.teaching), len(self.vectors)) + 1

    def paths(self, root: Path, most: int | None = None) -> list[Path]:
        return [root / f"{number:05d}.jpg" for number in self.numbers[:most]]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="IAPR TC-12's folder, or above it")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--vectors", type=Path, help="keep the CNN's vectors in this folder")
    parser.add_argument("--validation", action="store_true", help="ask for training pictures")
    asked = parser.parse_args()
    inside = asked.data / "iaprtc12"
    try:
        labels, captions = read_trials(inside if inside.is_dir() else asked.data, asked)
    except VistermError as error:
        say(f"benchmarks.described_words: {error}")
        return 1
    found = by_labels(labels)
    talk = by_captions(captions)
    show({"p_at_5": found["p_at_5"], "labels": found, "talk_words": talk}, as_json=asked.json)
    return 0


def read_trials(folder: Path, asked: argparse.Namespace) -> tuple[Trial, Trial]:
    """The pictures with their labels, and with their captions."""
    data = read_iaprtc12(folder)
    training, tested = data.train, data.tested
    if asked.validation:
        order = np.random.default_rng(0).permutation(len(training))
        first = len(order) // 10
        training, tested = training.take(np.sort(order[first:])), training.take(order[:first])
    vectors = vectors_by_path("iaprtc12", folder, training.paths + tested.paths, asked.vectors)
    return (
        Trial(vectors, list(training.words), list(tested.words)),
        Trial(vectors, list(training.captions), list(tested.captions)),
    )


@contextmanager
def collection_of(trial: Trial) -> Iterator[Collection]:
    with (
        tempfile.TemporaryDirectory() as folder,
        Collection.open(folder) as collection,
        patch("visterm.collection.training.trainer.starter_of", return_value=None),
    ):
        put(collection, trial.vectors, {n + 1: text for n, text in enumerate(trial.teaching)})
        yield collection


def by_labels(trial: Trial) -> dict[str, Any]:
    """How many of the five likeliest words are labels."""
    with collection_of(trial) as collection:
        trained = collection.train()
        say(f"learnt {trained.words} labels of {trained.pictures} pictures")
        now = snapshot(collection.catalogue)
        model = now.words
        answers = model.vocabulary.counts(trial.asked).toarray() > 0
        said = collection.descriptions(trial.paths(collection.root), words=5, phrases=0, captions=0)
        right = [
            [answers[n, model.vocabulary.number(one.word)] for one in about.words]
            for n, about in enumerate(said)
        ]
        values = values_of(now, model, trial.numbers.tolist())
        first = np.argsort(-values, axis=1, kind="stable")[:, :5]
        found = {
            "p_at_5": _percent(np.sum([sum(row) for row in right]) / (5 * len(right))),
            "p_at_5_of_the_model_alone": _percent(np.take_along_axis(answers, first, 1).mean()),
            "words": trained.words,
            "pictures": len(right),
        }
    say(f"labels: {found}")
    return found


def by_captions(trial: Trial) -> dict[str, Any]:
    """Which words about pictures are said of them."""
    with collection_of(trial) as collection:
        trained = collection.train()
        say(f"learnt {trained.words} words of {trained.pictures} captions")
        return _talk(collection, trial.paths(collection.root, DESCRIBED))


def _talk(collection: Collection, paths: list[Path]) -> dict[str, Any]:
    talk = Vocabulary.of_words(TALK_WORDS)
    said = [
        one.word
        for about in collection.descriptions(paths, phrases=0, captions=0)
        for one in about.words
    ]
    found = sorted({word for word in said if word in talk})
    return {"descriptions": len(paths), "words_said": len(set(said)), "found": found}


def _percent(fraction: float) -> float:
    return round(100 * float(fraction), 2)


if __name__ == "__main__":
    raise SystemExit(main())
