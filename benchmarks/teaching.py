"""Do answers to the pictures that teaching mode asks about bring more than answers to others?

    python -m benchmarks.teaching --data DATA/corel5k --json

A tenth of Corel's development captions teach a collection (CNN vectors): words are known, but from
few examples. Six tenths of its pictures may be asked about, and three tenths, with the test
pictures, are held out. Words
that at least 20 pictures of the first answer and 5 of the second, drawn by a seed, get 100 answers
each, ten a round: to the pictures that ``visterm teach`` asks about, or to pictures drawn at random
from the same rankings, that is from those that teaching may ask about (the first 400 of the
ranking before each round). ``ratio_random`` is the rise of AvgP on held-out pictures by the former
over that by the latter, means over words and seeds; ``ratio_top`` the same against answers to the
best of the ranking, ``ratio_anywhere`` against answers to pictures drawn from all that may be asked
about.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import say, show
from benchmarks.corel_vectors import vectors_by_path
from benchmarks.rankings import log_probabilities, word_model
from benchmarks.vector_collection import put
from visterm.collection import Collection
from visterm.collection.library.teaching import CONSIDERED
from visterm.errors import VistermError
from visterm.experiments.protocol import Protocol, corel5k

SEEDS = (301, 302, 303, 304, 305)
WORDS, ANSWERS, ROUND = 10, 100, 10
LEAST, SHARE = 20, 0.1
WAYS = ("teaching", "random", "top", "anywhere")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.teaching", description=__doc__)
    parser.add_argument("--data", type=Path, help="the corel5k folder")
    parser.add_argument("--vectors", type=Path, help="folder of corel5k.npy and .json")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--words", type=int, default=WORDS)
    parser.add_argument("--ways", nargs="+", default=WAYS)
    parser.add_argument("--least", type=int, default=LEAST, help="pictures to ask that show a word")
    parser.add_argument("--share", type=float, default=SHARE, help="of pictures with a caption")
    parser.add_argument("--no-test", action="store_true", help="hold out development pictures only")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    given = parser.parse_args()
    try:
        protocol = corel5k(given.data)
    except VistermError as error:
        say(f"benchmarks.teaching: {error}")
        return 1
    paths = [*protocol.development.paths, *protocol.test.paths]
    every = vectors_by_path("corel5k", given.data, paths, given.vectors)
    vectors = every[: len(protocol.development)], every[len(protocol.development) :]
    found = []
    for seed in given.seeds:
        with tempfile.TemporaryDirectory() as folder, Collection.open(folder) as collection:
            trial = Trial(collection, protocol, vectors, seed, given)
            found += [trial.taught(word, given.ways, seed) for word in trial.words[: given.words]]
        say(f"seed {seed}: {summary(found)}")
    show(summary(found) | {"by_word": found}, as_json=given.json)
    return 0


def summary(found: list[dict[str, Any]]) -> dict[str, Any]:
    ways = list(found[0]["rise"])
    rise = {name: float(np.mean([one["rise"][name] for one in found])) for name in ways}
    ratios = {
        f"ratio_{name}": round(rise["teaching"] / rise[name], 2) if rise[name] > 0 else None
        for name in ways[1:]
    }
    return {
        **ratios,
        "rise": {name: round(100 * value, 2) for name, value in rise.items()},
        "before": round(100 * float(np.mean([one["before"] for one in found])), 2),
        "words": len(found),
    }


class Trial:
    """A collection that knows a tenth of the captions, pictures to ask about, and some held out."""

    def __init__(
        self,
        collection: Collection,
        protocol: Protocol,
        vectors: tuple[NDArray[np.float32], NDArray[np.float32]],
        seed: int,
        given: argparse.Namespace,
    ) -> None:
        self.collection = collection
        random = np.random.default_rng(seed)
        texts, rows = list(protocol.development.captions), [*vectors[0]]
        captioned, asked, held = np.split(
            random.permutation(len(texts)), [round(given.share * len(texts)), len(texts) * 7 // 10]
        )
        if not given.no_test:
            once = {str(path): number for number, path in enumerate(protocol.test.paths)}
            held = np.concatenate([held, len(texts) + np.arange(len(once))])
            texts += [protocol.test.captions[number] for number in once.values()]
            rows += [vectors[1][number] for number in once.values()]
        folders = np.full(len(texts), "held", dtype=object)
        folders[asked] = "asked"
        told = {int(n) + 1: texts[n] for n in captioned}
        put(collection, np.stack(rows), told, folders.tolist())
        with patch("visterm.collection.training.trainer.starter_of", return_value=None):
            collection.train()
        vocabulary = word_model(collection).vocabulary
        self.counts = vocabulary.counts(texts).toarray() > 0
        self.asked, self.held = np.sort(asked) + 1, np.sort(held) + 1
        enough = (self.counts[self.asked - 1].sum(axis=0) >= given.least) & (
            self.counts[self.held - 1].sum(axis=0) >= given.least // 4
        )
        self.words = random.permutation(np.flatnonzero(enough)).tolist()

    def taught(self, word: int, ways: list[str], seed: int) -> dict[str, Any]:
        """What 100 answers bring to one word, in each way of asking."""
        text = f'"{word_model(self.collection).vocabulary.words[word]}"'
        before = self.avgp(word)
        rise, curves = {}, {}
        for name in ways:
            random = np.random.default_rng([seed, word])
            curve = []
            for _ in range(ANSWERS // ROUND):
                chosen = self.chosen(name, text, random)
                answers = {one: bool(self.counts[one - 1, word]) for one in chosen}
                self.collection.judge_many(text, answers)
                curve.append(round(100 * (self.avgp(word) - before), 2))
            rise[name] = self.avgp(word) - before
            curves[name] = curve
            self.collection.forget_judgements()
        return {"word": text, "before": before, "rise": rise, "curves": curves}

    def chosen(self, name: str, text: str, random: np.random.Generator) -> list[int]:
        asked = f"{text} in:asked captioned:no"
        if name == "teaching":
            return self.collection.questions(asked, ROUND)
        known = {one.picture for one in self.collection.judgements(text)}
        if name == "anywhere":
            free = [one for one in self.asked.tolist() if one not in known]
        else:
            found = self.collection.search(asked, k=CONSIDERED).results
            free = [one.picture for one in found if one.picture not in known]
        if name == "top":
            return free[:ROUND]
        return [free[place] for place in random.permutation(len(free))[:ROUND].tolist()]

    def avgp(self, word: int) -> float:
        """AvgP of a word on the held-out pictures."""
        scores = log_probabilities(self.collection, self.held, [word])[:, 0]
        ranked = self.counts[self.held - 1, word][np.argsort(-scores, kind="stable")]
        hits = np.flatnonzero(ranked) + 1
        return float(np.mean(np.arange(1, len(hits) + 1) / hits))


if __name__ == "__main__":
    raise SystemExit(main())
