"""The ONNX graph against the network written slowly in NumPy, at a fraction of its width."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from build_assets.graph import BLOCKS, STAGES, build_graph, fold
from numpy.typing import NDArray

WIDTHS = (4, 6, 6, 8, 8, 10, 12)
HEAD = 20


def norm(rng: np.random.Generator, name: str, width: int) -> dict[str, NDArray]:
    return {
        f"{name}.weight": rng.uniform(0.5, 1.5, width).astype(np.float32),
        f"{name}.bias": rng.normal(0.5, 1, width).astype(np.float32),
        f"{name}.running_mean": rng.normal(0, 0.3, width).astype(np.float32),
        f"{name}.running_var": rng.uniform(0.0, 2, width).astype(np.float32),
    }


def narrow_weights(seed: int = 0, blocks: int = 16) -> dict[str, NDArray]:
    """Weights named as in the checkpoint, of a network with a handful of channels."""
    rng = np.random.default_rng(seed)
    weights: dict[str, NDArray] = {}

    def convolution(name: str, norm_name: str, out: int, into: int, side: int) -> None:
        kernel = rng.normal(0, (into * side * side) ** -0.5, (out, into, side, side))
        weights[f"{name}.weight"] = kernel.astype(np.float32)
        weights.update(norm(rng, norm_name, out))

    convolution("_conv_stem", "_bn0", 5, 3, 3)
    width, number = 5, 0
    for repeats, (side, _), out in zip(BLOCKS[blocks], STAGES, WIDTHS, strict=True):
        for _ in range(repeats):
            name = f"_blocks.{number}"
            wide = width if number == 0 else 3 * width
            if number:
                convolution(f"{name}._expand_conv", f"{name}._bn0", wide, width, 1)
            convolution(f"{name}._depthwise_conv", f"{name}._bn1", wide, 1, side)
            convolution(f"{name}._project_conv", f"{name}._bn2", out, wide, 1)
            width, number = out, number + 1
    convolution("_conv_head", "_bn1", HEAD, width, 1)
    return weights


def slow_convolution(
    x: NDArray, kernel: NDArray, stride: int, *, depth_wise: bool = False
) -> NDArray:
    """TensorFlow's SAME convolution of one picture, channels first, output by output."""
    channels, height, width = x.shape
    side = kernel.shape[-1]
    rows, columns = -(-height // stride), -(-width // stride)
    down = max((rows - 1) * stride + side - height, 0)
    across = max((columns - 1) * stride + side - width, 0)
    padded = np.zeros((channels, height + down, width + across))
    padded[:, down // 2 : down // 2 + height, across // 2 : across // 2 + width] = x
    out = np.empty((len(kernel), rows, columns))
    for r in range(rows):
        for c in range(columns):
            seen = padded[:, r * stride : r * stride + side, c * stride : c * stride + side]
            if depth_wise:
                out[:, r, c] = (seen * kernel[:, 0]).sum(axis=(1, 2))
            else:
                out[:, r, c] = (seen * kernel).sum(axis=(1, 2, 3))
    return out


def slow_norm(x: NDArray, weights: dict[str, NDArray], name: str) -> NDArray:
    scale, shift, mean, variance = (
        weights[f"{name}.{part}"].astype(np.float64)[:, None, None]
        for part in ("weight", "bias", "running_mean", "running_var")
    )
    return scale * (x - mean) / np.sqrt(variance + 1e-3) + shift


def relu6(x: NDArray) -> NDArray:
    return np.clip(x, 0, 6)


def slow_block(x: NDArray, weights: dict[str, NDArray], name: str, stride: int) -> NDArray:
    """One inverted residual block: widen, look around, narrow, and add what came in."""
    before = x
    if f"{name}._expand_conv.weight" in weights:
        x = slow_convolution(x, weights[f"{name}._expand_conv.weight"], 1)
        x = relu6(slow_norm(x, weights, f"{name}._bn0"))
    kernel = weights[f"{name}._depthwise_conv.weight"]
    x = relu6(
        slow_norm(slow_convolution(x, kernel, stride, depth_wise=True), weights, f"{name}._bn1")
    )
    x = slow_convolution(x, weights[f"{name}._project_conv.weight"], 1)
    x = slow_norm(x, weights, f"{name}._bn2")
    return x + before if stride == 1 and x.shape == before.shape else x


def slow_network(pixels: NDArray[np.uint8], weights: dict[str, NDArray], blocks: int) -> NDArray:
    x = (pixels.astype(np.float64).transpose(2, 0, 1) - 127) / 128
    x = relu6(slow_norm(slow_convolution(x, weights["_conv_stem.weight"], 2), weights, "_bn0"))
    number = 0
    for repeats, (_, stride) in zip(BLOCKS[blocks], STAGES, strict=True):
        for repeat in range(repeats):
            x = slow_block(x, weights, f"_blocks.{number}", stride if repeat == 0 else 1)
            number += 1
    return relu6(slow_norm(slow_convolution(x, weights["_conv_head.weight"], 1), weights, "_bn1"))


def run(model: bytes, pixels: NDArray[np.uint8]) -> tuple[NDArray, NDArray]:
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    grid, pooled = session.run(["grid", "pooled"], {"pictures": pixels})
    return grid, pooled


@pytest.mark.parametrize(
    ("shape", "blocks"), [((64, 64), 16), ((32, 96), 16), ((50, 70), 16), ((32, 64), 21)]
)
def test_the_graph_computes_the_network_of_the_papers(shape: tuple[int, int], blocks: int) -> None:
    rng = np.random.default_rng(1)
    weights = narrow_weights(blocks=blocks)
    pixels = rng.integers(0, 256, (2, *shape, 3), dtype=np.uint8)
    grid, pooled = run(build_graph(weights), pixels)
    slowly = np.stack([slow_network(picture, weights, blocks) for picture in pixels])
    assert slowly.std() > 0.1, "a network that says the same everywhere would prove nothing"
    np.testing.assert_allclose(grid, slowly, atol=1e-4)
    np.testing.assert_allclose(pooled, slowly.mean(axis=(2, 3)), atol=1e-4)


def test_folding_a_norm_changes_nothing_but_the_number_of_steps() -> None:
    rng = np.random.default_rng(2)
    weights = {"c.weight": rng.normal(size=(6, 4, 3, 3)).astype(np.float32), **norm(rng, "n", 6)}
    x = rng.normal(size=(4, 8, 8))
    kernel, bias = fold(weights, "c", "n")
    np.testing.assert_allclose(
        slow_convolution(x, kernel, 1) + bias[:, None, None],
        slow_norm(slow_convolution(x, weights["c.weight"], 1), weights, "n"),
        atol=1e-5,
    )


def test_a_checkpoint_of_another_network_is_refused() -> None:
    weights = narrow_weights()
    del weights["_blocks.3._bn1.running_var"]
    with pytest.raises(ValueError, match=r"no '_blocks\.3\._bn1\.running_var': it is no Eff"):
        build_graph(weights)
    weights = narrow_weights()
    weights["_blocks.3._depthwise_conv.weight"] = np.zeros((18, 1, 3, 3), dtype=np.float32)
    with pytest.raises(ValueError, match=r"_blocks\.3 has a \(3, 3\) kernel"):
        build_graph(weights)
