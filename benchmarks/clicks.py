"""What do a person's clicks teach? Corel, a model that knows half of the captions, 200 queries.

    python -m benchmarks.clicks --data DATA/corel5k --json

Half of the development captions teach a collection (CNN vectors); the pictures of the other half
and the test pictures are without captions: the pool. 200 queries that at least 8 pictures of the
pool answer, drawn by a seed, each get up to 5 yes and 5 no: somebody looks at the 50 best pictures
and says what is so to some of them, drawn by the seed. All of it is done by `Collection.judge` on a
real collection, one click after another, all clicks staying. Then AvgP of those queries over the
pictures that got no click for them, before and after; the same where every fifth click is wrong;
and AvgP of 400 other queries over the whole pool. At the end everything is taken back, which must
restore every score bit for bit. The collection learns from these captions only, not from the
starter on. All of it is done with each of the seeds 101 to 105; figures are means over them.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import say, show
from benchmarks.corel_vectors import corel_vectors
from benchmarks.rankings import log_probabilities, word_model
from benchmarks.vector_collection import put
from visterm.collection import Collection
from visterm.errors import VistermError
from visterm.experiments.protocol import Protocol, corel5k
from visterm.text import Relevance, relevance_from_captions

QUERIES, OTHERS = 200, 400
LEAST, LOOKED_AT, EACH = 8, 50, 5
SEEDS = (101, 102, 103, 104, 105)
BARS = {"rise": 4.5, "rise_with_wrong_clicks": 2.5, "others_fall_at_most": 0.3}
KINDS = {"right": 0.0, "one_in_five_wrong": 0.2}

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Trial:
    """A collection, its pool of pictures without captions, and what answers which query there."""

    collection: Collection
    pool: NDArray[np.int64]
    relevance: Relevance
    clicked: NDArray[np.int64]
    others: NDArray[np.int64]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="the corel5k folder")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--vectors", type=Path, help="keep the CNN's vectors in this .npy file")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--queries", type=int, default=QUERIES, help="queries that get clicks")
    parser.add_argument("--no-test", action="store_true", help="a pool without the test pictures")
    asked = parser.parse_args()
    try:
        protocol = corel5k(asked.data)
    except VistermError as error:
        say(f"benchmarks.clicks: {error}")
        return 1
    vectors = corel_vectors(protocol, asked.vectors)
    found = []
    for seed in asked.seeds:
        with tempfile.TemporaryDirectory() as folder, Collection.open(folder) as collection:
            trial = made(collection, protocol, vectors, seed, with_test=not asked.no_test)
            trial = replace(trial, clicked=trial.clicked[: asked.queries])
            found.append({"seed": seed, **measure(trial, seed)})
    show(together(found), as_json=asked.json)
    return 0


def made(
    collection: Collection,
    protocol: Protocol,
    vectors: tuple[Floats, Floats],
    seed: int,
    *,
    with_test: bool,
) -> Trial:
    """The collection, taught by half of the development captions, and the queries."""
    random = np.random.default_rng(seed)
    texts = list(protocol.development.captions)
    rows = [*vectors[0]]
    if with_test:
        once = {str(path): number for number, path in enumerate(protocol.test.paths)}
        texts += [protocol.test.captions[number] for number in once.values()]
        rows += [vectors[1][number] for number in once.values()]
    captioned = random.permutation(len(protocol.development))[: len(protocol.development) // 2]
    put(collection, np.stack(rows), {int(n) + 1: texts[n] for n in captioned})
    with patch("visterm.collection.training.trainer.starter_of", return_value=None):
        trained = collection.train()
    say(f"learnt {trained.words} words from {trained.pictures} captions")
    pool = np.setdiff1d(np.arange(len(texts)), captioned)
    vocabulary = word_model(collection).vocabulary
    counts = vocabulary.counts([texts[number] for number in pool])
    relevance = relevance_from_captions(counts, vocabulary.idf)
    enough = random.permutation(np.flatnonzero(relevance.relevant_per_query >= LEAST))
    clicked = enough[:QUERIES]
    rest = random.permutation(np.setdiff1d(np.arange(len(relevance)), clicked))
    return Trial(collection, pool + 1, relevance, clicked, rest[:OTHERS])


def measure(trial: Trial, seed: int) -> dict[str, Any]:
    before = text_rows(trial)
    found: dict[str, Any] = {
        "pool": len(trial.pool),
        "queries": len(trial.clicked),
        "others": len(trial.others),
    }
    for name, share in KINDS.items():
        begin = time.perf_counter()
        masks, clicks = click(trial, share, np.random.default_rng(seed + 1))
        seconds = time.perf_counter() - begin
        say(f"{clicks} clicks, {1000 * seconds / clicks:.0f} ms each with the search before it")
        after = text_rows(trial)
        found[name] = {"clicks": clicks, **compared(trial, before, after, masks)}
        say(f"{name}: {found[name]}")
        trial.collection.forget_judgements()
        found["restored_bit_for_bit"] = bool(np.array_equal(before, text_rows(trial)))
    return found


def together(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over the seeds, and what each of them gave."""
    means = {
        name: {key: round(float(np.mean([one[name][key] for one in found])), 2) for key in about}
        for name, about in ((name, found[0][name]) for name in KINDS)
    }
    fall = max(-means[name]["others_change"] for name in KINDS)
    return means | {
        "restored_bit_for_bit": all(one["restored_bit_for_bit"] for one in found),
        "bars": BARS,
        "rises_by_at_least_4.5": means["right"]["rise"] >= BARS["rise"],
        "rises_by_at_least_2.5_with_wrong_clicks": means["one_in_five_wrong"]["rise"]
        >= BARS["rise_with_wrong_clicks"],
        "others_fall_by_at_most_0.3": fall <= BARS["others_fall_at_most"],
        "seeds": found,
    }


