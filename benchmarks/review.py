"""Does ``visterm review`` find captions that are wrong?

    python -m benchmarks.review --data ROOT --json

Of the development captions of Corel and IAPR TC-12 (``ROOT/corel5k``, ``ROOT/iaprtc12``), a tenth
of the pictures of each word lose it, and as many others get it. A collection (CNN vectors) trains
on these captions, and reviewing proposes 50 captions of each word that at least 100 pictures have:
those that hold it and those that lack it in turn. ``precision_at_50`` is the fraction of proposals
that were changed, the mean over words; ``times_random`` that over the fraction among captions drawn
at random, half of those that hold the word and half of those that lack it; ``holding_…`` and
``lacking_…`` are each kind by itself. ``likely`` is the share of proposals that are said to be more
likely wrong than right, ``likely_precision`` the fraction of these that were changed. Every figure
is the mean and the standard deviation over seeds. No test picture is looked at.
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
    parser.add_argument("--pictures", type=int, help="the first so many; all without")
    parser.add_argument("--words", type=int, default=40, help="words of each, at most")
    parser.add_argument("--seeds", type=int, nargs="+", default=[501], help="each one trial")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    given = parser.parse_args()
    results = {}
    for name in [given.only] if given.only else READERS:
        try:
            protocol = protocol_of(READERS[name](given.data / name))
            paths = protocol.development.paths[: given.pictures]
        except VistermError as error:
            say(f"benchmarks.review: {error}")
            return 1
        vectors = vectors_by_path(name, given.data / name, paths, given.vectors)
        trials = []
        for seed in given.seeds:
            trials.append(trial(protocol, vectors, given.words, seed))
            say(f"{name}, seed {seed}: {trials[-1]}")
        results[name] = {
            figure: [round(float(summary), 4) for summary in (np.mean(values), np.std(values))]
            for figure in trials[0]
            if (values := [one[figure] for one in trials])
        } | {"seeds": given.seeds}
    show(results, as_json=given.json)
    return 0


def trial(protocol: Protocol, vectors: Any, most: int, seed: int) -> dict[str, float]:
    """Proposals for the words of one data set, and how many of them are right."""
    random = np.random.default_rng(seed)
    words = protocol.vocabulary.words
    right = protocol.captions.toarray()[: len(vectors)] > 0
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
    hits: dict[str, list[float]] = {"both": [], "holding": [], "lacking": []}
    rates: dict[str, list[float]] = {kind: [] for kind in hits}
    likely = []
    with (
        tempfile.TemporaryDirectory() as folder,
        Collection.open(folder, create=True) as collection,
    ):
        put(collection, vectors, {n: text for n, text in captions.items() if text})
        collection.train()
        for word in chosen.tolist():
            wrong, holds = given[:, word] != right[:, word], given[:, word]
            proposed = collection.doubts(words[word], PROPOSALS)
            found = [(wrong[one.picture - 1], one) for one in proposed]
            hits["both"].append(float(np.mean([hit for hit, _ in found])))
            hits["holding"].append(float(np.mean([hit for hit, one in found if one.holds])))
            hits["lacking"].append(float(np.mean([hit for hit, one in found if not one.holds])))
            likely += [(hit, one.is_likely) for hit, one in found]
            random_rates = wrong[holds].mean(), wrong[~holds].mean()
            for kind, rate in zip(hits, (np.mean(random_rates), *random_rates), strict=True):
                rates[kind].append(float(rate))
    said = np.array([hit for hit, is_likely in likely if is_likely])
    figures: dict[str, float] = {"words": len(chosen)}
    for kind in hits:
        name = "" if kind == "both" else f"{kind}_"
        figures[f"{name}precision_at_50"] = float(np.mean(hits[kind]))
        figures[f"{name}times_random"] = float(np.mean(hits[kind]) / np.mean(rates[kind]))
    return figures | {"likely": said.size / len(likely), "likely_precision": float(said.mean())}


if __name__ == "__main__":
    raise SystemExit(main())
