"""How fast do pictures become CNN vectors, from files, against torch?

    python -m benchmarks.cnn --data DATA/corel5k --json
    python -m benchmarks.cnn --data DATA/corel5k --json --long   # memory over 20,000

Both sides decode and frame the same files with the same code; torch runs the same network, as it
was written or folded (batch norms in the convolutions, channels last, traced and frozen for
inference), in large or small batches or a picture a thread, whichever is quickest. Sides take
turns, and the ratio is the median over the rounds, so that whatever else the machine does troubles
both alike; the ratio of the processor time they take is given beside it, which a busy machine
troubles less.
``torch_steps`` is how far torch's vectors are from ours at most, in steps of the 8 bits that a
collection keeps of a number: the same sums in another order, as on other processors.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from build_assets.graph import BLOCKS, EPSILON, MEAN, SCALE, STAGES
from build_assets.weights import tensors_of
from joblib import cpu_count
from numpy.typing import NDArray

from benchmarks.common import say, show
from visterm.datasets import data_folder
from visterm.errors import VistermError
from visterm.features.cnn import CNN
from visterm.features.cnn.recipe import normalised
from visterm.features.picture_batches import over_pictures
from visterm.pictures.sandbox import read_picture

BAR_PER_SECOND = 45
BAR_RATIO = 2.0
# Peak memory may creep by so much between 2,000 and 20,000 pictures and still count as flat.
BAR_CREEP = 1.05

Extract = Callable[[Sequence[Path]], NDArray[np.float32]]


class Lap(NamedTuple):
    """Pictures a second, and milliseconds of processor time a picture."""

    speed: float
    work: float


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="the corel5k folder")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--pictures", type=int, default=256, help="pictures a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--long", action="store_true", help="watch memory over 20,000 pictures")
    parser.add_argument("--memory", type=int, default=2_000, help="pictures to watch memory over")
    asked = parser.parse_args()
    try:
        files = sorted((data_folder("corel5k", asked.data) / "images" / "train").iterdir())
    except (VistermError, OSError) as error:
        say(f"benchmarks.cnn: {error}")
        return 1
    most = 20_000 if asked.long else asked.memory
    show(measure(files, asked.pictures, asked.rounds, most), as_json=asked.json)
    return 0


def measure(files: list[Path], pictures: int, rounds: int, most: int) -> dict[str, Any]:
    """Memory first, while nothing else is loaded; then the rounds."""
    cnn = CNN(normalise="none").fit()
    say(f"watching memory over {most:,} pictures")
    memory = watch_memory(cnn, files, most)
    chosen = [files[i % len(files)] for i in range(pictures)]
    ours: dict[str, Extract] = {
        "threads": cnn.transform,
        "processes": CNN(normalise="none", n_jobs=cpu_count()).transform,
    }
    try:
        peers, note = torch_sides(cnn), None
    except ImportError:
        peers, note = {}, "torch is not installed: pip install 'visterm[neural]' to compare"
    arrangement = quickest(peers, chosen[:32], cnn.transform(chosen[:32])) if peers else None
    quickest(ours, chosen[:32], cnn.transform(chosen[:32]))
    sides = ours | ({"torch": peers[arrangement]} if arrangement else {})
    laps: dict[str, list[Lap]] = {name: [] for name in sides}
    for number in range(rounds):
        say(f"round {number + 1} of {rounds}")
        for name, side in sides.items():
            laps[name].append(lap(side, chosen))
    return {
        "cores": cpu_count(),
        "pictures": len(chosen),
        "rounds": rounds,
        **compared(laps),
        "torch_arrangement": arrangement,
        "torch_steps": steps_apart(peers[arrangement], chosen[:32]) if arrangement else None,
        "torch_note": note,
        **memory,
    }


def lap(side: Extract, paths: Sequence[Path]) -> Lap:
    start, worked = time.perf_counter(), time.process_time()
    side(paths)
    seconds, work = time.perf_counter() - start, time.process_time() - worked
    return Lap(len(paths) / seconds, 1000 * work / len(paths))


def quickest(
    sides: dict[str, Extract], paths: Sequence[Path], expected: NDArray[np.float32]
) -> str:
    """Warm every side up, see that all do the same, and name the quickest."""
    speeds = {}
    for name, side in sides.items():
        if np.abs(side(paths) - expected).max() > 1e-3:
            raise SystemExit(f"{name} gives other vectors: the comparison is void")
        speeds[name] = lap(side, paths).speed
        say(f"{name}: {speeds[name]:.1f} pictures a second, warming up")
    return max(speeds, key=speeds.__getitem__)


def steps_apart(side: Extract, paths: Sequence[Path]) -> float:
    """How far its vectors are from ours, in steps of the 8 bits that are kept of a number."""
    ours = CNN().fit().transform(paths)
    theirs = normalised(side(paths), CNN.normalise)
    steps = (ours.max(axis=1) - ours.min(axis=1)) / 255
    return round(float((np.abs(theirs - ours) / steps[:, None]).max()), 5)


def compared(laps: dict[str, list[Lap]]) -> dict[str, Any]:
    """Our better arrangement against torch's, round by round."""
    medians = {name: statistics.median(lap.speed for lap in side) for name, side in laps.items()}
    better = max(("threads", "processes"), key=medians.__getitem__)
    found: dict[str, Any] = {
        "ours_per_second": round(medians[better], 1),
        "threads_per_second": round(medians["threads"], 1),
        "processes_per_second": round(medians["processes"], 1),
        "at_least_45_per_second": medians[better] >= BAR_PER_SECOND,
        "torch_per_second": None,
        "times_torch": None,
        "times_torch_processor_time": None,
        "at_least_twice_torch": None,
    }
    if "torch" in laps:
        pairs = list(zip(laps[better], laps["torch"], strict=True))
        ratio = statistics.median(our.speed / their.speed for our, their in pairs)
        # Work in other processes is not counted here, so that of the threads stands for both.
        works = zip(laps["threads"], laps["torch"], strict=True)
        found["torch_per_second"] = round(medians["torch"], 1)
        found["times_torch"] = round(ratio, 2)
        found["times_torch_processor_time"] = round(
            statistics.median(their.work / our.work for our, their in works), 2
        )
        found["at_least_twice_torch"] = ratio >= BAR_RATIO
    return found


