"""Do captions and sight together rank better than either, or than captions first?

    python -m benchmarks.hybrid --data DATA/corel5k --json
    python -m benchmarks.hybrid --data DATA --json          # all of corel5k, flickr8k, iaprtc12

A collection learns from the training captions (PAMIR on CNN vectors, without the starter). Then its
pictures are the test pictures, with captions in four settings: a random half has one
(``half_captioned``); all have one, of which each word is kept with probability one half
(``half_words``); both; and whole captions for all (``complete``). The words that were left out, and
the captions, say what answers a query: Corel's own 2,241 test queries; of IAPR TC-12 and Flickr8k
1,000 sets of one and two words, drawn by the seed. Of Flickr8k's five captions the first teaches
and is shown, the other four judge.

AvgP over all queries, by `visterm.collection`'s own rankers (``hybrid``; ``sight`` before any test
picture has a caption), and by peers in the same run: ``captions`` (bm25s over the captions),
``captions_first`` (those that it finds, in its order, then the others by sight), and
``captions_first_all_words`` (pictures whose captions hold all words, by sight, then the others by
sight). ``p_value`` is of Wilcoxon's test over queries against the best peer.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import say, show
from benchmarks.corel_vectors import vectors_by_path
from benchmarks.hybrid_data import NAMES, Trial, read_trial
from benchmarks.hybrid_peers import CaptionSearch, first
from benchmarks.rankings import order_scores, ranked
from benchmarks.vector_collection import caption, put
from visterm.collection import Collection
from visterm.errors import VistermError
from visterm.evaluation import Evaluation, compare, evaluate

SETTINGS = {
    "half_captioned": (0.5, 1.0),
    "half_words": (1.0, 0.5),
    "both": (0.5, 0.5),
    "complete": (1.0, 1.0),
}
"""How many pictures have a caption, and how many of its words are kept."""
PEERS = ("sight", "captions", "captions_first")
BARS = {"half_captioned": (62.0, 8.0), "half_words": (59.0, 3.0), "both": (49.0, 8.0)}
"""On Corel: AvgP, and points above the best peer."""

Scores = NDArray[np.float64]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="the folder of one data set, or of several")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--vectors", type=Path, help="keep the CNN's vectors in this folder")
    parser.add_argument(
        "--iterations", type=int, help="triplets of a fit; the product's by default"
    )
    parser.add_argument(
        "--queries", type=int, default=1000, help="queries to draw; Corel has its own"
    )
    parser.add_argument("--validation", action="store_true", help="rank validation pictures")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    try:
        folders = {name: asked.data / name for name in NAMES if (asked.data / name).is_dir()}
        single = asked.data.resolve().name if not folders else None
        found = {
            name: measure(read_trial(name, folder, asked.queries, asked.validation), folder, asked)
            for name, folder in (folders or {single or "": asked.data}).items()
        }
    except VistermError as error:
        say(f"benchmarks.hybrid: {error}")
        return 1
    show(found if single is None else found[single], as_json=asked.json)
    return 0


def measure(trial: Trial, folder: Path, asked: argparse.Namespace) -> dict[str, Any]:
    """Every setting of one data set."""
    vectors = vectors_by_path(trial.name, folder, trial.paths, asked.vectors)
    with tempfile.TemporaryDirectory() as where, Collection.open(where) as collection:
        taught = len(trial.teaching)
        put(
            collection,
            vectors,
            {n + 1: text for n, text in enumerate(trial.teaching) if text},
            ["taught"] * taught + ["ranked"] * len(trial.shown),
        )
        limits = {} if asked.iterations is None else {"C": 0.1, "max_iter": asked.iterations}
        with patch("visterm.collection.training.trainer.starter_of", return_value=None):
            trained = collection.train(model="pamir", **limits)
        say(f"{trial.name}: learnt {trained.words} words from {trained.pictures} captions")
        collection.remove([Path(where, "taught")])
        numbers = np.arange(taught + 1, taught + len(trial.shown) + 1)
        sight = np.stack([_ranked(collection, numbers, text) for text in trial.queries])
        found: dict[str, Any] = {"queries": len(trial.queries), "pictures": len(numbers)}
        for name, shares in SETTINGS.items():
            texts = captions_of(trial.shown, *shares, np.random.default_rng(asked.seed))
            caption(collection, dict(zip(numbers.tolist(), texts, strict=True)))
            found[name] = compared(collection, trial, numbers, texts, sight)
            say(f"{trial.name}, {name}: {found[name]}")
    return found | (bars(found) if trial.name == "corel5k" else {})


def compared(
    collection: Collection,
    trial: Trial,
    numbers: NDArray[np.int64],
    texts: list[str],
    sight: Scores,
) -> dict[str, Any]:
    """AvgP of every way to rank, in percent, and the difference to the best of the three peers."""
    search = CaptionSearch(texts)
    by_text = [search.scores(text) for text in trial.queries]
    ways: dict[str, Callable[[int, str], Scores]] = {
        "hybrid": lambda n, text: _ranked(collection, numbers, text),
        "sight": lambda n, text: sight[n],
        "captions": lambda n, text: by_text[n],
        "captions_first": lambda n, text: first(by_text[n], sight[n]),
        "captions_first_all_words": lambda n, text: first(
            search.with_all(text).astype(float), sight[n]
        ),
    }
    measured: dict[str, Evaluation] = {
        name: evaluate(
            np.stack([way(n, text) for n, text in enumerate(trial.queries)]),
            trial.relevance,
            ["AvgP"],
        )
        for name, way in ways.items()
    }
    avgp = {name: round(100 * one.mean()["AvgP"], 2) for name, one in measured.items()}
    best = max(PEERS, key=avgp.__getitem__)
    tested = compare(measured["hybrid"], measured[best])
    return avgp | {
        "best_peer": best,
        "above_best_peer": round(100 * tested.difference, 2),
        "p_value": tested.p_value,
        "significantly_above": tested.above,
    }


def captions_of(
    texts: list[str], pictures: float, words: float, random: np.random.Generator
) -> list[str]:
    """Captions of some of the pictures, with some of their words."""
    kept = []
    for text in texts:
        said = text.split()
        has_one = random.random() < pictures
        some = random.random(len(said)) < words
        kept.append(" ".join(w for w, stays in zip(said, some, strict=True) if has_one and stays))
    return kept


def bars(found: dict[str, Any]) -> dict[str, Any]:
    """What was asked for on Corel."""
    return {
        "bars": BARS,
        "reaches_all_bars": all(
            found[name]["hybrid"] >= avgp and found[name]["above_best_peer"] >= above
            for name, (avgp, above) in BARS.items()
        )
        and found["complete"]["hybrid"] >= found["complete"]["captions_first"],
    }


def _ranked(collection: Collection, numbers: NDArray[np.int64], text: str) -> Scores:
    """A score for each picture that ranks it as the collection does; those not found come last."""
    return order_scores(ranked(collection, text), numbers)


if __name__ == "__main__":
    raise SystemExit(main())