def click(
    trial: Trial, wrong: float, random: np.random.Generator
) -> tuple[list[NDArray[np.bool_]], int]:
    """Every query's clicks; returns who got none in each query, and how many clicks there were."""
    vocabulary = word_model(trial.collection).vocabulary
    queries, pictures = trial.relevance.queries, trial.relevance.pictures.tocsr()
    masks, total = [], 0
    flips = iter(_flips(wrong, 2 * EACH * len(trial.clicked), random))
    for number in trial.clicked.tolist():
        words = queries.indices[queries.indptr[number] : queries.indptr[number + 1]]
        text = " ".join(f'"{vocabulary.words[word]}"' for word in words)
        answers = set(trial.pool[pictures[[number]].indices].tolist())
        left = {True: EACH, False: EACH}
        unclicked = np.ones(len(trial.pool), bool)
        found = trial.collection.search(f"{text} captioned:no", k=LOOKED_AT).results
        for place in random.permutation(len(found)).tolist():
            one = found[place]
            truth = one.picture in answers
            if left[truth]:
                left[truth] -= 1
                total += 1
                unclicked[np.searchsorted(trial.pool, one.picture)] = False
                trial.collection.judge(text, one.picture, truth != next(flips))
        masks.append(unclicked)
    return masks, total


def compared(
    trial: Trial, before: Floats, after: Floats, masks: list[NDArray[np.bool_]]
) -> dict[str, float]:
    """AvgP in percent."""
    chosen, others = (trial.relevance.take(some) for some in (trial.clicked, trial.others))
    everybody = np.ones((len(trial.others), len(trial.pool)), bool)
    old, new = (_mean_avgp(chosen, rows, np.stack(masks)) for rows in (before, after))
    old_others, new_others = (_mean_avgp(others, rows, everybody) for rows in (before, after))
    return {
        "before": round(100 * old, 2),
        "after": round(100 * new, 2),
        "rise": round(100 * (new - old), 2),
        "others_before": round(100 * old_others, 2),
        "others_after": round(100 * new_others, 2),
        "others_change": round(100 * (new_others - old_others), 2),
    }


def text_rows(trial: Trial) -> Floats:
    """The pool in the text space, as columns have it, with what clicks added."""
    words = list(range(word_model(trial.collection).words))
    return log_probabilities(trial.collection, trial.pool, words)


def _mean_avgp(relevance: Relevance, rows: Floats, counted: NDArray[np.bool_]) -> float:
    """Mean AvgP over the queries that somebody still answers, among those who count."""
    scores = (relevance.queries > 0).astype(np.float32) @ rows.T  # every word counts once
    answers = relevance.pictures.toarray() > 0
    found = [_avgp(*one) for one in zip(scores, answers, counted, strict=True)]
    return float(np.nanmean(found))


def _avgp(scores: Floats, answers: NDArray[np.bool_], counted: NDArray[np.bool_]) -> float:
    ranked = answers[counted][np.argsort(-scores[counted], kind="stable")]
    places = np.flatnonzero(ranked) + 1
    return float(np.mean(np.arange(1, len(places) + 1) / places)) if len(places) else np.nan


def _flips(share: float, count: int, random: np.random.Generator) -> list[bool]:
    """Which clicks are wrong: exactly that share of every hundred, anywhere in it."""
    return [bool(x) for _ in range(-(-count // 100)) for x in random.permutation(100) < 100 * share]


if __name__ == "__main__":
    raise SystemExit(main())
