"""A dual encoder with hand-set weights, and the pictures that it knows: coloured shapes.

Its picture side finds six colours (a threshold on each pixel's product with a colour) and three
shapes (matched filters on whatever has a colour); its text side looks words up. Both end in one
space of 32 numbers. What it does not know it has no direction for: it is an encoder as people
bring them, small enough to be written down.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

COLOURS = {
    "red": (1, -1, -1),
    "green": (-1, 1, -1),
    "blue": (-1, -1, 1),
    "yellow": (1, 1, -1),
    "purple": (1, -1, 1),
    "turquoise": (-1, 1, 1),
}
SHAPES = ("circle", "square", "triangle")
CONCEPTS = (*COLOURS, *SHAPES)
SYNONYMS = {"crimson": "red", "azure": "blue", "disc": "circle", "wedge": "triangle"}
"""Words that the encoder knows and no starter does."""
_ALIKE = SYNONYMS | {"sea": "blue", "beach": "blue", "snow": "turquoise"}
SIDE, RADIUS, WIDTH = 32, 8, 32
_SHARP = 40.0
_CONSTANT = 0.6
"""What every picture and every text has in common, as those of real encoders do."""


def draw(folder: Path, count: int, *, seed: int = 0) -> dict[str, tuple[str, str]]:
    """Draw shapes on grey, in files of a folder; returns their colours and shapes by name."""
    from PIL import Image, ImageDraw

    random = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {}
    for number in range(count):
        colour = tuple(COLOURS)[int(random.integers(len(COLOURS)))]
        shape = SHAPES[int(random.integers(len(SHAPES)))]
        grey = random.integers(108, 148, (64, 96, 1)).repeat(3, axis=2).astype(np.uint8)
        picture = Image.fromarray(grey)
        x, y = random.integers(36, 60), random.integers(20, 44)
        _paint(ImageDraw.Draw(picture), shape, int(x), int(y), 2 * RADIUS, _rgb(colour, random))
        name = f"shape-{number:04d}.png"
        picture.save(folder / name)
        drawn[name] = colour, shape
    return drawn


def _rgb(colour: str, random: np.random.Generator) -> tuple[int, ...]:
    return tuple(
        int(v) for v in np.where(np.array(COLOURS[colour]) > 0, 235, 20) + random.integers(0, 20)
    )


def _paint(brush: Any, shape: str, x: int, y: int, r: int, colour: tuple[int, ...]) -> None:
    box = (x - r, y - r, x + r, y + r)
    if shape == "circle":
        brush.ellipse(box, fill=colour)
    elif shape == "square":
        brush.rectangle(box, fill=colour)
    else:
        brush.polygon([(x, y - r), (x - r, y + r), (x + r, y + r)], fill=colour)


def directions() -> NDArray[np.float32]:
    """One direction of the common space for each concept, and one for what all have in common."""
    random = np.random.default_rng(7).standard_normal((WIDTH, WIDTH))
    return np.linalg.qr(random)[0][: len(CONCEPTS) + 1].astype(np.float32)


def templates() -> NDArray[np.float32]:
    """Matched filters of the shapes, without a mean and of one length."""
    from PIL import Image, ImageDraw

    found = []
    for shape in SHAPES:
        mask = Image.new("L", (8 * RADIUS + 16, 8 * RADIUS + 16))
        _paint(ImageDraw.Draw(mask), shape, 4 * RADIUS + 8, 4 * RADIUS + 8, 4 * RADIUS, (255,))
        small = np.asarray(mask.resize((2 * RADIUS + 5, 2 * RADIUS + 5)), np.float32) / 255
        centred = small - small.mean()
        found.append(centred / np.linalg.norm(centred))
    return np.stack(found)[:, None].astype(np.float32)


def write(
    folder: Path,
    *,
    precision: str = "fp32",
    width: int = WIDTH,
    vision_width: int = WIDTH,
) -> Path:
    """Write the files; vectors are cut or filled with zeros to the widths of both sides."""
    end = {"fp32": "", "fp16": "_fp16", "int8": "_quantized"}[precision]
    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    _vision(folder / f"onnx/vision_model{end}.onnx", precision, vision_width)
    _text(folder / f"onnx/text_model{end}.onnx", precision, width)
    tokenizer().save(str(folder / "tokenizer.json"))
    for name, said in _configurations().items():
        (folder / name).write_text(json.dumps(said))
    return folder


def _configurations() -> dict[str, Any]:
    half = [0.5, 0.5, 0.5]
    return {
        "config.json": {"model_type": "clip", "text_config": {"max_position_embeddings": 16}},
        "preprocessor_config.json": {
            "do_resize": True, "size": {"shortest_edge": SIDE}, "resample": 3,
            "do_center_crop": True, "crop_size": {"height": SIDE, "width": SIDE},
            "do_rescale": True, "rescale_factor": 1 / 255,
            "do_normalize": True, "image_mean": half, "image_std": half,
        },
    }  # fmt: skip


def tokenizer() -> Any:
    """Words by their number; what is not known is one token, and every text begins with another."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    words = ["[pad]", "[begin]", "[unknown]", *CONCEPTS, *_ALIKE]
    numbers = {word: number for number, word in enumerate(words)}
    found = Tokenizer(models.WordLevel(numbers, unk_token="[unknown]"))
    found.normalizer = normalizers.Lowercase()
    found.pre_tokenizer = pre_tokenizers.Whitespace()
    found.post_processor = processors.TemplateProcessing(
        single="[begin] $A", special_tokens=[("[begin]", numbers["[begin]"])]
    )
    return found