def watch_memory(cnn: CNN, files: list[Path], most: int) -> dict[str, Any]:
    """Peak resident memory while rows are made and let go, as an indexer does."""
    peaks: dict[int, float] = {}
    many = [files[i % len(files)] for i in range(most)]
    done = 0
    for batch in over_pictures(cnn.rows, many, max_side=cnn.max_side):
        done += len(batch.numbers) + len(batch.skipped)
        for mark in (2_000, 20_000):
            if done >= mark and mark not in peaks:
                peaks[mark] = _peak_mb()
    return {
        "peak_mb_after_2000": peaks.get(2_000),
        "peak_mb_after_20000": peaks.get(20_000),
        "memory_flat": peaks[20_000] <= BAR_CREEP * peaks[2_000] if 20_000 in peaks else None,
    }


def _peak_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1 << 20 if sys.platform == "darwin" else 1 << 10), 1)


def torch_sides(cnn: CNN) -> dict[str, Extract]:
    """Torch, eager or folded: large batches or small on all cores, or a picture a thread."""
    eager = eager_network()
    sides = {f"eager_{name}": side for name, side in arrangements(cnn, eager).items()}
    return sides | {
        f"folded_{name}": side for name, side in arrangements(cnn, folded_network(eager)).items()
    }


def arrangements(cnn: CNN, network: Callable[[Any], Any]) -> dict[str, Extract]:
    import torch

    def batch(paths: Sequence[Path]) -> NDArray[np.float32]:
        squares = [cnn.prepare(read_picture(path, max_side=cnn.max_side)) for path in paths]
        with torch.inference_mode():
            x = torch.from_numpy(np.stack(squares)).permute(0, 3, 1, 2).float()
            return np.asarray(network((x - MEAN) / SCALE))

    def in_batches(size: int) -> Extract:
        def extract(paths: Sequence[Path]) -> NDArray[np.float32]:
            torch.set_num_threads(cpu_count())
            starts = range(0, len(paths), size)
            return np.concatenate([batch(paths[start : start + size]) for start in starts])

        return extract

    def in_threads(paths: Sequence[Path]) -> NDArray[np.float32]:
        torch.set_num_threads(1)
        with ThreadPoolExecutor(cpu_count()) as pool:
            return np.concatenate(list(pool.map(lambda path: batch([path]), paths)))

    return {
        "batches_of_32": in_batches(32),
        "batches_of_8": in_batches(8),
        "threads": in_threads,
    }


