"""What would the CNN's network in 8 bits cost: onnxruntime's static quantisation, for measuring.

    python -m benchmarks.cnn_int8 --data DATA/corel5k --json [--seeds 2]

AvgP of PAMIR on Corel's validation pictures, learnt from the other development pictures, with
vectors in 32 and in 8 bits (``avgp_float32``, ``avgp_int8``; one number a seed). The ranges of the
layers are those of 48 of the pictures it learns from. How fast it is: ``int8_ratio`` of
`benchmarks.cnn`. ``--vectors`` keeps the vectors in 32 bits, of development and test pictures.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import say, show
from benchmarks.corel_vectors import corel_vectors
from visterm.evaluation import evaluate_rows
from visterm.experiments.runner.protocol import Protocol, corel5k
from visterm.features.cnn import CNN
from visterm.features.cnn.efficientnet import NETWORKS
from visterm.features.cnn.onnx_network import OnnxNetwork
from visterm.features.cnn.recipe import Recipe, normalised
from visterm.models import Pamir
from visterm.pictures import read_picture

CALIBRATING = 48
"""Pictures that say which values each layer takes."""
WANTED = 1.7
"""How much faster a network in 8 bits must be to be worth other vectors."""
AT_MOST = 0.3
"""What it may cost in AvgP, in points."""

Floats = NDArray[np.float32]
Timed = Callable[[Callable[[Sequence[Path]], Any], Sequence[Path]], float]


class Int8CNN(CNN):
    """The same with another network."""

    in_8_bits: OnnxNetwork

    def _opened(self) -> tuple[OnnxNetwork, Recipe, str]:
        return self.in_8_bits, self._recipe(), self.output


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cnn_int8", description=__doc__)
    parser.add_argument("--data", type=Path, help="Corel's folder")
    parser.add_argument("--vectors", type=Path, help="where to keep the vectors in 32 bits")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=1_500_000)
    parser.add_argument("--calibrating", type=int, default=CALIBRATING, help="pictures for ranges")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args()
    protocol = corel5k(asked.data)
    whole, _ = corel_vectors(protocol, asked.vectors)
    pictures = protocol.development.paths
    shown = [pictures[number] for number in protocol.split[0][: asked.calibrating]]
    say(f"describing {len(pictures)} pictures in 8 bits")
    with tempfile.TemporaryDirectory() as folder:
        ours = _vectors(_small(Path(folder), shown), pictures)
    show(cost(protocol, whole, ours, asked.seeds, asked.iterations), as_json=asked.json)


def cost(
    protocol: Protocol, whole: Floats, ours: Floats, seeds: int, iterations: int
) -> dict[str, Any]:
    """AvgP on validation pictures with vectors in 32 bits and in 8."""
    found: dict[str, Any] = {
        "avgp_float32": [_avgp(protocol, whole, seed, iterations) for seed in range(seeds)],
        "avgp_int8": [_avgp(protocol, ours, seed, iterations) for seed in range(seeds)],
        "int8_cosine": round(float((ours * whole).sum(axis=1).mean()), 4),
    }
    lost = statistics.mean(found["avgp_float32"]) - statistics.mean(found["avgp_int8"])
    return found | {"cost": round(lost, 2), "within_0.3": lost <= AT_MOST}


def _avgp(protocol: Protocol, vectors: Floats, seed: int, iterations: int) -> float:
    training, held = protocol.split
    model = Pamir(C=0.1, max_iter=iterations, max_words=protocol.max_words, random_state=seed)
    model.fit(vectors[training], protocol.captions[training])
    asked = protocol.relevance_of(held)
    found = evaluate_rows(model.transform(vectors[held]), asked, ["AvgP"]).per_query["AvgP"]
    return round(100 * float(np.nanmean(found)), 2)


def measure_int8(pictures: Sequence[Path], rounds: int, speed: Timed) -> dict[str, Any]:
    """Pictures a second in 8 bits over those in 32, decoding included, in turns on one process."""
    try:
        import onnxruntime.quantization  # noqa: F401
    except ImportError:
        return {"int8_ratio": None, "int8_note": "onnx is not installed"}
    whole = CNN(normalise="none").fit()
    with tempfile.TemporaryDirectory() as folder:
        small = _small(Path(folder), pictures[:CALIBRATING])
        ours, theirs = _vectors(small, pictures), _vectors(whole, pictures)
        ratios = [
            speed(small.transform, pictures) / speed(whole.transform, pictures)
            for _ in range(rounds)
        ]
    ratio = statistics.median(ratios)
    return {
        "int8_ratio": round(ratio, 2),
        "int8_at_least_1.7": ratio >= WANTED,
        "int8_cosine": round(float((ours * theirs).sum(axis=1).mean()), 4),
        "has_vnni": _has_vnni(),
        "collections_use": "float32",
    }


def _small(folder: Path, pictures: Sequence[Path]) -> Int8CNN:
    """The CNN in 8 bits, with the ranges that its layers take in these pictures."""
    small = Int8CNN(normalise="none")
    path = folder / "int8.onnx"
    squares = [small.prepare(read_picture(one, max_side=small.max_side)) for one in pictures]
    _quantise(path, squares)
    small.in_8_bits = OnnxNetwork(str(path), "the CNN in 8 bits")
    return small


def _quantise(path: Path, squares: Sequence[NDArray[np.uint8]]) -> None:
    from onnxruntime.quantization import (
        CalibrationDataReader,
        QuantFormat,
        QuantType,
        quantize_static,
    )

    class Reader(CalibrationDataReader):
        def __init__(self) -> None:
            self.left: Iterator[dict[str, Any]] = iter([{"pictures": one[None]} for one in squares])

        def get_next(self) -> dict[str, Any] | None:
            return next(self.left, None)

    quantize_static(
        str(NETWORKS["lite0"]),
        str(path),
        Reader(),
        quant_format=QuantFormat.QDQ,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        per_channel=True,
    )


def _vectors(cnn: CNN, pictures: Sequence[Path]) -> Floats:
    found = np.asarray(cnn.transform(list(pictures)), np.float32)
    return normalised(found, "sqrt-l2")


def _has_vnni() -> bool:
    flags = Path("/proc/cpuinfo")
    return flags.is_file() and "vnni" in flags.read_text()


if __name__ == "__main__":
    main()
