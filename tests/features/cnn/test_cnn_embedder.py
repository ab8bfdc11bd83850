"""Any ONNX model with a recipe beside it is an extractor."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, save
from PIL import Image
from sklearn.base import clone

from visterm.errors import BadInput, NotFitted
from visterm.features.cnn import OnnxEmbedder

MEAN, STD = [0.4, 0.5, 0.6], [0.1, 0.2, 0.3]


def write_model(
    folder: Path,
    *,
    shape: tuple[object, ...] = ("n", 3, "h", "w"),
    axes: tuple[int, ...] = (2, 3),
    dtype: int = TensorProto.FLOAT,
    inputs: int = 1,
    **recipe: object,
) -> Path:
    """A model whose vector is the mean of each channel; its second output keeps the pixels."""
    names = [f"picture{i}" for i in range(inputs)]
    nodes = [
        helper.make_node("Cast", [names[0]], ["cells"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMean", ["cells"], ["vector"], axes=axes, keepdims=0),
        helper.make_node("Log", ["vector"], ["log"]),
    ]
    outputs = {"cells": len(shape), "vector": 2, "log": 2}
    graph = helper.make_graph(
        nodes,
        "means",
        [helper.make_tensor_value_info(name, dtype, shape) for name in names],
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, [f"{name}{i}" for i in range(r)])
            for name, r in outputs.items()
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    save(model, folder / "model.onnx")
    said = {"size": 16, "mean": MEAN, "std": STD, "normalise": "none", "crop": "squash"} | recipe
    (folder / "model.json").write_text(json.dumps(said))
    return folder / "model.onnx"


def flat(red: int, green: int, blue: int) -> np.ndarray:
    return np.full((20, 30, 3), (red, green, blue), dtype=np.uint8)


PICTURES = [flat(200, 100, 50), flat(0, 255, 128)]
EXPECTED = (np.array([[200, 100, 50], [0, 255, 128]]) / 255 - MEAN) / STD


@pytest.mark.parametrize(
    "kind",
    [
        {},
        {"shape": ("n", "h", "w", 3), "axes": (1, 2), "layout": "NHWC"},
        {"shape": (1, 3, 16, 16)},
        {"dtype": TensorProto.FLOAT16},
        {"output": "vector"},
        {"crop": "centre"},
    ],
)
def test_pixels_enter_the_model_as_its_recipe_says(kind: dict, tmp_path: Path) -> None:
    embedder = OnnxEmbedder(write_model(tmp_path, **kind)).fit()
    tolerance = 5e-3 if "dtype" in kind else 1e-5
    np.testing.assert_allclose(embedder.transform(PICTURES), EXPECTED, atol=tolerance)


def test_a_model_that_takes_bytes_gets_them_as_they_are(tmp_path: Path) -> None:
    path = write_model(
        tmp_path, shape=("n", "h", "w", 3), axes=(1, 2), dtype=TensorProto.UINT8, layout="NHWC"
    )
    rows = OnnxEmbedder(path).fit().transform(PICTURES)
    assert rows.tolist() == [[200, 100, 50], [0, 255, 128]]


def test_vectors_have_unit_length_unless_the_recipe_says_otherwise(tmp_path: Path) -> None:
    path = write_model(tmp_path)
    said = json.loads(path.with_suffix(".json").read_text())
    del said["normalise"]
    path.with_suffix(".json").write_text(json.dumps(said))
    rows = OnnxEmbedder(path).fit().transform(PICTURES)
    np.testing.assert_allclose(
        rows, EXPECTED / np.linalg.norm(EXPECTED, axis=1, keepdims=True), atol=1e-5
    )


def test_files_are_read_and_broken_ones_skipped_with_a_reason(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(write_model(tmp_path)).fit()
    Image.fromarray(PICTURES[0]).save(tmp_path / "a.png")
    (tmp_path / "b.png").write_bytes(b"not a picture")
    found = embedder.extract([tmp_path / "a.png", tmp_path / "b.png"])
    assert found.numbers.tolist() == [0]
    np.testing.assert_allclose(found.rows, EXPECTED[:1], atol=1e-5)
    assert [skipped.number for skipped in found.skipped] == [1]


def test_a_saved_embedder_comes_back(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(write_model(tmp_path)).fit()
    embedder.save(tmp_path / "embedder.safetensors")
    loaded = OnnxEmbedder.load(tmp_path / "embedder.safetensors")
    assert loaded.get_params() == embedder.get_params()
    np.testing.assert_array_equal(loaded.transform(PICTURES), embedder.transform(PICTURES))
    assert clone(embedder).get_params() == embedder.get_params()


@pytest.mark.parametrize("changed", ["model", "recipe"])
def test_a_changed_model_or_recipe_is_not_mistaken_for_the_old_one(
    changed: str, tmp_path: Path
) -> None:
    path = write_model(tmp_path)
    embedder = OnnxEmbedder(path).fit()
    if changed == "model":
        write_model(tmp_path, axes=(1, 2))
    else:
        write_model(tmp_path, filter="lanczos")
    for file in (path, path.with_suffix(".json")):
        os.utime(file, ns=(1, 1))
    with pytest.raises(BadInput, match="changed since this extractor was fitted"):
        embedder.transform(PICTURES)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ({"shape": ("n", 3, 8, 8)}, r"takes pictures of shape \['n', 3, 8, 8\], but its recipe"),
        ({"shape": ("n", 4, "h", "w")}, "set size and layout to match"),
        ({"layout": "NHWC"}, "set size and layout to match"),
        ({"shape": ("n", 3), "axes": (1,)}, "set size and layout to match"),
        ({"inputs": 2}, "one input, of pixels or floats, but has picture0"),
        ({"dtype": TensorProto.INT64}, "one input, of pixels or floats, but has picture0"),
        ({"output": "other"}, "no output 'other'; it has cells"),
    ],
)
def test_a_model_that_does_not_fit_its_recipe_is_refused_by_fit(
    kind: dict, reason: str, tmp_path: Path
) -> None:
    path = write_model(tmp_path, **kind)
    with pytest.raises(BadInput, match=reason):
        OnnxEmbedder(path).fit()


def test_outputs_that_are_no_vectors_are_refused(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(write_model(tmp_path, output="cells")).fit()
    with pytest.raises(BadInput, match="not one vector; name another output"):
        embedder.transform(PICTURES)
    other = tmp_path / "other"
    other.mkdir()
    black = OnnxEmbedder(write_model(other, output="log")).fit()
    with pytest.raises(BadInput, match="finite numbers"):
        black.transform([flat(0, 0, 0)])


def test_files_that_are_not_there_or_not_onnx_are_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"cannot open the model .*nowhere\.onnx: No such file"):
        OnnxEmbedder(tmp_path / "nowhere.onnx").fit()
    path = write_model(tmp_path)
    path.write_bytes(b"not a model")
    with pytest.raises(BadInput, match=r"model\.onnx cannot be opened as an ONNX model"):
        OnnxEmbedder(path).fit()
    path.with_suffix(".json").unlink()
    with pytest.raises(BadInput, match=r"there is no .*model\.json"):
        OnnxEmbedder(path).fit()


def test_it_must_be_fitted_first(tmp_path: Path) -> None:
    with pytest.raises(NotFitted, match="call fit first"):
        OnnxEmbedder(write_model(tmp_path)).transform(PICTURES)