def folded_network(network: Any) -> Callable[[Any], Any]:
    """The same for inference only: batch norms folded into convolutions, channels last, frozen."""
    import torch

    example = torch.zeros(1, 3, 224, 224).to(memory_format=torch.channels_last)
    with torch.inference_mode():
        traced = torch.jit.trace(  # type: ignore[no-untyped-call]
            deepcopy(network).to(memory_format=torch.channels_last), example
        )
        frozen = torch.jit.optimize_for_inference(torch.jit.freeze(traced))
    return lambda x: frozen(x.to(memory_format=torch.channels_last))


def eager_network() -> Any:
    """EfficientNet-Lite0 in torch's own layers, as a model file would write it."""
    import torch
    from torch import nn

    weights = {name: torch.from_numpy(array) for name, array in tensors_of("lite0").items()}

    def layer(kernel: str, norm: str, stride: int = 1, *, last: bool = False) -> nn.Module:
        kernels = weights[f"{kernel}.weight"]
        out, into, side, _ = kernels.shape
        depth_wise = kernel.endswith("_depthwise_conv")
        groups = out if depth_wise else 1
        convolution = nn.Conv2d(into * groups, out, side, stride, groups=groups, bias=False)
        convolution.weight.data = kernels
        normed = nn.BatchNorm2d(out, eps=EPSILON)
        normed.load_state_dict(
            {n.rsplit(".", 1)[1]: w for n, w in weights.items() if n.rsplit(".", 1)[0] == norm}
        )
        # An even side with stride 2 lacks side − 2 rows: the larger half goes below and right.
        low, high = ((side - 2) // 2, (side - 1) // 2) if stride == 2 else (side // 2, side // 2)
        pad = [nn.ZeroPad2d((low, high, low, high))] if side > 1 else []
        return nn.Sequential(*pad, convolution, normed, *([] if last else [nn.ReLU6()]))

    class Block(nn.Module):
        def __init__(self, name: str, stride: int, shortcut: bool) -> None:
            super().__init__()
            wide = f"{name}._expand_conv"
            self.layers = nn.Sequential(
                *([layer(wide, f"{name}._bn0")] if f"{wide}.weight" in weights else []),
                layer(f"{name}._depthwise_conv", f"{name}._bn1", stride),
                layer(f"{name}._project_conv", f"{name}._bn2", last=True),
            )
            self.shortcut = shortcut

        def forward(self, x: Any) -> Any:
            return x + self.layers(x) if self.shortcut else self.layers(x)

    stages = zip(BLOCKS[16], STAGES, strict=True)
    plan = [(stride, i) for repeats, (_, stride) in stages for i in range(repeats)]
    blocks = [
        Block(f"_blocks.{number}", stride if i == 0 else 1, i > 0)
        for number, (stride, i) in enumerate(plan)
    ]
    network = nn.Sequential(
        layer("_conv_stem", "_bn0", 2),
        *blocks,
        layer("_conv_head", "_bn1"),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
    )
    return network.eval()


if __name__ == "__main__":
    sys.exit(main())
