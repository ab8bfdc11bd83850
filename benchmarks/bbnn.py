"""How fast does BBNN learn and score, against its matrix products?

    python -m benchmarks.bbnn --json [--data DATA/corel5k]

The problem has Corel's shape: 4,000 pictures of 77 blocks of 109 numbers, 179 words, and the
network that validation chose (500 and 1,000 units). With ``--data`` it is Corel itself. Drawn
blocks tell nothing about the words, so hardly a triplet is ever beaten, and nothing can be passed
over on the way back: they are the worst case. An epoch is 100,000 independent triplets, the
paper's way (``in_batch_negatives=False``); ``epoch`` lets a step look at half of the blocks, the
default, ``epoch_all_blocks`` at all of them, and ``crossed`` is an epoch of our own way. Scoring
maps 100,000 pictures into the text space.

``seconds`` are the wall's, and mean little on a busy machine; ``processor_seconds`` are those of
all cores together. ``ratio_limit`` is the latter over the time that one core's BLAS needs for the
multiplications of the layers alone, at the speed it has on large square matrices in the same run.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks.common import say, show
from benchmarks.pamir_problem import TRAINING, draw_pictures
from visterm.experiments.picture_features import BLOCKS_FOR, PictureFeatures
from visterm.experiments.protocol import corel5k
from visterm.models import Bbnn
from visterm.models._bbnn_batches import Pairs
from visterm.models.inputs import dense
from visterm.models.supervision import Supervision

BLOCKS, NUMBERS = 77, 109
TRIPLETS, PICTURES = 100_000, 100_000
EPOCH_BAR, SCORING_BAR = 30, 20
_SCORED_AT_ONCE = 4_000


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bbnn", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--data", type=Path, help="Corel's folder; blocks are drawn without it")
    parser.add_argument("--triplets", type=int, default=TRIPLETS, help="of an epoch")
    parser.add_argument("--pictures", type=int, default=PICTURES, help="to score")
    parser.add_argument("--training", type=int, default=TRAINING, help="pictures to learn from")
    parser.add_argument("--side", type=int, default=1536, help="of the products that are the limit")
    given = parser.parse_args()
    found = measure(given.data, given.triplets, given.pictures, given.training, given.side)
    show(found, as_json=given.json)


def measure(
    data: Path | None, triplets: int, pictures: int, training: int, side: int
) -> dict[str, Any]:
    """The whole result."""
    if data is None:
        captions = draw_pictures(training=training)[0].captions
        vectors = draw_blocks(captions.shape[0])
    else:
        vectors, captions = blocks_of_corel(data)
    say("blocks are there; now large products, for the limit")
    peak = products_a_second(side)
    result: dict[str, Any] = {
        "blocks": "drawn" if data is None else "of Corel",
        "cores": os.cpu_count(),
        "gflops_of_a_core": round(peak / 1e9, 1),
    }
    ways = {
        "epoch": {"in_batch_negatives": False},
        "epoch_all_blocks": {"in_batch_negatives": False, "block_share": 1.0},
        "crossed": {},
    }
    for name, way in ways.items():
        say(f"now {name.replace('_', ' ')}")
        model = Bbnn(block_width=NUMBERS, max_iter=1, max_words=None, **way)  # type: ignore[arg-type]
        pairs = triplets if name != "crossed" else triplets // 2  # its default, at full size
        model.set_params(epoch_pairs=pairs)
        spent = timed(partial(model.fit, vectors, captions))
        work = flops_of_an_epoch(model, captions)
        result[name] = {"pairs": pairs, **spent, **against(spent, work, peak)}
    say("now scoring")
    spent = timed(lambda: score(model, vectors, pictures))
    work = pictures * flops(model, BLOCKS, captions.shape[1], back=False)
    result["scoring"] = {"pictures": pictures, **spent, **against(spent, work, peak)}
    best = min(result[name]["seconds"] for name in ("epoch", "epoch_all_blocks"))
    result["bars"] = {
        f"epoch under {EPOCH_BAR} s": best * TRIPLETS / triplets < EPOCH_BAR,
        f"scoring under {SCORING_BAR} s": (
            result["scoring"]["seconds"] * PICTURES / pictures < SCORING_BAR
        ),
    }
    result["load"] = os.getloadavg()[0]
    return result


def draw_blocks(pictures: int) -> NDArray[np.float32]:
    """Log counts, about as many of them zero as in real blocks."""
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 60, (pictures, BLOCKS * NUMBERS)) - 40
    return np.log1p(np.maximum(counts, 0), dtype=np.float32)


def blocks_of_corel(data: Path) -> tuple[NDArray[np.float32], Any]:
    """Of the training pictures, and their captions."""
    protocol = corel5k(data)
    rows = PictureFeatures(protocol, test=False).vectors(BLOCKS_FOR["blocks"])
    return dense(rows[0]), protocol.captions[protocol.split[0]]


def timed(call: Callable[[], object]) -> dict[str, float]:
    wall, processor = time.perf_counter(), time.process_time()
    call()
    return {
        "seconds": round(time.perf_counter() - wall, 2),
        "processor_seconds": round(time.process_time() - processor, 2),
    }


def products_a_second(side: int, rounds: int = 5) -> float:
    """Floating-point operations a second of one core, on large square matrices."""
    one = np.random.default_rng(0).random((side, side), dtype=np.float32)
    out = np.empty_like(one)
    times = []
    with threadpool_limits(limits=1):
        for _ in range(rounds):
            begin = time.process_time()
            np.matmul(one, one, out=out)
            times.append(time.process_time() - begin)
    return 2 * side**3 / min(times)


def flops(model: Bbnn, blocks: int, words: int, *, back: bool) -> float:
    """Of one picture: each layer's product, and on the way back two more but for the first."""
    first = 2 * blocks * (NUMBERS + 1) * model.block_units
    others = 2 * model.picture_units * (model.block_units + words)
    return 2 * first + 3 * others if back else first + others


def flops_of_an_epoch(model: Bbnn, captions: Any) -> float:
    """Pictures that stand in several triplets of a batch are looked at once."""
    pairs = pairs_of(model, captions)
    shown = float(np.mean([len(pairs.draw(model.batch_size).shown) for _ in range(30)]))
    looked_at = round(model.block_share * BLOCKS)
    steps = model.epoch_pairs / model.batch_size
    return steps * shown * flops(model, looked_at, captions.shape[1], back=True)


def against(spent: dict[str, float], work: float, peak: float) -> dict[str, float]:
    return {
        "tflop": round(work / 1e12, 3),
        "ratio_limit": round(spent["processor_seconds"] * peak / work, 2),
    }


def score(model: Bbnn, vectors: NDArray[np.float32], pictures: int) -> None:
    for start in range(0, pictures, _SCORED_AT_ONCE):
        model.transform(vectors[: min(_SCORED_AT_ONCE, pictures - start)])


def pairs_of(model: Bbnn, captions: Any) -> Pairs:
    return model._pairs(Supervision(np.empty((captions.shape[0], 0), np.float32), captions))


if __name__ == "__main__":
    main()
