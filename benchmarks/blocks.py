"""How fast are block descriptors, against the same ones written with scikit-image and NumPy?

    python -m benchmarks.blocks --json

Drawn scenes of 192 × 128, one core, squares of 32 alone and of 16 and 32 in one pass. The peer
takes Pillow's grey, scikit-image's ``local_binary_pattern``, the nearest of 50 colours by a matrix
product or by SciPy's or faiss's distances (the quickest counts), and one ``np.bincount`` over cells
of half a block's side, four of which make a block. All take
turns, and ``ratio_skimage`` is the median over the rounds of the ratio of processor times, so that
a busy machine troubles it little. Histograms are compared before anything is timed: they may
differ where scikit-image rounds a neighbour exactly as bright as its centre to darker, and
``histogram_difference`` is the share of counts that do.

The limit is a plain copy of the pixels: ``copies`` tells how many of those one picture takes.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.spatial.distance import cdist
from skimage.feature import local_binary_pattern
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks.common import say, show
from visterm.datasets.scenes import draw_scene
from visterm.evaluation.tables import Table
from visterm.features.blocks import _kernels
from visterm.features.blocks.block_descriptor import TEXTURE_BINS, BlockDescriptor, _uniform_bins
from visterm.features.codebook import learn_codebook

BAR = 6.0
DIFFERENCE = 0.0005
"""Share of counts that may differ by scikit-image's rounding."""
COLOURS = 50

Pixels = NDArray[np.uint8]
Describe = Callable[[Pixels], list[NDArray[Any]]]
Nearest = Callable[[Pixels], NDArray[np.integer]]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.blocks", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--pictures", type=int, default=60, help="pictures a round")
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    faiss.omp_set_num_threads(1)
    with threadpool_limits(limits=1):
        result = measure(given.pictures, given.rounds)
    if given.json:
        show(result, as_json=True)
    else:
        print(as_table(result).to_text())


def measure(count: int, rounds: int) -> dict[str, Any]:
    """The whole result."""
    say(f"drawing {count} scenes")
    pictures = [draw_scene(0, index).pixels for index in range(count)]
    every = np.concatenate([pixels.reshape(-1, 3)[::97] for pixels in pictures])
    colours = learn_codebook(every.astype(np.float32), COLOURS)
    runs = {}
    for sides in ([32], [16, 32]):
        name = " and ".join(map(str, sides))
        say(f"now blocks of {name}")
        runs[name] = against_peers(pictures, colours, sides, rounds)
    alone = runs["32"]
    return {
        "ratio_skimage": alone["ratio_skimage"],
        "bar": BAR,
        "bar_reached": all(run["ratio_skimage"] >= BAR for run in runs.values()),
        "histogram_difference": max(run["histogram_difference"] for run in runs.values()),
        "pictures_per_second": alone["pictures_per_second"],
        "sides": runs,
        "microseconds_by_part": parts(pictures, colours, rounds),
        "limit": limit(pictures, alone["pictures_per_second"], rounds),
        "pictures": {"count": count, "size": [192, 128], "colours": len(colours)},
        "load": round(os.getloadavg()[0], 2),
    }


def against_peers(
    pictures: Sequence[Pixels], colours: NDArray[np.float32], sides: list[int], rounds: int
) -> dict[str, Any]:
    """Ours and the peers over the same pictures, turn by turn."""
    ours = BlockDescriptor(colours, sides)
    peers = {
        "product": with_skimage(by_product(colours), sides),
        "scipy": with_skimage(by_scipy(colours), sides),
        "faiss": with_skimage(by_faiss(colours), sides),
    }
    difference = max(share_that_differs(ours, peer, pictures) for peer in peers.values())
    if difference > DIFFERENCE:
        raise SystemExit(f"{difference:.2%} of the counts differ: the comparison is void")
    own: list[float] = []
    theirs: dict[str, list[float]] = {name: [] for name in peers}
    for _ in range(rounds):
        own.append(seconds_a_picture(ours, pictures))
        for name, peer in peers.items():
            theirs[name].append(seconds_a_picture(peer, pictures))
    ratios = {
        name: statistics.median(t / o for t, o in zip(times, own, strict=True))
        for name, times in theirs.items()
    }
    quicker = min(ratios, key=lambda name: ratios[name])
    return {
        "ratio_skimage": round(ratios[quicker], 1),
        "ratios": {name: round(ratio, 1) for name, ratio in ratios.items()},
        "pictures_per_second": round(1 / statistics.median(own)),
        "peer_pictures_per_second": round(1 / statistics.median(theirs[quicker])),
        "peer_colours_by": quicker,
        "histogram_difference": round(difference, 7),
        "blocks": sum(len(histograms) for histograms in ours(pictures[0])),
        "bytes": sum(histograms.nbytes for histograms in ours(pictures[0])),
    }


def with_skimage(nearest: Nearest, sides: list[int]) -> Describe:
    """The descriptor as one writes it down: label every pixel, count in every square."""

    def describe(pixels: Pixels) -> list[NDArray[Any]]:
        grey = np.asarray(Image.fromarray(pixels).convert("L"))
        patterns = local_binary_pattern(grey, 8, 2, "nri_uniform")  # type: ignore[no-untyped-call]
        texture = patterns.astype(np.intp)
        colour = nearest(pixels).reshape(grey.shape)
        return [
            np.hstack([in_blocks(texture, TEXTURE_BINS, side), in_blocks(colour, COLOURS, side)])
            for side in sides
        ]

    return describe


