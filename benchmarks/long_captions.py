"""Does PAMIR learn from captions of 200 words in the time and memory that short ones take?

    python -m benchmarks.long_captions --data DIR --json [--vectors FILE.npy]

DIR holds IAPR TC-12's pictures and captions, or the folder ``iaprtc12`` with them. Each picture
keeps its vector; its long caption is its own and those of pictures drawn at random, joined until
they have 200 words. The same number of triplets is drawn from short and from long captions, each in
a process of its own, after a fit that compiles everything. ``ratio_time`` is the processor time of
long over short, the median of some fits; ``ratio_memory`` that of the peak memory of the two
processes. ``lengths`` is how often a query had 1, 2, … words.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import say, show
from benchmarks.corel_vectors import kept_vectors
from visterm.datasets import read_iaprtc12
from visterm.models import Pamir
from visterm.text import Vocabulary
from visterm.text.stop_words import STOP_WORDS

WORDS = 200
TRIPLETS = 1_000_000
_ROOT = Path(__file__).parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.long_captions", description=__doc__)
    parser.add_argument("--data", type=Path, help="the folder of IAPR TC-12, or of several sets")
    parser.add_argument("--vectors", type=Path, help="vectors of the training pictures, kept here")
    parser.add_argument("--pictures", type=int, help="so many of them, by default all")
    parser.add_argument("--triplets", type=int, default=TRIPLETS, help="drawn in a fit")
    parser.add_argument("--fits", type=int, default=3, help="fits to take the median of")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--fit", nargs=2, help=argparse.SUPPRESS)  # the process of one measurement
    given = parser.parse_args()
    if given.fit is not None:
        print(json.dumps(fit(Path(given.fit[0]), given.fit[1], given.triplets, given.fits)))
        return
    result = measure(given.data, given.vectors, given.pictures, given.triplets, given.fits)
    show(result, as_json=given.json)


def measure(
    data: Path, vectors: Path | None, pictures: int | None, triplets: int, fits: int
) -> dict[str, Any]:
    """The whole result."""
    inside = data / "iaprtc12"
    paths, texts = _captioned(inside if inside.is_dir() else data, pictures)
    rows = kept_vectors(paths, vectors)
    captions = {"short": texts, "long": joined(texts)}
    vocabulary = Vocabulary.from_captions(texts, min_captions=2, stop_words=STOP_WORDS)
    spent = {}
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "vectors.npy", rows)
        for name, some in captions.items():
            counts = vocabulary.counts(some)
            parts = {"data": counts.data, "indices": counts.indices, "indptr": counts.indptr}
            np.savez(Path(folder) / f"{name}.npz", shape=np.array(counts.shape), **parts)
            say(f"fitting to {name} captions")
            spent[name] = _measured(folder, name, triplets, fits)
    return {
        "ratio_time": round(spent["long"]["seconds"] / spent["short"]["seconds"], 2),
        "ratio_memory": round(spent["long"]["peak_mb"] / spent["short"]["peak_mb"], 2),
        "pictures": len(texts),
        "words": len(vocabulary),
        "triplets": triplets,
        **{
            name: {
                "words_a_caption": round(statistics.mean(len(text.split()) for text in some), 1),
                **spent[name],
            }
            for name, some in captions.items()
        },
    }


def _captioned(folder: Path, pictures: int | None) -> tuple[list[Path], list[str]]:
    """Paths and captions of the training pictures; all captions of a picture as one."""
    found = read_iaprtc12(folder).train
    return found.paths[:pictures], found.captions[:pictures]


def joined(texts: list[str], words: int = WORDS) -> list[str]:
    """Captions of about so many words: each with those of others behind it.

    >>> joined(["a tree", "a lake"], words=5)[0].startswith("a tree a")
    True
    """
    rng = np.random.default_rng(0)
    long = []
    for text in texts:
        length = len(text.split())
        while length < words:
            other = texts[rng.integers(len(texts))]
            text, length = f"{text} {other}", length + len(other.split())
        long.append(text)
    return long


def _measured(folder: str, name: str, triplets: int, fits: int) -> dict[str, Any]:
    """What `fit` finds in a process of its own, whose memory is then its own too."""
    command = [sys.executable, "-m", "benchmarks.long_captions", "--fit", folder, name]
    command += ["--triplets", str(triplets), "--fits", str(fits)]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=_ROOT).stdout
    found: dict[str, Any] = json.loads(answer)
    return found


def _model(triplets: int) -> Pamir:
    """As collections train it, with one C."""
    return Pamir(C=0.1, max_iter=triplets, query_exponent=0.5)


def fit(folder: Path, name: str, triplets: int, fits: int) -> dict[str, Any]:
    """Processor seconds of a fit, and the peak memory of this process."""
    from scipy.sparse import csr_array

    from visterm.models.supervision import Supervision, drawn_queries

    vectors: NDArray[np.float32] = np.load(folder / "vectors.npy")
    with np.load(folder / f"{name}.npz") as parts:
        kept = tuple(parts[part] for part in ("data", "indices", "indptr"))
        captions = csr_array(kept, shape=tuple(parts["shape"]))
    _model(10).fit(vectors, captions)  # compiles
    seconds = []
    for _ in range(fits):
        begin = time.process_time()
        model = _model(triplets).fit(vectors, captions)
        seconds.append(time.process_time() - begin)
    shares = np.diff(drawn_queries(model, Supervision(vectors, captions)).size_edges[0], prepend=0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "seconds": round(statistics.median(seconds), 2),
        "microseconds_a_triplet": round(1e6 * statistics.median(seconds) / triplets, 2),
        "peak_mb": round(peak, 1),
        "lengths": shares.round(3).tolist(),
    }


if __name__ == "__main__":
    main()
