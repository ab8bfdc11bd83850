"""The CNN's network in 8 bits, made for a measurement: onnxruntime's static quantisation."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.features.cnn import CNN
from visterm.features.cnn.efficientnet import NETWORKS
from visterm.features.cnn.onnx_network import OnnxNetwork
from visterm.features.cnn.recipe import Recipe, normalised
from visterm.pictures import read_picture

CALIBRATING = 32
"""Pictures that say which values each layer takes."""
WANTED = 1.7
"""How much faster a network in 8 bits must be to be worth other vectors."""

Timed = Callable[[Callable[[Sequence[Path]], Any], Sequence[Path]], float]


class Int8CNN(CNN):
    """The same with another network."""

    in_8_bits: OnnxNetwork

    def _opened(self) -> tuple[OnnxNetwork, Recipe, str]:
        return self.in_8_bits, self._recipe(), self.output


def measure_int8(pictures: Sequence[Path], rounds: int, speed: Timed) -> dict[str, Any]:
    """Pictures a second in 8 bits over those in 32, decoding included, in turns on one process."""
    try:
        import onnxruntime.quantization  # noqa: F401
    except ImportError:
        return {"int8_ratio": None, "int8_note": "onnx is not installed"}
    whole, small = CNN(normalise="none").fit(), Int8CNN(normalise="none")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "int8.onnx"
        _quantise(path, [whole.prepare(_pixels(one, whole)) for one in pictures[:CALIBRATING]])
        small.in_8_bits = OnnxNetwork(str(path), "the CNN in 8 bits")
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


def _pixels(path: Path, cnn: CNN) -> NDArray[np.uint8]:
    return read_picture(path, max_side=cnn.max_side)


def _vectors(cnn: CNN, pictures: Sequence[Path]) -> NDArray[np.float32]:
    found = np.asarray(cnn.transform(list(pictures)), np.float32)
    return normalised(found, "sqrt-l2")


def _has_vnni() -> bool:
    flags = Path("/proc/cpuinfo")
    return flags.is_file() and "vnni" in flags.read_text()
