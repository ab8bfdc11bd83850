"""Does a data set of a million captioned pictures fit into 8 GB, from its table to its measures?

    python -m benchmarks.large_dataset --json [--pairs 1000000]

A table of drawn captions (ten words each of 2,000, by a Zipf law) is written and read by the
reader of every data set; test pictures are split off; vectors are drawn around directions of the
captions' words. PAMIR learns the words, and the test pictures are ranked for queries of the test
captions, for captions, and captions for pictures. CCA learns from the same pictures and from
vectors of their captions, as a text space gives them. ``peak_mb`` is the largest resident memory at
the end of each part: nothing may grow with the square of the pictures.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array

from benchmarks.common import say, show
from visterm.datasets import CaptionedDataset, QueryOptions, read_dataset
from visterm.experiments.protocol import Protocol, protocol_of
from visterm.experiments.runs import Extracted, Seconds, ranks_in_blocks, run
from visterm.models import Cca, Pamir

LIMIT_MB = 8_000
WORDS, LENGTH = 2_000, 10
TESTED = 1_000


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large_dataset", description=__doc__)
    parser.add_argument("--pairs", type=int, default=1_000_000, help="captioned pictures")
    parser.add_argument("--width", type=int, default=128, help="numbers of a picture's vector")
    parser.add_argument("--iterations", type=int, default=1_000_000, help="PAMIR's triplets")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    show(measure(given.pairs, given.width, given.iterations), as_json=given.json)


def measure(pairs: int, width: int, iterations: int) -> dict[str, Any]:
    """The whole result."""
    parts: dict[str, dict[str, float]] = {}

    def done(part: str, began: float) -> None:
        parts[part] = {"seconds": round(time.perf_counter() - began, 1), "peak_mb": _peak_mb()}
        say(f"{part}: {parts[part]}")

    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        protocol = protocol_of(_data(Path(folder), pairs))
    done("table", began)
    began = time.perf_counter()
    vectors = _vectors(protocol, width)
    done("vectors", began)
    began = time.perf_counter()
    model = Pamir(C=0.1, max_iter=iterations, max_words=1, retrain=True)
    outcome = run(protocol, vectors, model, Seconds(), ranks=True)
    done("pamir", began)
    began = time.perf_counter()
    median = _cca_median_rank(protocol, vectors, width)
    done("cca", began)
    return {
        "pairs": pairs,
        "words": len(protocol.vocabulary),
        "test_queries": len(protocol.test_relevance),
        "parts": parts,
        "peak_mb": _peak_mb(),
        "within_8_gb": _peak_mb() < LIMIT_MB,
        "pamir": {**outcome.to_json(), "slices": None},
        "cca_median_rank": median,
    }


def _cca_median_rank(protocol: Protocol, vectors: Extracted, width: int) -> float:
    """CCA between pictures and vectors of their captions: the median rank of a test picture."""
    rng = np.random.default_rng(2)
    space = rng.standard_normal((len(protocol.vocabulary), width), dtype=np.float32)
    train, _ = protocol.split
    model = Cca(judged_by="pairs").fit(vectors.training, protocol.captions[train] @ space)
    pictures = model.picture_rows(vectors.test)
    texts = model.text_rows(protocol.vocabulary.counts(protocol.test.words) @ space)
    own = csr_array(eye_array(len(texts), dtype=np.float32))
    return float(np.median(ranks_in_blocks(lambda part: texts[part] @ pictures.T, own)))


def _data(folder: Path, pairs: int) -> CaptionedDataset:
    """A table of training, validation and test pictures each, written and read."""
    rng = np.random.default_rng(0)
    share = 1 / (np.arange(1, WORDS + 1) + 2)
    drawn = rng.choice(WORDS, (pairs, LENGTH), p=share / share.sum())
    tested = min(TESTED, pairs // 10)
    edges = {"test": (0, tested), "held": (tested, 2 * tested), "train": (2 * tested, pairs)}
    for name, (first, last) in edges.items():
        with open(folder / f"{name}.tsv", "w") as table:
            for number in range(first, last):
                table.write(f"{number}.jpg\t{' '.join(f'w{word}' for word in drawn[number])}\n")
    queries = QueryOptions(language=None, min_captions=5, max_share=0.1, max_words=2)
    return read_dataset(
        *(folder / f"{part}.tsv" for part in ("train", "test", "held")), queries=queries
    )


def _vectors(protocol: Protocol, width: int) -> Extracted:
    """Sums of the directions of a caption's words, with noise, of unit length."""
    rng = np.random.default_rng(1)
    directions = rng.standard_normal((len(protocol.vocabulary), width), dtype=np.float32)

    def of(captions: Any) -> NDArray[np.float32]:
        rows = np.asarray(captions.astype(np.float32) @ directions)
        rows += rng.standard_normal(rows.shape, dtype=np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows

    train, valid = protocol.split
    test = protocol.vocabulary.counts(protocol.test.words)
    return Extracted(of(protocol.captions[train]), of(protocol.captions[valid]), of(test))


def _peak_mb() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


if __name__ == "__main__":
    main()
