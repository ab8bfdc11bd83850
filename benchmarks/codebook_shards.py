"""Are codebooks that shards learn side by side as good as one learnt from a sample?

    python -m benchmarks.codebook_shards --data DIR --json [--visterms 1000] [--shards 4]

Blocks of Corel's training pictures become visterms. ``sample`` is how it is done: k-means (faiss)
of 40 points a centre, drawn from a sample of the pictures. ``shards`` sees as many points on each
of so many parts of the pictures: each learns a codebook of its own, and the centres of all of them,
weighed by their points, are clustered once more. Means over seeds: AvgP of PAMIR on validation
pictures, ``error``, the mean squared distance of their blocks to the nearest centre over that of
``sample``, and processor seconds for learning the codebook alone.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import say, show
from visterm.datasets import DATASETS
from visterm.experiments.runner.protocol import Protocol, protocol_of
from visterm.features import Blocks, bag_of_visterms
from visterm.features.codebook import learn_codebook, nearest_centres
from visterm.models import Pamir
from visterm.pictures import read_picture

Floats = NDArray[np.float32]
POINTS = Blocks.points_per_centre


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.codebook_shards", description=__doc__
    )
    parser.add_argument("--data", type=Path, required=True, help="the corel5k folder")
    parser.add_argument("--visterms", type=int, default=1000)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--max-iter", type=int, default=1_000_000, help="triplets of a fit")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    protocol = protocol_of(DATASETS["corel5k"](given.data))
    ways: dict[str, tuple[int, Callable[..., Floats]]] = {
        "sample": (1, learn_codebook),
        "shards": (given.shards, partial(over_shards, shards=given.shards)),
    }
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in ways}
    for seed in range(given.seeds):
        for name, (times, learn) in ways.items():
            runs[name].append(learnt(replace(protocol, seed=seed), given, times, learn))
            say(f"seed {seed}, {name}: {runs[name][-1]}")
    found = {
        name: {key: mean(one[key] for one in some) for key in some[0]}
        for name, some in runs.items()
    }
    whole = found["sample"]["error"]
    for one in found.values():
        one |= {"AvgP": round(one["AvgP"], 2), "error": round(one["error"] / whole, 4)}
        one["seconds"] = round(one["seconds"], 1)
    show({"visterms": given.visterms, "n_shards": given.shards, **found}, as_json=given.json)


def learnt(
    protocol: Protocol, given: argparse.Namespace, times: int, learn: Callable[..., Floats]
) -> dict[str, float]:
    """Fit blocks by a way to learn codebooks, and PAMIR to what they see."""
    spent: list[float] = []

    def timed(points: Floats, size: int, **options: Any) -> Floats:
        began = time.process_time()
        centres = learn(points, size, **options | {"points_per_centre": POINTS})
        spent.append(time.process_time() - began)
        return centres

    train, held = protocol.split
    paths = [*protocol.development.paths]
    blocks = Blocks(channels=((32, "joint", given.visterms),), random_state=protocol.seed)
    with (
        patch.object(bag_of_visterms, "learn_codebook", timed),
        patch.object(Blocks, "points_per_centre", times * POINTS),
    ):
        vectors = blocks.fit_transform([paths[n] for n in train])
    there = [paths[n] for n in held]
    captions = protocol.captions
    model = Pamir(
        C=0.1, max_iter=given.max_iter, max_words=protocol.max_words, random_state=protocol.seed
    )
    model.fit(vectors, captions[train], validation=(blocks.transform(there), captions[held]))
    return {
        "AvgP": 100 * model.validation_,
        "error": distance(blocks, there),
        "seconds": sum(spent),
    }


def over_shards(
    points: Floats, size: int, *, shards: int, random_state: int, points_per_centre: int
) -> Floats:
    """The centres of all parts' centres."""
    import faiss

    centres, weights = [], []
    for number, part in enumerate(np.array_split(points, shards)):
        own = learn_codebook(
            part, size, random_state=random_state + number, points_per_centre=points_per_centre
        )
        centres.append(own)
        weights.append(np.bincount(nearest_centres(part, own)[:, 0], minlength=len(own)))
    clustering = faiss.Kmeans(
        points.shape[1], size, niter=10, seed=random_state + 1, min_points_per_centroid=1
    )
    clustering.train(np.concatenate(centres), weights=np.concatenate(weights).astype(np.float32))
    return np.asarray(clustering.centroids, dtype=np.float32)


def distance(blocks: Blocks, paths: list[Path]) -> float:
    """The mean squared distance of the blocks of pictures to their nearest centre."""
    pixels = [read_picture(path, max_side=blocks.max_side) for path in paths]
    (channel,) = blocks._channels()
    found = bag_of_visterms._Take(blocks, 1 << 20, 0)(pixels)[channel.kind]
    points, centres = blocks._points(found, channel), blocks._centres[0]
    near = centres[nearest_centres(points, centres)[:, 0]]
    return float(np.square(points - near).sum(axis=1).mean())


if __name__ == "__main__":
    main()
