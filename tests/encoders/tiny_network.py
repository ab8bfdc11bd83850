"""A network with drawn weights that stands for a vision transformer: patches to tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIDE, PATCH, WIDTH = 16, 4, 6
PATCHES = (SIDE // PATCH) ** 2
_RANDOM = np.random.default_rng(3)
KERNELS = _RANDOM.standard_normal((WIDTH, 3, PATCH, PATCH)).astype(np.float32)
CLASS = _RANDOM.standard_normal((WIDTH, WIDTH)).astype(np.float32)


def write_network(path: Path) -> Path:
    """Write the graph, whose only output is a grid: its tokens are a value inside of it."""
    from onnx import TensorProto, checker, helper, numpy_helper, save

    nodes = [
        helper.make_node("Conv", ["input", "kernels"], ["grid"], strides=[PATCH, PATCH]),
        helper.make_node("Reshape", ["grid", "flat"], ["columns"]),
        helper.make_node("Transpose", ["columns"], ["patches"], perm=[0, 2, 1]),
        helper.make_node("ReduceMax", ["patches"], ["largest"], axes=[1], keepdims=1),
        helper.make_node("MatMul", ["largest", "class"], ["first"]),
        helper.make_node("Concat", ["first", "patches"], ["tokens"], axis=1),
        helper.make_node("Relu", ["grid"], ["output"]),
    ]
    given = {"kernels": KERNELS, "class": CLASS, "flat": np.array([0, WIDTH, -1], np.int64)}
    grid = ["n", WIDTH, SIDE // PATCH, SIDE // PATCH]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["n", 3, SIDE, SIDE])],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, grid)],
        [numpy_helper.from_array(array, name) for name, array in given.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    checker.check_model(model)
    save(model, path)
    return path


def install(folder: Path, name: str = "tiny", shade: float = 0.5) -> str:
    """Install the network as one for pictures; ``shade`` is the mean that it expects."""
    from visterm import encoders

    source = folder / f"{name}-{shade}"
    (source / "onnx").mkdir(parents=True)
    encoders.layout.add_output(write_network(source / "onnx" / "model.onnx"), "tokens")
    recipe = {
        "size": {"height": SIDE, "width": SIDE},
        "image_mean": [shade] * 3,
        "image_std": [0.25] * 3,
    }
    (source / "preprocessor_config.json").write_text(json.dumps(recipe))
    return encoders.add(str(source), name=name).name


def tokens_of(pixels: NDArray[np.uint8], preprocessor: dict[str, Any]) -> NDArray[np.float64]:
    """The tokens of a picture, computed slowly."""
    from PIL import Image

    resample = Image.Resampling(preprocessor["resample"])
    square = np.asarray(Image.fromarray(pixels).resize((SIDE, SIDE), resample)) / 255
    fed = (square - preprocessor["image_mean"]) / preprocessor["image_std"]
    patches = np.array(
        [
            np.einsum("ijc,wcij->w", fed[y : y + PATCH, x : x + PATCH], KERNELS)
            for y in range(0, SIDE, PATCH)
            for x in range(0, SIDE, PATCH)
        ]
    )
    return np.concatenate([(patches.max(axis=0) @ CLASS)[None], patches])
