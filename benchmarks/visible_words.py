"""Are only words predicted that pictures can show, and are the right ones said of a picture?

    python -m benchmarks.visible_words --data DATA/iaprtc12 --json

Two collections of IAPR TC-12 pictures (CNN vectors, without the starter) that know nothing of what
is said of the test pictures. One learns the training labels: ``p_at_5`` is how many of the five
words that `describe` says of each test picture are among its labels, in percent, beside the
model's opinion alone. The other learns the training captions, twice: all their words, as the peer,
and those that can be seen. ``share_of_vocabulary`` is how many words are predicted, and
``index_bytes`` what the index takes; ``talk_words`` are those of 100 words about pictures
(`benchmarks.talk_words`) that 1,000 descriptions of test pictures hold.

AvgP over the test pictures, of queries drawn from their captions, half of one word and half of two:
of queries of predicted words by sight alone, and of all queries when every second test picture has
its caption. ``all_words`` there is the peer with captions, ``all_words_by_sight`` without, which is
how searches were answered before captions counted.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import say, show
from benchmarks.corel_vectors import vectors_by_path
from benchmarks.talk_words import TALK_WORDS
from benchmarks.vector_collection import caption, put
from visterm.collection import Collection, UnknownWords
from visterm.collection.prediction.explanations import values_of
from visterm.collection.search.rankers import word_ranker
from visterm.collection.store.active_model import active_model
from visterm.datasets import read_iaprtc12
from visterm.errors import VistermError
from visterm.evaluation import Evaluation, compare, evaluate
from visterm.text import Relevance, Vocabulary, relevance_from_captions
from visterm.text.query import parse_query

DESCRIBED = 1000
BARS = {"p_at_5": 50.0, "share_of_vocabulary": 25.0}

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
    parser.add_argument("--iterations", type=int, help="triplets of a fit; C is then 0.1")
    parser.add_argument("--queries", type=int, default=1000, help="queries to draw")
    parser.add_argument("--validation", action="store_true", help="ask for training pictures")
    asked = parser.parse_args()
    inside = asked.data / "iaprtc12"
    try:
        labels, captions = read_trials(inside if inside.is_dir() else asked.data, asked)
    except VistermError as error:
        say(f"benchmarks.visible_words: {error}")
        return 1
    limits = {} if asked.iterations is None else {"C": 0.1, "max_iter": asked.iterations}
    found = {"labels": by_labels(labels, limits)}
    found |= by_captions(captions, limits, asked.queries)
    show(
        {
            "share_of_vocabulary": found["words"]["share"],
            "p_at_5": found["labels"]["p_at_5"],
            "talk_words": found.pop("talk_words"),
            **found,
            "bars": BARS,
        },
        as_json=asked.json,
    )
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


def by_labels(trial: Trial, limits: dict[str, Any]) -> dict[str, Any]:
    """How many of the five likeliest words are labels."""
    with collection_of(trial) as collection:
        trained = collection.train(**limits)
        say(f"learnt {trained.words} labels of {trained.pictures} pictures")
        now = active_model(collection.catalogue)
        answers = now.vocabulary.counts(trial.asked).toarray() > 0
        said = collection.descriptions(trial.paths(collection.root), words=5, phrases=0, captions=0)
        right = [
            [answers[n, now.vocabulary.number(one.word)] for one in about.words]
            for n, about in enumerate(said)
        ]
        values = values_of(collection.catalogue, now, trial.numbers.tolist())
        first = np.argsort(-values, axis=1, kind="stable")[:, :5]
        found = {
            "p_at_5": _percent(np.sum([sum(row) for row in right]) / (5 * len(right))),
            "p_at_5_of_the_model_alone": _percent(np.take_along_axis(answers, first, 1).mean()),
            "words": trained.words,
            "unseen_words": trained.unseen_words,
            "pictures": len(right),
        }
    say(f"labels: {found}")
    return found


def by_captions(trial: Trial, limits: dict[str, Any], queries: int) -> dict[str, Any]:
    """What is predicted, what it takes, what is said, and how well pictures are found."""
    every_second = {int(n): text for n, text in zip(trial.numbers, trial.asked, strict=True)}
    every_second = {n: text if n % 2 else "" for n, text in every_second.items()}
    with collection_of(trial) as collection:
        catalogue = collection.catalogue
        with patch("visterm.collection.training.training_set.visible_words", _all_words):
            collection.train(**limits)
        before = active_model(catalogue).vocabulary
        bytes_before = _index_bytes(collection)
        relevance = _drawn(trial.asked, before, queries)
        texts = [
            " ".join(f'"{before.words[word]}"' for word in relevance.queries.indices[a:b])
            for a, b in pairwise(relevance.queries.indptr)
        ]
        ranks = {"all_words_by_sight": _ranked(collection, trial.numbers, texts)}
        caption(collection, every_second)
        ranks["all_words"] = _ranked(collection, trial.numbers, texts)
        caption(collection, dict.fromkeys(every_second, ""))
        trained = collection.train(force=True, **limits)
        after = active_model(catalogue).vocabulary
        words = {
            "in_captions": len(before),
            "predicted": len(after),
            "share": _percent(len(after) / len(before)),
            "index_bytes": {"all_words": bytes_before, "visible_words": _index_bytes(collection)},
        }
        say(f"captions: {trained.words} words, {words}")
        talk = _talk(collection, trial.paths(collection.root, DESCRIBED))
        by_sight = _ranked(collection, trial.numbers, texts)
        caption(collection, every_second)
        ranks["visible_words"] = _ranked(collection, trial.numbers, texts)
    asked = relevance.queries.tocsr()
    predicted = np.array([word in after for word in before.words])
    whole = np.array([predicted[asked.indices[a:b]].all() for a, b in pairwise(asked.indptr)])
    some = relevance.take(np.flatnonzero(whole))
    sight = {
        "all_words": evaluate(ranks["all_words_by_sight"][whole], some, ["AvgP"]),
        "visible_words": evaluate(by_sight[whole], some, ["AvgP"]),
    }
    half = {name: evaluate(one, relevance, ["AvgP"]) for name, one in ranks.items()}
    return {
        "talk_words": talk,
        "words": words,
        "queries_of_predicted_words": _compared(sight, "all_words"),
        "all_queries_half_captioned": _compared(half, "all_words_by_sight"),
    }


def _all_words(vectors: Any, captions: Any, words: Any, known: Any) -> NDArray[np.bool_]:
    return np.ones(len(words), bool)


def _compared(found: dict[str, Evaluation], peer: str) -> dict[str, Any]:
    tested = compare(found["visible_words"], found[peer])
    avgp = {name: round(100 * one.mean()["AvgP"], 2) for name, one in found.items()}
    queries = len(found["visible_words"].per_query["AvgP"])
    return avgp | {
        "queries": queries,
        f"above_{peer}": round(100 * tested.difference, 2),
        "p_value": tested.p_value,
    }


def _talk(collection: Collection, paths: list[Path]) -> dict[str, Any]:
    talk = Vocabulary.of_words(TALK_WORDS)
    said = [
        one.word
        for about in collection.descriptions(paths, phrases=0, captions=0)
        for one in about.words
    ]
    found = sorted({word for word in said if word in talk})
    return {"descriptions": len(paths), "words_said": len(set(said)), "found": found}


def _drawn(texts: list[str], vocabulary: Vocabulary, queries: int) -> Relevance:
    found = relevance_from_captions(vocabulary.counts(texts), vocabulary.idf, max_words=2)
    random = np.random.default_rng(0)
    half = [np.flatnonzero(found.words_per_query == size) for size in (1, 2)]
    some = [random.choice(one, min(len(one), queries // 2), replace=False) for one in half]
    return found.take(np.sort(np.concatenate(some)))


def _ranked(collection: Collection, numbers: NDArray[np.int64], texts: list[str]) -> Floats:
    """A score for each picture that ranks it as the collection does; those not found come last."""
    now = active_model(collection.catalogue)
    scores = np.full((len(texts), len(numbers)), -float(len(numbers)))
    mask = np.zeros(int(numbers[-1]) + 1, bool)
    mask[numbers] = True
    for row, text in enumerate(texts):
        try:
            ranker = word_ranker(collection.catalogue, now, parse_query(text))
        except UnknownWords:
            continue
        ids, _ = ranker.best(len(numbers), mask)
        scores[row, np.searchsorted(numbers, ids)] = -np.arange(len(ids), dtype=float)
    return scores


def _index_bytes(collection: Collection) -> int:
    folder = active_model(collection.catalogue).version.index
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _percent(fraction: float) -> float:
    return round(100 * float(fraction), 2)


if __name__ == "__main__":
    raise SystemExit(main())
