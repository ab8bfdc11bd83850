"""The CNN as an extractor: the same rows however it is run, and sensible ones."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from sklearn.base import clone

from visterm.errors import BadInput, MissingExtra
from visterm.features.cnn import CNN, efficientnet
from visterm.features.cnn.network_extractor import OnnxNetwork


def stripes(angle: float, colour: tuple[int, int, int], noise: int = 0) -> NDArray[np.uint8]:
    rows, columns = np.mgrid[:96, :144]
    wave = np.sin((rows * np.sin(angle) + columns * np.cos(angle)) / 4) > 0
    pixels = np.where(wave[..., None], colour, 30).astype(float)
    pixels += np.random.default_rng(noise).normal(0, 10, pixels.shape)
    return np.clip(pixels, 0, 255).astype(np.uint8)


PICTURES = [
    stripes(0, (250, 200, 0)),
    stripes(0, (250, 200, 0), noise=1),
    stripes(1.57, (0, 90, 250)),
]


@pytest.fixture(scope="module")
def plain() -> NDArray[np.float32]:
    return CNN(normalise="none").transform(PICTURES)


def test_rows_are_1280_numbers_between_zero_and_six(plain: NDArray) -> None:
    assert plain.shape == (3, 1280)
    assert plain.dtype == np.float32
    assert plain.min() >= 0
    assert plain.max() <= 6


def test_pictures_that_look_alike_lie_close() -> None:
    rows = CNN().transform(PICTURES)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-5)
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.1


def test_the_pooled_vector_is_the_mean_of_the_grid(plain: NDArray) -> None:
    grid = CNN(normalise="none", output="grid").transform(PICTURES)
    assert grid.shape == (3, 49, 1280)
    np.testing.assert_allclose(grid.mean(axis=1), plain, atol=1e-5)


def test_grid_cells_run_row_by_row_and_have_unit_length() -> None:
    before = np.tile(PICTURES[2], (3, 2, 1))[:224, :224]
    after = before.copy()
    after[:64, 160:] = stripes(0.5, (255, 0, 0))[:64, :64]
    grid = CNN(output="grid").transform([before, after])
    np.testing.assert_allclose(np.linalg.norm(grid, axis=2), 1, rtol=1e-5)
    change = np.linalg.norm(grid[0] - grid[1], axis=1).reshape(7, 7)
    assert change[:3, 4:].mean() > 2 * change[4:, :3].mean()


def test_a_picture_has_one_vector_whatever_its_neighbours_and_workers() -> None:
    whole = CNN().transform(PICTURES * 12)
    alone = np.concatenate([CNN().transform([picture]) for picture in PICTURES])
    pooled = CNN(n_jobs=2).transform(PICTURES * 12)
    np.testing.assert_array_equal(whole, np.tile(alone, (12, 1)))
    np.testing.assert_array_equal(whole, pooled)


def test_another_size_gives_another_grid() -> None:
    assert CNN(size=160, output="grid").transform(PICTURES).shape == (3, 25, 1280)


def test_broken_files_are_skipped_with_a_reason(tmp_path: Path) -> None:
    Image.fromarray(PICTURES[0]).save(tmp_path / "good.png")
    (tmp_path / "cut.png").write_bytes((tmp_path / "good.png").read_bytes()[:500])
    found = CNN().extract([tmp_path / "cut.png", tmp_path / "good.png"])
    assert found.numbers.tolist() == [1]
    assert [(s.number, Path(s.picture).name) for s in found.skipped] == [(0, "cut.png")]
    np.testing.assert_array_equal(found.rows, CNN().transform(PICTURES[:1]))


def test_large_files_are_shrunk_on_reading_and_look_the_same(tmp_path: Path) -> None:
    large = Image.fromarray(PICTURES[2]).resize((2400, 1600), Image.Resampling.BICUBIC)
    large.save(tmp_path / "large.jpg", quality=95)
    from_file, from_pixels = CNN().transform([tmp_path / "large.jpg", np.asarray(large)])
    assert from_file @ from_pixels > 0.97


def test_saved_and_cloned_it_stays_the_same(tmp_path: Path) -> None:
    cnn = CNN(size=160, crop="pad", normalise="l2")
    cnn.save(tmp_path / "cnn.safetensors")
    loaded = CNN.load(tmp_path / "cnn.safetensors")
    assert loaded.get_params() == cnn.get_params() == clone(cnn).get_params()
    np.testing.assert_array_equal(loaded.transform(PICTURES), cnn.transform(PICTURES))


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"size": 100}, "multiple of 32"),
        ({"size": 0}, "size must be"),
        ({"crop": "random"}, "crop must be one of"),
        ({"output": "logits"}, "output must be 'pooled' or 'grid'"),
        ({"normalise": "l1"}, "normalise must be one of"),
        ({"network": "lite9"}, "network must be one of lite0, lite1, lite2"),
    ],
)
def test_wrong_parameters_are_named_by_fit(wrong: dict, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        CNN(**wrong).fit()


def test_a_missing_library_or_network_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patched:
        patched.setitem(efficientnet.NETWORKS, "lite0", Path("nowhere.onnx"))
        efficientnet._opened.cache_clear()
        with pytest.raises(MissingExtra, match="python -m build_assets"):
            CNN().fit()
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtra, match=r"pip install onnxruntime$"):
        OnnxNetwork(b"", "a model")


def test_where_the_network_is_computed_is_part_of_the_key_and_never_another_place() -> None:
    assert CNN().key == "cnn-1"
    assert CNN(provider="cuda").key == "cnn-1(provider=cuda)"
    assert CNN(network="lite2").key == "cnn-1(network=lite2)"
    assert (CNN().gpus, CNN(provider="cuda").gpus) == (0, 1)
    with pytest.raises(BadInput, match="provider must be one of cpu, cuda"):
        CNN(provider="abacus").fit()
    import onnxruntime

    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        with pytest.raises(MissingExtra, match="cannot compute on cuda here"):
            CNN(provider="cuda").fit()
