"""What does it cost to store the CNN's vectors in 8 bits a number?

    python -m benchmarks.feature_bits --data DATA/corel5k DATA/iaprtc12 --json

PAMIR learns from vectors stored in 32, 16 and 8 bits a number and ranks validation pictures (with
``--test``: test pictures) stored alike; AvgP by bits, means over seeds. ``loss`` is AvgP of 32 bits
minus that of 8. ``--vectors DIR`` keeps the vectors.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import say, show
from benchmarks.corel_vectors import Floats, kept_vectors
from visterm.collection.store.vector_files import coded, decoded
from visterm.datasets import read_corel5k, read_iaprtc12
from visterm.evaluation import evaluate_rows
from visterm.experiments.runner.protocol import Protocol, protocol_of
from visterm.models import Pamir

READERS = {"corel5k": read_corel5k, "iaprtc12": read_iaprtc12}
STORED: dict[int, Callable[[Floats], Floats]] = {
    32: lambda vectors: vectors,
    16: lambda vectors: vectors.astype(np.float16).astype(np.float32),
    8: lambda vectors: decoded(*coded(vectors)),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.feature_bits", description=__doc__)
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="folders of data sets")
    parser.add_argument("--vectors", type=Path, help="a folder where CNN vectors are kept")
    parser.add_argument("--iterations", type=int, default=1_000_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--test", action="store_true", help="rank test pictures")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    show({folder.name: measure(folder, given) for folder in given.data}, as_json=given.json)


def measure(folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    protocol = protocol_of(READERS[folder.name](folder))
    kept = None if given.vectors is None else given.vectors / f"{folder.name}-cnn.npy"
    vectors = kept_vectors([*protocol.development.paths, *protocol.test.paths], kept)
    seeds = range(given.seeds)
    found = {
        bits: [_avgp(protocol, store(vectors), seed, given) for seed in seeds]
        for bits, store in STORED.items()
    }
    means = {bits: round(float(np.mean(each)), 2) for bits, each in found.items()}
    say(f"{folder.name}: {means}")
    return {
        "pictures": len(vectors),
        "avgp": means,
        "seeds": {bits: [round(one, 2) for one in each] for bits, each in found.items()},
        "loss": round(means[32] - means[8], 2),
        "bytes_a_picture": {bits: vectors.shape[1] * bits // 8 for bits in STORED},
    }


def _avgp(protocol: Protocol, vectors: Floats, seed: int, given: argparse.Namespace) -> float:
    train, held = protocol.split
    if given.test:
        train, held = np.arange(len(protocol.development)), np.arange(len(vectors))
        held = held[len(protocol.development) :]
    relevance = protocol.test_relevance if given.test else protocol.relevance_of(held)
    model = Pamir(C=0.1, max_iter=given.iterations, random_state=seed)
    rows = model.fit(vectors[train], protocol.captions[train]).transform(vectors[held])
    return 100 * evaluate_rows(rows, relevance).mean()["AvgP"]


if __name__ == "__main__":
    main()