def table(width: int = WIDTH) -> NDArray[np.float32]:
    """The vectors of all tokens."""
    known = directions()
    words = ["", "", "", *CONCEPTS, *_ALIKE]
    rows = [
        known[CONCEPTS.index(_ALIKE.get(word, word))] if word else np.zeros(WIDTH, np.float32)
        for word in words
    ]
    rows[1] = _CONSTANT * known[-1]
    return _of_width(np.stack(rows), width)


def _of_width(rows: NDArray[np.float32], width: int) -> NDArray[np.float32]:
    found = np.zeros((*rows.shape[:-1], width), np.float32)
    found[..., : rows.shape[-1]] = rows[..., :width]
    return found


def weights() -> dict[str, NDArray[np.float32]]:
    """The picture side's weights, for the graph and for whoever computes it otherwise."""
    known = directions()
    colours = np.array(list(COLOURS.values()), np.float32)
    return {
        "colours": (colours / 3 / 0.3)[:, :, None, None],
        "threshold": np.full(len(COLOURS), -0.7 / 0.3, np.float32),
        "templates": templates(),
        "projection": known[: len(CONCEPTS)],
        "constant": _CONSTANT * known[-1],
        "sharp": np.array(_SHARP, np.float32),
        "softer": np.array(1.0, np.float32),
    }


def _vision(path: Path, precision: str, width: int) -> None:
    from onnx import TensorProto, helper

    pad = RADIUS + 2
    nodes = [
        helper.make_node("Conv", ["pixel_values", "colours", "threshold"], ["near"]),
        helper.make_node("Relu", ["near"], ["coloured"]),
        helper.make_node("GlobalAveragePool", ["coloured"], ["areas"]),
        helper.make_node("Flatten", ["areas"], ["flat_areas"]),
        helper.make_node("Mul", ["flat_areas", "sharp"], ["sharp_areas"]),
        helper.make_node("Softmax", ["sharp_areas"], ["colour"], axis=1),
        helper.make_node("ReduceMax", ["coloured"], ["mask"], axes=[1], keepdims=1),
        helper.make_node("Conv", ["mask", "templates"], ["matched"], pads=[pad] * 4),
        helper.make_node("GlobalMaxPool", ["matched"], ["best"]),
        helper.make_node("Flatten", ["best"], ["flat_best"]),
        helper.make_node("Mul", ["flat_best", "softer"], ["sharp_best"]),
        helper.make_node("Softmax", ["sharp_best"], ["shape"], axis=1),
        helper.make_node("Concat", ["colour", "shape"], ["concepts"], axis=1),
        helper.make_node("Gemm", ["concepts", "projection", "constant"], ["image_embeds"]),
    ]
    shape = ["n", 3, SIDE, SIDE]
    given: dict[str, NDArray[Any]] = dict(weights())
    given |= {name: _of_width(given[name], width) for name in ("projection", "constant")}
    _save(path, nodes, given, ("pixel_values", TensorProto.FLOAT, shape), precision)


def _text(path: Path, precision: str, width: int) -> None:
    from onnx import TensorProto, helper

    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["vectors"]),
        helper.make_node("ReduceSum", ["vectors", "axes"], ["text_embeds"], keepdims=0),
    ]
    given: dict[str, NDArray[Any]] = {"table": table(width), "axes": np.array([1], np.int64)}
    _save(path, nodes, given, ("input_ids", TensorProto.INT64, ["n", "length"]), precision)


def _save(
    path: Path,
    nodes: Sequence[Any],
    given: dict[str, NDArray[Any]],
    takes: tuple[str, int, list[Any]],
    precision: str,
) -> None:
    """A graph in 32 bits, in 16, or with weights in 8 (written as 8 bits with a scale)."""
    from onnx import TensorProto, checker, helper, numpy_helper, save

    half = precision == "fp16"
    kind = TensorProto.FLOAT16 if half else TensorProto.FLOAT
    tensors, first = [], []
    for name, array in given.items():
        if half and array.dtype == np.float32:
            array = array.astype(np.float16)
        if precision == "int8" and array.dtype == np.float32 and array.ndim > 1:
            scale = np.array(np.abs(array).max() / 127, np.float32)
            tensors += [
                numpy_helper.from_array(np.rint(array / scale).astype(np.int8), f"{name}.codes"),
                numpy_helper.from_array(scale, f"{name}.scale"),
            ]
            codes = [f"{name}.codes", f"{name}.scale"]
            first.append(helper.make_node("DequantizeLinear", codes, [name]))
        else:
            tensors.append(numpy_helper.from_array(array, name))
    name, number, shape = takes
    number = kind if number == TensorProto.FLOAT else number
    output = nodes[-1].output[0]
    graph = helper.make_graph(
        [*first, *nodes],
        "side",
        [helper.make_tensor_value_info(name, number, shape)],
        [helper.make_tensor_value_info(output, kind, ["n", "width"])],
        tensors,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    checker.check_model(model)
    save(model, path)
