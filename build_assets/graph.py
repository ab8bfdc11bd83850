"""EfficientNet-Lite0, 1 and 2 as ONNX graphs, built from the tensors of their checkpoints.

A network (Tan and Le, 2019; the Lite variants of 2020) is a 3 × 3 stem, sixteen inverted residual
blocks (21 in Lite1 and 2) — widen with 1 × 1, look around with a depth-wise k × k, narrow with
1 × 1 — and a 1 × 1 head, all with ReLU6 and without squeeze-and-excitation. It was trained in
TensorFlow, so an odd row or column of padding goes to the bottom and right (``SAME_UPPER``), the
batch norms' epsilon is 1e-3, and pixels enter as (v − 127) / 128.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from onnx import NodeProto, TensorProto

EPSILON = 1e-3
MEAN, SCALE = 127.0, 128.0
STAGES = ((3, 1), (3, 2), (5, 2), (3, 2), (5, 1), (5, 2), (3, 1))
"""One a stage: the side of the depth-wise kernel, and the stride of the stage's first block."""
BLOCKS = {16: (1, 2, 2, 3, 3, 4, 1), 21: (1, 3, 3, 4, 4, 5, 1)}
"""The blocks of each stage, by the number of all blocks."""
# Old enough for every onnxruntime that runs on Python 3.11, new enough for all we use.
_OPSET, _IR_VERSION = 17, 8

Weights = Mapping[str, NDArray]


def fold(weights: Weights, convolution: str, norm: str) -> tuple[NDArray, NDArray]:
    """Fold a batch norm into the convolution before it: one kernel and one bias.

    With the norm's scale γ, shift β, mean μ and variance σ², the convolution's kernel K becomes
    ``K·γ/√(σ² + ε)`` and its bias ``β − μ·γ/√(σ² + ε)``.
    """
    try:
        kernel = weights[f"{convolution}.weight"].astype(np.float64)
        gamma, beta, mean, variance = (
            weights[f"{norm}.{part}"].astype(np.float64)
            for part in ("weight", "bias", "running_mean", "running_var")
        )
    except KeyError as error:
        raise ValueError(f"the checkpoint has no {error}: it is no EfficientNet-Lite") from None
    factor = gamma / np.sqrt(variance + EPSILON)
    folded = kernel * factor[:, None, None, None]
    return folded.astype(np.float32), (beta - mean * factor).astype(np.float32)


def build_graph(weights: Weights) -> bytes:
    """Return the network as a serialised ONNX model.

    Its input ``pictures`` is uint8, N × height × width × 3; its outputs are ``grid``, the
    N × 1280 × height/32 × width/32 activations of the head, and ``pooled``, their N × 1280 mean.
    """
    from onnx import TensorProto, checker, helper

    sketch = _Sketch()
    x = sketch.node("Transpose", ["pictures"], perm=[0, 3, 1, 2])
    # v − mean as floats, in one pass over the pixels where a cast and a subtraction take two.
    pixel = [sketch.constant("one", np.float32(1)), sketch.constant("mean", np.uint8(MEAN))]
    x = sketch.node("DequantizeLinear", [x, *pixel])
    kernel, bias = fold(weights, "_conv_stem", "_bn0")
    x = sketch.relu6(sketch.convolve(x, kernel / np.float32(SCALE), bias, stride=2))
    block = 0
    for repeats, (side, first_stride) in zip(_repeats(weights), STAGES, strict=True):
        for repeat in range(repeats):
            stride = first_stride if repeat == 0 else 1
            x = sketch.block(x, weights, f"_blocks.{block}", side, stride)
            block += 1
    head, bias = fold(weights, "_conv_head", "_bn1")
    grid = sketch.relu6(sketch.convolve(x, head, bias), name="grid")
    sketch.node("Flatten", [sketch.node("GlobalAveragePool", [grid])], name="pooled")
    width = len(bias)
    described = helper.make_tensor_value_info
    graph = helper.make_graph(
        sketch.nodes,
        "efficientnet-lite",
        [described("pictures", TensorProto.UINT8, ["n", "height", "width", 3])],
        [
            described("grid", TensorProto.FLOAT, ["n", width, "rows", "columns"]),
            described("pooled", TensorProto.FLOAT, ["n", width]),
        ],
        sketch.constants,
    )
    model = helper.make_model(
        graph,
        producer_name="visterm",
        ir_version=_IR_VERSION,
        opset_imports=[helper.make_opsetid("", _OPSET)],
    )
    checker.check_model(model)
    return bytes(model.SerializeToString())


def _repeats(weights: Weights) -> tuple[int, ...]:
    count = len({name.split(".")[1] for name in weights if name.startswith("_blocks.")})
    if count not in BLOCKS:
        raise ValueError(f"the checkpoint has {count} blocks: it is no EfficientNet-Lite0, 1 or 2")
    return BLOCKS[count]


class _Sketch:
    """The nodes and constants of a graph as it grows; every method returns its output's name."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def constant(self, name: str, value: NDArray | np.float32 | np.uint8) -> str:
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, kind: str, inputs: list[str], name: str = "", **attributes: Any) -> str:
        from onnx import helper

        name = name or f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        return name

    def convolve(
        self, x: str, kernel: NDArray, bias: NDArray, *, stride: int = 1, groups: int = 1
    ) -> str:
        count = len(self.constants)
        parts = [self.constant(f"kernel{count}", kernel), self.constant(f"bias{count}", bias)]
        return self.node(
            "Conv",
            [x, *parts],
            auto_pad="SAME_UPPER",
            kernel_shape=list(kernel.shape[2:]),
            strides=[stride, stride],
            group=groups,
        )

    def relu6(self, x: str, name: str = "") -> str:
        if not any(constant.name == "six" for constant in self.constants):
            self.constant("zero", np.float32(0))
            self.constant("six", np.float32(6))
        return self.node("Clip", [x, "zero", "six"], name)

    def block(self, x: str, weights: Weights, name: str, side: int, stride: int) -> str:
        """Add one inverted residual block; where its shape allows it, with a shortcut."""
        before = x
        around, around_bias = fold(weights, f"{name}._depthwise_conv", f"{name}._bn1")
        narrow, narrow_bias = fold(weights, f"{name}._project_conv", f"{name}._bn2")
        if around.shape[2:] != (side, side):
            raise ValueError(f"{name} has a {around.shape[2:]} kernel: it is no EfficientNet-Lite")
        width = len(around)
        if f"{name}._expand_conv.weight" in weights:
            wide, wide_bias = fold(weights, f"{name}._expand_conv", f"{name}._bn0")
            x, width = self.relu6(self.convolve(x, wide, wide_bias)), wide.shape[1]
        x = self.convolve(x, around, around_bias, stride=stride, groups=len(around))
        x = self.convolve(self.relu6(x), narrow, narrow_bias)
        return self.node("Add", [x, before]) if stride == 1 and len(narrow) == width else x
