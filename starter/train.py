"""Make the starter model that visterm ships.

    python -m starter.train [--data DATA/iaprtc12] [--kept FILE.npy] [--out FOLDER]
    python -m starter.train --features dinov2-small [--vectors FOLDER]

PAMIR and linear discriminants learn words from IAPR TC-12's labels and sentences, over the CNN's
vectors; the network's own classes join them; words that mean nearly the same lend each other some
of their weights; words that cannot be seen are dropped by their AvgP on validation pictures;
everything is brought to one scale, calibrated, and written as `starter.safetensors` and `card.md`.
The test pictures are ranked once, for the card. Prints the words kept with their AvgP. Repeatable
from ``--seed``. Needs the extra ``sentences``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from starter.card import write_card
from starter.classes import read_classes
from starter.corpus import read_corpus
from starter.joint_words import join
from starter.quality import calibrated, measured, worth_keeping
from starter.trained_words import retrain, train_words, with_discriminants
from visterm.encoders import known_networks
from visterm.features import parse_features
from visterm.models.pamir import _solvers
from visterm.progress import Progress
from visterm.starter.starter import CARD, FILE, write_starter

# What validation pictures liked best of what was tried with fewer triplets (AvgP of single words):
# C of 0.3 rather than 0.1 or 1, ten p⁻ with WARP rather than one (22.4 against 20.6), averaged
# rather than last weights (22.6 against 22.1), single words rather than also pairs (22.6 against
# 20.9; pairs themselves did not gain). Whitened vectors were no better.
PAMIR: dict[str, Any] = {
    "C": 0.3,
    "max_iter": 3_000_000,
    "max_words": 1,
    "negatives": 10,
    "warp": True,
    "averaged": True,
    "patience": 8,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m starter.train", description=__doc__)
    parser.add_argument("--data", type=Path, help="IAPR TC-12's folder")
    parser.add_argument("--kept", type=Path, help="where to keep what the network saw, as .npy")
    parser.add_argument("--features", help="an installed network, in place of the light one")
    parser.add_argument("--vectors", type=Path, help="a folder that keeps the network's vectors")
    parser.add_argument("--out", type=Path, default=FILE.parent, help="folder to write to")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--iterations", type=int, default=PAMIR["max_iter"])
    arguments = parser.parse_args()
    # Steps are frequent with ten p⁻, so the loop over the weights is as quick as that over a Gram
    # matrix, which would take 1 GB; and one loop for both fits makes the same file everywhere.
    _solvers._GRAM_BYTES = 0
    settings = PAMIR | {"max_iter": arguments.iterations, "random_state": arguments.seed}

    features, out = arguments.features, arguments.out / FILE.name
    if features is not None:
        out = arguments.out / f"{features}.safetensors"
    corpus = read_corpus(
        arguments.data, arguments.kept, arguments.seed, features, arguments.vectors
    )
    say(f"{len(corpus.vocabulary)} words of {len(corpus.development)} pictures are candidates")
    chosen = train_words(corpus, settings, _progress())
    say(f"C = {chosen.C_}, {chosen.n_iter_:,} triplets")
    classes, teach, every = read_classes(), corpus.training, corpus.development
    ours = with_discriminants(corpus, teach, chosen.weights_)
    judged = join(corpus, teach, ours, classes)
    final = retrain(corpus, chosen, _progress())
    joined = join(corpus, every, with_discriminants(corpus, every, final.weights_), classes)
    kept = worth_keeping(corpus, judged)
    judged, joined = judged.only(kept), joined.only(kept)
    calibration = calibrated(corpus, judged)
    quality = measured(corpus, joined)
    facts = {
        "seed": arguments.seed,
        "pamir": {"C": chosen.C_, "n_iter": chosen.n_iter_, **_plain(settings)},
        "calibration": calibration,
        **quality,
        "words": joined.counts(),
        "pictures": {
            "pictures": len(corpus.development),
            "validation": len(corpus.validation),
            "test": len(corpus.test),
        },
    }
    for word, value in sorted(quality["avgp"].items(), key=lambda pair: -pair[1]):
        print(f"{100 * value:6.1f}  {word}")
    key = "cnn-1" if features is None else parse_features(features).key
    write_starter(out, joined.vocabulary, joined.weights, key, facts)
    if features is None:
        write_card(arguments.out / CARD.name, joined, facts, out.stat().st_size)
    else:
        title = known_networks()[features].title if features in known_networks() else features
        write_card(out.with_suffix(".md"), joined, facts, out.stat().st_size, key, title)


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _progress() -> Progress:
    """Says every tenth of what is done."""
    last = {"tenth": -1}

    def report(what: str, done: int, total: int) -> None:
        tenth = 10 * done // max(total, 1)
        if tenth != last["tenth"]:
            last["tenth"] = tenth
            say(f"{what}: {10 * tenth} %")

    return report


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: settings[name] for name in ("max_words", "negatives", "warp", "averaged")}


if __name__ == "__main__":
    np.seterr(all="warn")
    main()
