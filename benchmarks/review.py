"""Does ``visterm review`` find captions that are wrong?

    python -m benchmarks.review --data ROOT --json

Of the development captions of Corel and IAPR TC-12 (``ROOT/corel5k``, ``ROOT/iaprtc12``), a tenth
of the pictures of each word lose it, and as many others get it. A collection (CNN vectors) trains
on these captions, and reviewing proposes 50 captions of each word that at least 100 pictures have:
those that hold it and those that lack it in turn. ``precision_at_50`` is the fraction of proposals
that were changed, the mean over words; ``times_random`` that over the fraction among captions drawn
at random, half of those that hold the word and half of those that lack it; ``holding`` and
``lacking`` are each kind by itself. No test picture is looked at.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import say, show
from benchmarks.corel_vectors import vectors_by_path
from benchmarks.vector_collection import put
from visterm.collection import Collection
from visterm.datasets import read_corel5k, read_iaprtc12
from visterm.errors import VistermError
from visterm.experiments.protocol import Protocol, protocol_of

READERS = {"corel5k": read_corel5k, "iaprtc12": read_iaprtc12}
SHARE, PROPOSALS, LEAST = 0.1, 50, 100


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.review", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of corel5k and iaprtc12")
    parser.add_argument("--vectors", type=Path, help="folder of NAME.npy and NAME.json")
    parser.add_argument("--only", choices=READERS, help="one of the data sets")
    parser.add_argument("--words", type=int, default=40, help="words of each, at most")
    parser.add_argument("--seed", type=int, default=501)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    given = parser.parse_args()
    results = {}
    for name in [given.only] if given.only else READERS:
        try:
            protocol = protocol_of(READERS[name](given.data / name))
        except VistermError as error:
            say(f"benchmarks.review: {error}")
            return 1
        paths = protocol.development.paths
        vectors = vectors_by_path(name, given.data / name, paths, given.vectors)
        results[name] = trial(protocol, vectors, given.words, given.seed)
        say(f"{name}: {results[name]}")
    show(results, as_json=given.json)
    return 0


def trial(protocol: Protocol, vectors: Any, most: int, seed: int) -> dict[str, Any]:
    """Proposals for the words of one data set, and how many of them are right."""
    random = np.random.default_rng(seed)
    words = protocol.vocabulary.words
    right = protocol.captions.toarray() > 0
    given = right.copy()
    for word in range(len(words)):
        held, lacking = np.flatnonzero(right[:, word]), np.flatnonzero(~right[:, word])
        count = round(SHARE * held.size)
        given[random.choice(held, count, replace=False), word] = False
        given[random.choice(lacking, min(count, lacking.size), replace=False), word] = True
    captions = {
        n + 1: " ".join(words[w] for w in np.flatnonzero(row)) for n, row in enumerate(given)
    }
    chosen = np.flatnonzero(right.sum(axis=0) >= LEAST)
    chosen = np.sort(random.permutation(chosen)[:most])
    kinds: dict[str, list[float]] = {"holding": [], "lacking": [], "both": []}
    chance: dict[str, list[float]] = {"holding": [], "lacking": [], "both": []}
    with (
        tempfile.TemporaryDirectory() as folder,
        Collection.open(folder, create=True) as collection,
    ):
        put(collection, vectors, {n: text for n, text in captions.items() if text})
        collection.train()
        for word in chosen.tolist():
            wrong = given[:, word] != right[:, word]
            proposed = collection.doubts(words[word], PROPOSALS)
            hits = {
                "holding": [wrong[one.picture - 1] for one in proposed if one.holds],
                "lacking": [wrong[one.picture - 1] for one in proposed if not one.holds],
                "both": [wrong[one.picture - 1] for one in proposed],
            }
            rates = [wrong[given[:, word]].mean(), wrong[~given[:, word]].mean()]
            for kind, rate in zip(kinds, (*rates, np.mean(rates)), strict=True):
                kinds[kind].append(float(np.mean(hits[kind])))
                chance[kind].append(float(rate))
    precision = {kind: float(np.mean(values)) for kind, values in kinds.items()}
    times = {kind: precision[kind] / float(np.mean(chance[kind])) for kind in kinds}
    return {
        "words": len(chosen),
        "precision_at_50": round(precision["both"], 3),
        "times_random": round(times["both"], 2),
        **{
            kind: {"precision": round(precision[kind], 3), "times_random": round(times[kind], 2)}
            for kind in ("holding", "lacking")
        },
    }


if __name__ == "__main__":
    raise SystemExit(main())