def in_blocks(labels: NDArray[np.integer], bins: int, side: int) -> NDArray[np.uint16]:
    """Histograms of all blocks, from one count over cells of half a side."""
    step = side // 2
    rows, columns = labels.shape[0] // step, labels.shape[1] // step
    cells = np.add.outer(np.arange(rows) * columns, np.arange(columns)).repeat(step, 0)
    numbers = cells.repeat(step, 1) * bins + labels[: rows * step, : columns * step]
    counts = np.bincount(numbers.ravel(), minlength=rows * columns * bins)
    counts = counts.reshape(rows, columns, bins).astype(np.uint16)
    pairs = counts[1:] + counts[:-1]
    return (pairs[:, 1:] + pairs[:, :-1]).reshape(-1, bins)


def by_product(colours: NDArray[np.float32]) -> Nearest:
    """‖x − c‖² is least where ‖c‖² − 2 x·c is."""
    squares, doubled = (colours**2).sum(axis=1), -2 * colours.T
    return lambda pixels: np.argmin(
        pixels.reshape(-1, 3).astype(np.float32) @ doubled + squares, axis=1
    )


def by_scipy(colours: NDArray[np.float32]) -> Nearest:
    return lambda pixels: cdist(pixels.reshape(-1, 3), colours, "sqeuclidean").argmin(axis=1)


def by_faiss(colours: NDArray[np.float32]) -> Nearest:
    index = faiss.IndexFlatL2(3)
    index.add(colours)
    return lambda pixels: index.search(pixels.reshape(-1, 3).astype(np.float32), 1)[1]


def share_that_differs(ours: Describe, theirs: Describe, pictures: Sequence[Pixels]) -> float:
    """Share of counts that stand in another bin; compiles and warms up both sides on the way."""
    differing = counted = 0
    for pixels in pictures:
        for mine, other in zip(ours(pixels), theirs(pixels), strict=True):
            differing += int(np.abs(mine.astype(np.int64) - other).sum()) // 2
            counted += int(mine.sum())
    return differing / counted


def seconds_a_picture(describe: Callable[[Pixels], object], pictures: Sequence[Pixels]) -> float:
    begin = time.process_time()
    for pixels in pictures:
        describe(pixels)
    return (time.process_time() - begin) / len(pictures)


def parts(
    pictures: Sequence[Pixels], colours: NDArray[np.float32], rounds: int
) -> dict[str, float]:
    """Where our time goes, in microseconds a picture."""
    ours = BlockDescriptor(colours, [32])
    greys = {id(pixels): _kernels.grey_of(pixels) for pixels in pictures}
    labels = {id(pixels): ours._labels(pixels) for pixels in pictures}
    tables = (ours.colours, ours._first, ours._starts, ours._candidates)
    counts = ours(pictures[0])[0]
    steps: dict[str, Callable[[Pixels], object]] = {
        "grey": _kernels.grey_of,
        "texture": lambda pixels: _kernels.texture_labels(greys[id(pixels)], _uniform_bins()),
        "colours": lambda pixels: _kernels.colour_labels(pixels, *tables),
        "counting": lambda pixels: _kernels.block_histograms(*labels[id(pixels)], 16, counts),
    }
    spent = {}
    for name, step in steps.items():
        seconds = statistics.median(seconds_a_picture(step, pictures) for _ in range(rounds))
        spent[name] = round(1e6 * seconds, 1)
    return spent


def limit(pictures: Sequence[Pixels], per_second: float, rounds: int) -> dict[str, float]:
    """What merely touching the pixels costs."""
    twenty = [pixels for pixels in pictures for _ in range(20)]  # a copy is too short to time alone
    copy = statistics.median(seconds_a_picture(np.copy, twenty) for _ in range(rounds))
    size = pictures[0].nbytes
    return {
        "picture_bytes": size,
        "megapixels_per_second": round(per_second * size / 3e6, 1),
        "copied_megapixels_per_second": round(size / 3e6 / copy, 1),
        "copies": round(1 / per_second / copy, 1),
    }


def as_table(result: dict[str, Any]) -> Table:
    """The same for people."""
    runs = result["sides"]
    rows: dict[str, list[float | int | str | None]] = {
        "pictures a second": [run["pictures_per_second"] for run in runs.values()],
        "scikit-image's": [run["peer_pictures_per_second"] for run in runs.values()],
        "ratio (bar 6)": [run["ratio_skimage"] for run in runs.values()],
        "counts that differ, %": [f"{100 * r['histogram_difference']:.4f}" for r in runs.values()],
        "blocks a picture": [run["blocks"] for run in runs.values()],
        "bytes a picture": [run["bytes"] for run in runs.values()],
    }
    for part, spent in result["microseconds_by_part"].items():
        rows[f"µs for {part}"] = [spent, None]
    rows["plain copies a picture takes"] = [result["limit"]["copies"], None]
    return Table(
        "Block descriptors of drawn 192 × 128 scenes, one core",
        [f"blocks of {name}" for name in runs],
        rows,
        plain=list(rows),
    )


if __name__ == "__main__":
    main()
