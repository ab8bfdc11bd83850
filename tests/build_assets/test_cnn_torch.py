"""The CNN against torch: the same tensors, the same network, the same vectors to 1e-3."""

from __future__ import annotations

import numpy as np
import pytest
from build_assets.graph import BLOCKS, STAGES
from build_assets.weights import CHECKPOINTS, classifier, tensors_of
from numpy.typing import NDArray

from visterm.features.cnn import CNN

torch = pytest.importorskip("torch", reason="torch (extra neural) is not installed")
F = torch.nn.functional


def drawn(count: int) -> list[NDArray[np.uint8]]:
    """Pictures with edges and slopes: gradients, discs and noise."""
    rng = np.random.default_rng(5)
    rows, columns = np.mgrid[:224, :224] / 224
    pictures = []
    for _ in range(count):
        slope = rng.normal(size=(2, 3))
        x = 128 + 90 * (rows[..., None] * slope[0] + columns[..., None] * slope[1])
        inside = np.hypot(rows - rng.random(), columns - rng.random()) < 0.3
        x[inside] = rng.integers(0, 256, 3)
        pictures.append(np.clip(x + rng.normal(0, 8, x.shape), 0, 255).astype(np.uint8))
    return pictures


def same(x: torch.Tensor, kernel: torch.Tensor, stride: int = 1, groups: int = 1) -> torch.Tensor:
    """TensorFlow's SAME padding: the odd row and column of zeros go to the bottom and right."""
    side = kernel.shape[-1]
    pads = []
    for length in (x.shape[-1], x.shape[-2]):
        missing = max((-(-length // stride) - 1) * stride + side - length, 0)
        pads += [missing // 2, missing - missing // 2]
    return F.conv2d(F.pad(x, pads), kernel, stride=stride, groups=groups)


def torch_grid(state: dict[str, torch.Tensor], pictures: list[NDArray[np.uint8]]) -> torch.Tensor:
    def norm(x: torch.Tensor, name: str) -> torch.Tensor:
        parts = [state[f"{name}.{p}"] for p in ("running_mean", "running_var", "weight", "bias")]
        return F.batch_norm(x, *parts, eps=1e-3)

    x = (torch.from_numpy(np.stack(pictures)).permute(0, 3, 1, 2).float() - 127) / 128
    x = F.relu6(norm(same(x, state["_conv_stem.weight"], 2), "_bn0"))
    number = 0
    for repeats, (_, first) in zip(BLOCKS[16], STAGES, strict=True):
        for repeat in range(repeats):
            name, before = f"_blocks.{number}", x
            if f"{name}._expand_conv.weight" in state:
                x = F.relu6(norm(same(x, state[f"{name}._expand_conv.weight"]), f"{name}._bn0"))
            kernel = state[f"{name}._depthwise_conv.weight"]
            x = same(x, kernel, first if repeat == 0 else 1, len(kernel))
            x = F.relu6(norm(x, f"{name}._bn1"))
            x = norm(same(x, state[f"{name}._project_conv.weight"]), f"{name}._bn2")
            x = x + before if repeat else x
            number += 1
    return F.relu6(norm(same(x, state["_conv_head.weight"]), "_bn1"))


def test_our_reader_gives_what_torch_gives() -> None:
    ours = tensors_of("lite0")
    theirs = torch.load(CHECKPOINTS["lite0"].path, map_location="cpu", weights_only=True)
    assert list(ours) == list(theirs)
    for name, array in ours.items():
        np.testing.assert_array_equal(array, theirs[name].numpy(), strict=True)


def test_pooled_vectors_grid_and_logits_agree_with_torch() -> None:
    pictures = drawn(4)
    state = {name: torch.from_numpy(array) for name, array in tensors_of("lite0").items()}
    with torch.inference_mode():
        grid = torch_grid(state, pictures)
        pooled = grid.mean(dim=(2, 3))
        logits = F.linear(pooled, state["_fc.weight"], state["_fc.bias"]).numpy()
        grid, pooled = grid.numpy(), pooled.numpy()
    assert pooled.std() > 0.05
    ours = CNN(normalise="none").transform(pictures)
    np.testing.assert_allclose(ours, pooled, atol=1e-3)
    cells = CNN(normalise="none", output="grid").transform(pictures)
    np.testing.assert_allclose(cells, grid.reshape(4, 1280, 49).transpose(0, 2, 1), atol=1e-3)
    weight, bias = classifier()
    np.testing.assert_allclose(ours @ weight.T + bias, logits, atol=1e-3)
    rooted = np.sqrt(pooled)
    rooted /= np.linalg.norm(rooted, axis=1, keepdims=True)
    np.testing.assert_allclose(CNN().transform(pictures), rooted, atol=1e-3)
