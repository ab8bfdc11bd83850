"""Does the same seed give the same model and ranking with other threads, files and instructions?

    python -m benchmarks.determinism --json

A collection of drawn scenes is added and trained again and again, each time in a process of its
own: as it is, with two threads, with files that come in another order, and by a processor
without AVX2, as far as NumPy, OpenBLAS and numba can be told so. For each, whether the model is the
same to the last bit, and how far scores (log-probabilities) and ranks are from those of the first.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.common import say, show

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
_NO_AVX2 = {
    "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3 AVX512F AVX512CD AVX512_SKX",
    "OPENBLAS_CORETYPE": "Nehalem",
    "NUMBA_CPU_NAME": "nehalem",
    "NUMBA_CPU_FEATURES": "-avx,-avx2,-fma",
}
QUERIES = ("sky", "sea -tree", "snow house", "people")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=int, default=300)
    parser.add_argument("--features", default="cnn")
    parser.add_argument("--only", help="one of the ways alone")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--learn", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.learn is not None:
        print(json.dumps(_learn(options.learn, options.features)))
        return 0
    ways: dict[str, tuple[bool, dict[str, str]]] = {
        "again": (False, {}),
        "two_threads": (False, dict.fromkeys(_THREADS, "2")),
        "other_order": (True, {}),
        "without_avx2": (False, _NO_AVX2),
    }
    if options.only:
        ways = {options.only: ways[options.only]}
    with tempfile.TemporaryDirectory() as folder:
        from visterm.datasets.scenes import draw_scenes

        scenes = Path(folder, "scenes")
        draw_scenes(scenes, options.pictures, size=(96, 64))
        first = _in_a_process(scenes, Path(folder, "first"), options.features, {}, turned=False)
        found = {}
        for name, (turned, settings) in ways.items():
            say(f"determinism: {name}")
            other = Path(folder, name)
            answers = _in_a_process(scenes, other, options.features, settings, turned=turned)
            found[name] = _compared(first, answers)
    show(
        {"pictures": options.pictures, "features": options.features, **found}, as_json=options.json
    )
    return 0


def _in_a_process(
    scenes: Path, folder: Path, features: str, settings: dict[str, str], *, turned: bool
) -> dict[str, Any]:
    """Add and train a copy; names in the other order make files come in the other order."""
    folder.mkdir()
    captions = dict(
        line.split("\t") for line in (scenes / "captions.tsv").read_text().splitlines() if line
    )
    paths = sorted(scenes.glob("*.jpg"))
    numbers = range(len(paths))
    lines = []
    for number, path in zip(reversed(numbers) if turned else numbers, paths, strict=True):
        shutil.copy2(path, folder / f"{number:05d}.jpg")
        lines.append(f"{folder / f'{number:05d}.jpg'}\t{captions[path.name]}\n")
    (folder / "captions.tsv").write_text("".join(lines))
    one = dict.fromkeys(_THREADS, "1")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "benchmarks.determinism"),
            *("--learn", str(folder), "--features", features),
        ],
        env={**os.environ, **one, **settings},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _learn(folder: Path, features: str) -> dict[str, Any]:
    """A model's bits, and each picture's score and rank by its content."""
    from visterm.collection import Collection

    with Collection.open(folder) as collection:
        collection.add(features=features, n_jobs=1)
        collection.caption_from(folder / "captions.tsv")
        collection.train(force=True)
        (model,) = (collection.store / "models").glob("*/model.safetensors")
        answers = {}
        for query in QUERIES:
            results = collection.search(query, 10_000).results
            digests = [hashlib.sha256(Path(one.path).read_bytes()).hexdigest() for one in results]
            answers[query] = {
                digest: [one.score, rank]
                for rank, (digest, one) in enumerate(zip(digests, results, strict=True))
            }
        bits = hashlib.sha256(model.read_bytes()).hexdigest()
        return {"model": bits, "answers": answers}


def _compared(first: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    moved, apart = 0, 0.0
    for query, pictures in first["answers"].items():
        for digest, (score, rank) in pictures.items():
            there = other["answers"][query][digest]
            apart = max(apart, abs(score - there[0]))
            moved = max(moved, abs(rank - there[1]))
    return {
        "same_model": first["model"] == other["model"],
        "same_ranking": moved == 0,
        "most_ranks_moved": moved,
        "most_score_moved": float(f"{apart:.2g}"),
    }


if __name__ == "__main__":
    sys.exit(main())
